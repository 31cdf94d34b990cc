//! Files for other profilers have every cost once, at the same places as the profile, as readers of
//! each format see it.

use crate::decoded::{self, Entry, plain, read, sums, written};
use crate::generated::{FILE, record, steps};
use crate::naive::{self, attributed_with};
use crate::random::holds;
use crate::valgrind::Program;
use crate::walks_equal_a_naive_attribution::machines_with_tlbs;
use corehop_profile::{By, Cost, Export, Format, Level, Order, Row, profile};
use corehop_simulator::{Machine, PageSizes, ReplayOptions, Split};
use corehop_traces::Kind;
use proptest::prelude::*;
use std::collections::BTreeMap;

const FORMATS: [Format; 4] = [
    Format::Callgrind,
    Format::Pprof,
    Format::Speedscope,
    Format::Firefox,
];

const ORDER: Order = Order::Misses(Level::L2);

/// Values by function and figure, of what a naive attribution has.
fn naive_figures(functions: &BTreeMap<String, naive::Cost>) -> BTreeMap<(String, String), u64> {
    let mut figures = BTreeMap::new();
    for (function, cost) in functions {
        let [l1, l2, l3] = cost.misses.map(|causes| causes.iter().sum::<u64>());
        let of_function = [
            ("l1imisses", cost.fetch_misses),
            ("l1dmisses", l1 - cost.fetch_misses),
            ("l2misses", l2),
            ("l3misses", l3),
            ("cycles", cost.cycles),
            ("accesses", cost.accesses),
            ("l1tlbmisses", cost.tlb_misses),
            ("walks", cost.walks),
        ];
        for (figure, value) in of_function.into_iter().filter(|(_, value)| *value > 0) {
            figures.insert((function.clone(), figure.to_owned()), value);
        }
    }
    figures
}

/// The figure of an entry; fetches, loads, and stores are all accesses.
fn without_kinds(entry: &Entry) -> String {
    match &*entry.figure {
        "fetches" | "loads" | "stores" => "accesses".into(),
        figure => figure.into(),
    }
}

#[test]
fn of_random_traces_each_function_has_what_a_naive_attribution_has() {
    let cases = (steps(), machines_with_tlbs(), 1u32..4, any::<bool>());
    holds(
        "files of random traces",
        cases,
        |(steps, machine, cores, has_tlbs)| {
            let cores = cores.min(machine.cores);
            let folder = tempfile::tempdir().unwrap();
            let trace = record(&folder.path().join("server.trace"), &steps).unwrap();
            let on = (&machine, &Split::thread_per_core(cores));
            let page_sizes = PageSizes::default();
            let options = ReplayOptions {
                page_sizes: has_tlbs.then_some(&page_sizes),
                ..ReplayOptions::default()
            };
            let profile = profile(&trace, on, &options, &[By::Line]).unwrap();
            let export = Export {
                view: &profile.views[0],
                trace: &trace,
                title: "server.trace",
                machine: &machine,
                order: ORDER,
                has_tlbs,
            };
            let regions: Option<&[_]> = has_tlbs.then_some(&[]);
            let expected = attributed_with(&trace, (&machine, cores), None, regions).functions;
            let expected = naive_figures(&expected);
            // One gzip for each case takes most of the time.
            let formats = [Format::Callgrind, Format::Speedscope, Format::Firefox];
            for format in formats {
                let entries = read(&export, format);
                let key = |entry: &Entry| (entry.functions[0].clone(), without_kinds(entry));
                prop_assert_eq!(sums(&entries, key), expected.clone(), "{:?}", format);
                prop_assert!(entries.iter().all(|entry| entry.place.is_none()));
            }
            Ok(())
        },
    );
}

/// Where something is: functions outermost first, and the innermost file and line.
type Place = (Vec<String>, Option<(String, u64)>);

/// Values by place and figure, of the profile's rows.
fn of_rows(rows: &[Row], machine: &Machine) -> BTreeMap<(Place, String), u64> {
    let mut values = BTreeMap::new();
    for Row { place, cost, .. } in rows {
        let frames = || place.frames.iter();
        let mut functions: Vec<_> = frames()
            .rev()
            .map(|of| of.function.clone().unwrap())
            .collect();
        if functions.is_empty() {
            functions.push(place.name.split_once('+').unwrap().0.to_owned());
        }
        let mut lines = frames().map(|of| (of.file.clone().unwrap(), of.line.unwrap().into()));
        let place = (functions, lines.next());
        for (figure, value) in figures(cost, machine) {
            if value > 0 {
                *values.entry((place.clone(), figure)).or_default() += value;
            }
        }
    }
    values
}

