//! A search for throughput selects the finalist with the highest throughput in a timed replay.
//!
//! Small servers have so few splits that all of them are finalists. Each server is searched, and
//! its splits are then simulated one by one, from a trace of only the requests not used for the
//! evaluation. No split may have a higher throughput than the selected one.

use crate::definitions;
use crate::searching::found;
use crate::steps;
use crate::steps::Step;
use corehop_partitioner::candidates::CandidateRule;
use corehop_partitioner::finalists::Finals;
use corehop_partitioner::objective::Objective;
use corehop_partitioner::requests::Searched;
use corehop_partitioner::weights::Weighted;
use corehop_partitioner::{Outcome, Settings};
use corehop_simulator::core_model::{AddressSources, Window};
use corehop_simulator::timing::{Needs, Setting, Streams, simulate};
use corehop_simulator::{CoreId, Machine, Split};
use corehop_traces::{FunctionId, RequestId, Trace, WriterOptions, copy};
use std::collections::BTreeSet;
use std::path::Path;

const FUNCTIONS: u32 = 4;
const THREADS: u32 = 3;

fn machine(hop_cost_cycles: u32, l2_bytes: u32) -> Machine {
    let text = format!(
        "\
name = \"tiny\"
cores = 4
line_size_bytes = 64
memory_latency_cycles = 199
hop_cost_cycles = {hop_cost_cycles}
l1i = {{ size_bytes = 128, ways = 1, latency_cycles = 2 }}
l1d = {{ size_bytes = 128, ways = 2, latency_cycles = 3 }}
l2 = {{ size_bytes = {l2_bytes}, ways = 4, latency_cycles = 11 }}
l3 = {{ size_bytes = 4096, ways = 4, latency_cycles = 41 }}
"
    );
    Machine::from_toml(&text, Path::new("tiny.toml")).unwrap()
}

/// Records requests of three threads that enter every function once; `seed` determines their
/// lengths.
fn server(folder: &Path, seed: u32) -> Trace {
    let path = folder.join(format!("server-{seed}.trace"));
    let options = WriterOptions::default();
    let (mut writer, module) = definitions::begin(&path, &options, "f0", 0x10_000).unwrap();
    definitions::functions(&mut writer, (module, 0x10_000), FUNCTIONS).unwrap();
    let mut steps = Vec::new();
    for request in 0..11 {
        for function in 0..FUNCTIONS {
            for thread in 0..THREADS {
                let lines = 2 + (seed * 5 + function * 7 + request % 3 * thread) % 11;
                let shared = u64::from(function) * 0x1000;
                let own = 0x10_0000 * u64::from(thread + 1) + shared;
                let line = |line: u32| match line % 3 {
                    0 => (own + u64::from(line) * 64, true),
                    _ => (shared + u64::from(line) * 64, line % 5 == 4),
                };
                steps.push(Step {
                    thread,
                    begins_request: function == 0,
                    block: function,
                    data: (0..lines).map(line).collect(),
                });
            }
        }
    }
    let numbers: Vec<u64> = (1..=u64::from(11 * THREADS)).collect();
    steps::perform(writer, &[1; THREADS as usize], &steps, &numbers).unwrap();
    Trace::open(&path).unwrap()
}

fn settings(connections: u32) -> Settings<'static> {
    Settings {
        searched: Searched::Sample(6),
        rule: CandidateRule {
            group_within: 0,
            ..CandidateRule::default()
        },
        objective: Objective::Throughput { connections },
        ..Settings::default()
    }
}

/// Returns the cycles of `connections` for their requests of the trace, from the second pass on.
fn elapsed(trace: &Trace, machine: &Machine, connections: usize, split: Option<&Split>) -> u64 {
    let splits: Vec<&Split> = split.into_iter().collect();
    let sources = &mut AddressSources::new(trace);
    let of = (trace, trace.executions());
    let streams = Streams::annotated(of, &splits, sources, Needs::default()).unwrap();
    let requests = streams.requests(connections);
    let setting = Setting {
        cores: 2,
        repeat_connections: true,
        split,
        scheduler: if split.is_some() { "split" } else { "free" }
            .parse()
            .unwrap(),
        ..Setting::closed_loop(machine, connections, requests)
    };
    let outcome = simulate(&streams, &setting, Window::new).unwrap();
    assert_eq!(outcome.requests, requests);
    outcome.elapsed_cycles
}

/// Returns the requests not used for the evaluation, as a trace.
fn unjudged(trace: &Trace, outcome: &Outcome, folder: &Path) -> Trace {
    let mut training: Vec<RequestId> = outcome.train_test.training().collect();
    training.sort_unstable();
    let path = folder.join("unjudged.trace");
    copy(trace, Some(&training), &path, &WriterOptions::default()).unwrap();
    Trace::open(&path).unwrap()
}