fn figures(cost: &Cost, machine: &Machine) -> [(String, u64); 8] {
    let [fetches, loads, stores] =
        [Kind::Fetch, Kind::Load, Kind::Store].map(|kind| cost.accesses_of(kind));
    let figures = [
        ("fetches", fetches),
        ("loads", loads),
        ("stores", stores),
        ("l1imisses", cost.fetch_causes().total()),
        ("l1dmisses", cost.data_causes().total()),
        ("l2misses", cost.misses(Level::L2)),
        ("l3misses", cost.misses(Level::L3)),
        ("cycles", cost.cycles(machine)),
    ];
    figures.map(|(figure, value)| (figure.to_owned(), value))
}

#[test]
fn of_a_program_with_dwarf_every_format_has_lines_and_inlined_functions() {
    let program = Program::compile();
    let trace = program.trace();
    let machine = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
    let on = (&machine, &Split::default());
    let profile = profile(&trace, on, &ReplayOptions::default(), &[By::Line]).unwrap();
    let rows = &profile.views[0].rows;
    let export = Export {
        view: &profile.views[0],
        trace: &trace,
        title: "shop.trace",
        machine: &machine,
        order: ORDER,
        has_tlbs: false,
    };
    let expected = of_rows(rows, &machine);
    let inlined = ["order", "price_of"].map(str::to_owned);
    let is_inlined = |(functions, place): &Place| {
        let file = place.as_ref().map(|(file, _)| decoded::file_name(file));
        *functions == inlined && file.as_deref() == Some("prices.h")
    };
    assert!(
        expected.keys().any(|(place, _)| is_inlined(place)),
        "{expected:?}"
    );
    for format in FORMATS {
        let entries = read(&export, format);
        assert!(
            entries.iter().all(|entry| entry.module == "shop"),
            "{format:?}"
        );
        let whole = |entry: &Entry| {
            let place = (entry.functions.clone(), entry.place.clone());
            (place, entry.figure.clone())
        };
        let read = sums(&entries, whole);
        if format != Format::Callgrind {
            assert_eq!(read, expected, "{format:?}");
            continue;
        }
        // It has the outermost function alone, and the line of what is inlined there.
        let mut outermost = BTreeMap::new();
        for (((functions, place), figure), value) in &expected {
            let place = (functions[..1].to_vec(), place.clone());
            *outermost.entry((place, figure.clone())).or_default() += value;
        }
        assert_eq!(read, outermost);
    }
    let modules = decoded::pprof::modules(&written(&export, Format::Pprof));
    let [module] = trace.modules() else {
        panic!("one module");
    };
    assert_eq!(modules, [[module.path.clone(), "0a1b2c3d".into()]]);
    // Valgrind's own reader adds up the same.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("callgrind.out.shop");
    std::fs::write(&file, written(&export, Format::Callgrind)).unwrap();
    let totals = BTreeMap::from(figures(&profile.total, &machine));
    assert!(totals["l2misses"] > 0 && totals["cycles"] > totals["loads"]);
    assert_eq!(decoded::callgrind::annotated(&file), totals);
}

#[test]
fn the_figure_that_rows_are_sorted_by_comes_first() {
    let step = crate::generated::Step {
        thread: 0,
        begins_request: false,
        block: 0,
        data: vec![(0, 0x1000_0000, false, 8)],
    };
    let folder = tempfile::tempdir().unwrap();
    let trace = record(&folder.path().join("server.trace"), &[step]).unwrap();
    let machine = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
    let mut flat = machine.clone();
    flat.l3 = None;
    let first = |machine: &Machine, order| {
        let on = (machine, &Split::default());
        let profile = profile(&trace, on, &ReplayOptions::default(), &[By::Line]).unwrap();
        let export = Export {
            view: &profile.views[0],
            trace: &trace,
            title: "server.trace",
            machine,
            order,
            has_tlbs: false,
        };
        let of = |format| {
            let entries = read(&export, format);
            let figures: Vec<_> = entries.into_iter().map(|entry| entry.figure).collect();
            assert_eq!(figures.contains(&"l3misses".into()), machine.l3.is_some());
            figures[0].clone()
        };
        FORMATS.map(of)
    };
    let all = |figure: &str| [(); 4].map(|()| plain(figure));
    assert_eq!(first(&machine, ORDER), all("L2 misses"));
    assert_eq!(first(&machine, Order::Misses(Level::L3)), all("L3 misses"));
    assert_eq!(first(&machine, Order::Misses(Level::L1)), all("L1D misses"));
    assert_eq!(first(&flat, Order::Cycles), all("cycles"));
    assert!(trace.modules().iter().all(|module| module.path == FILE));
}