/// Returns every split of two functions over two cores, in canonical numbering.
fn all_splits() -> BTreeSet<Vec<(FunctionId, CoreId)>> {
    let pairs = (0..FUNCTIONS).flat_map(|a| (a + 1..FUNCTIONS).map(move |b| (a, b)));
    let on = |function, core| (FunctionId(function), CoreId(core));
    pairs.map(|(a, b)| vec![on(a, 0), on(b, 1)]).collect()
}

#[test]
fn no_other_split_serves_more_and_formulas_would_often_take_another() {
    let folder = tempfile::tempdir().unwrap();
    let mut otherwise = 0;
    for seed in 0..12 {
        let trace = server(folder.path(), seed);
        let machine = machine(20 + 40 * (seed % 3), 512 << (seed % 2));
        let machines = [Weighted::from(machine.clone())];
        let outcome = found(&trace, &machines, &settings(3));
        let unjudged = unjudged(&trace, &outcome, folder.path());
        let evaluated = &outcome.evaluated;
        let splits: BTreeSet<_> = evaluated.ranked.iter().map(|r| r.split.clone()).collect();
        assert_eq!(splits, all_splits());
        let cycles = |split: &[(FunctionId, CoreId)]| {
            let split = Split::new(split.iter().copied());
            elapsed(&unjudged, &machine, 3, Some(&split))
        };
        let best = splits.iter().map(|split| cycles(split)).min().unwrap();
        assert_eq!(cycles(&outcome.split), best, "server {seed}");
        for ranked in &evaluated.ranked {
            let timed = ranked.timed.as_ref().expect("all are finalists");
            assert_eq!(timed.elapsed_cycles, [cycles(&ranked.split)]);
        }
        let Finals::Replayed {
            available,
            requests,
            ref baseline_cycles,
        } = evaluated.finals
        else {
            panic!("{:?}", evaluated.finals);
        };
        assert_eq!((available, requests), (3, unjudged.requests().len() as u64));
        assert_eq!(*baseline_cycles, [elapsed(&unjudged, &machine, 3, None)]);
        let by_formulas = evaluated.ranked.iter().min_by_key(|ranked| ranked.in_full);
        otherwise += u32::from(by_formulas.unwrap().split != outcome.split);
    }
    assert!(otherwise > 0, "formulas alone would do as well here");
}

#[test]
fn of_several_machines_the_mean_share_of_what_goes_without_a_split_counts() {
    let folder = tempfile::tempdir().unwrap();
    let trace = server(folder.path(), 3);
    let machines = [(machine(20, 512), 1.0), (machine(300, 1024), 2.5)];
    let weighted = machines
        .clone()
        .map(|(machine, weight)| Weighted { machine, weight });
    let outcome = found(&trace, &weighted, &settings(3));
    let unjudged = unjudged(&trace, &outcome, folder.path());
    let share = |split: &[(FunctionId, CoreId)]| {
        let split = Split::new(split.iter().copied());
        let of_machine = |(machine, weight): &(Machine, f64)| {
            let [with, without] = [Some(&split), None].map(|s| elapsed(&unjudged, machine, 3, s));
            weight * with as f64 / without as f64
        };
        machines.iter().map(of_machine).sum::<f64>()
    };
    let splits = all_splits();
    let best = splits
        .iter()
        .map(|split| share(split))
        .fold(f64::INFINITY, f64::min);
    assert!((share(&outcome.split) - best).abs() < 1e-9);
}

#[test]
fn connections_repeat_only_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let trace = server(folder.path(), 1);
    let machines = [Weighted::from(machine(20, 512))];
    let of = |settings| found(&trace, &machines, &settings).evaluated;
    let by_formulas = of(settings(4));
    assert_eq!(
        by_formulas.finals,
        Finals::TooFewConnections { available: 3 }
    );
    assert!(
        by_formulas
            .ranked
            .iter()
            .all(|ranked| ranked.timed.is_none())
    );
    assert!(
        by_formulas
            .order
            .is_sorted_by_key(|&index| by_formulas.ranked[index].in_full)
    );
    let repeated = of(Settings {
        repeat_connections: true,
        ..settings(4)
    });
    assert!(matches!(
        repeated.finals,
        Finals::Replayed { available: 3, .. }
    ));
    let many = of(settings(1025));
    assert_eq!(many.finals, Finals::TooManyConnections { most: 1024 });
    let other = of(Settings {
        objective: Objective::Cycles,
        ..settings(4)
    });
    assert_eq!(other.finals, Finals::NotAsked);
}

#[test]
fn the_number_of_host_threads_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let trace = server(folder.path(), 2);
    let machines = [Weighted::from(machine(20, 512))];
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let search = || found(&trace, &machines, &settings(3));
        format!("{:?}", pool.build().unwrap().install(search))
    };
    assert_eq!(on(1), on(3));
}
