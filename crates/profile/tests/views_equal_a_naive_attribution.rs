//! Every view adds up to the replay's counters, and equals what a naive attribution says of the
//! same trace, place by place.

use crate::generated::{Step, heap_events, record, record_with_heap, steps, steps_of_a_heap};
use crate::naive::{self, attributed};
use crate::plain::plain;
use crate::random::{holds, machines};
use corehop_profile::{By, Cost, Nested, Profile, View, profile, profile_nested};
use corehop_simulator::{Counters, Machine, ReplayOptions, Split, replay};
use corehop_traces::{HeapEvent, RequestId};
use proptest::prelude::*;
use std::collections::BTreeMap;

pub const VIEWS: [By; 3] = [By::Function, By::Line, By::Object];

pub fn by_name(view: &View, machine: &Machine) -> BTreeMap<String, naive::Cost> {
    let rows = view.rows.iter();
    let named = rows.map(|row| (row.place.name.clone(), plain(&row.cost, machine)));
    let named: BTreeMap<_, _> = named.collect();
    assert_eq!(named.len(), view.rows.len(), "two rows have one name");
    named
}

pub fn sum(view: &View) -> Cost {
    view.rows.iter().map(|row| row.cost).sum()
}

/// Returns the costs of objects by the names of function, line, and object.
pub fn by_names(functions: &[Nested], machine: &Machine) -> BTreeMap<[String; 3], naive::Cost> {
    let mut named = BTreeMap::new();
    for function in functions {
        for line in &function.parts {
            for object in &line.parts {
                let names = [function, line, object].map(|of| of.row.place.name.clone());
                let cost = plain(&object.row.cost, machine);
                assert_eq!(named.insert(names, cost), None, "two rows have one name");
            }
        }
    }
    named
}

/// Whether each row is the sum of its parts.
pub fn add_up(nested: &Nested) -> bool {
    let sum: Cost = nested.parts.iter().map(|part| part.row.cost).sum();
    nested.parts.is_empty() || sum == nested.row.cost && nested.parts.iter().all(add_up)
}

#[test]
fn every_view_adds_up_and_equals_a_naive_one() {
    hold("views of random traces", steps(), Just(Vec::new()));
}

#[test]
fn every_view_of_a_heap_adds_up_and_equals_a_naive_one() {
    let events = heap_events();
    hold("views of random heaps", steps_of_a_heap(), events);
}

/// Checks the views of random traces of these steps and heap events.
fn hold(
    what: &str,
    steps: impl Strategy<Value = Vec<Step>>,
    events: impl Strategy<Value = Vec<HeapEvent>>,
) {
    let warm_ups = 0usize..3;
    let cores = 1u32..4;
    let cases = (steps, events, machines(), cores, warm_ups);
    holds(what, cases, |(steps, events, machine, cores, warm_up)| {
        let cores = cores.min(machine.cores);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.trace");
        let trace = record_with_heap(&path, &steps, &events).unwrap();
        let requests = trace.requests().len();
        let warm_up = if warm_up < requests { warm_up } else { 0 };
        let options = ReplayOptions {
            warm_up_requests: warm_up,
            ..ReplayOptions::default()
        };
        let split = Split::thread_per_core(cores);
        let on = (&machine, &split);
        let Profile {
            replay: own,
            total,
            views,
            ..
        } = profile(&trace, on, &options, &VIEWS).unwrap();
        prop_assert_eq!(&own, &replay(&trace, &machine, &split, &options).unwrap());
        prop_assert_eq!(total.counters(&machine), own.counters);
        for view in &views {
            prop_assert_eq!(sum(view).counters(&machine), own.counters);
        }
        // Functions alone are counted without instructions.
        let alone = profile(&trace, on, &options, &VIEWS[..1]).unwrap();
        prop_assert_eq!(&alone.views[..], &views[..1]);
        let from = (warm_up > 0).then_some(RequestId(warm_up as u32));
        let expected = attributed(&trace, (&machine, cores), from);
        let (profile, functions) = profile_nested(&trace, on, &options).unwrap();
        prop_assert_eq!(&profile.replay, &own);
        prop_assert_eq!(profile.total, total);
        prop_assert!(functions.iter().all(add_up));
        prop_assert_eq!(by_names(&functions, &machine), expected.nested);
        let expected = [expected.functions, expected.lines, expected.objects];
        for (view, expected) in views.iter().zip(expected) {
            prop_assert_eq!(by_name(view, &machine), expected);
        }
        Ok(())
    });
}

#[test]
fn what_has_no_symbol_counts_as_unnamed() {
    let step = |block: u32| crate::generated::Step {
        thread: 0,
        begins_request: false,
        block,
        data: vec![(0, 0x1000_0000, false, 8)],
    };
    let steps: Vec<_> = (0..crate::generated::BLOCKS).map(step).collect();
    let folder = tempfile::tempdir().unwrap();
    let trace = record(&folder.path().join("server.trace"), &steps).unwrap();
    let machine = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
    let on = (&machine, &Split::default());
    let profile = profile(&trace, on, &ReplayOptions::default(), &VIEWS).unwrap();
    let unnamed = |view: &View| view.unnamed().counters(&machine).accesses();
    let [functions, lines, objects] = &profile.views[..] else {
        panic!("three views");
    };
    // Of 9 blocks, four are in functions with a symbol: two of one line, and two of two lines.
    let Counters { l1i, l1d, .. } = profile.replay.counters;
    assert_eq!((l1i.accesses(), l1d.accesses()), (12, 9));
    assert_eq!(unnamed(functions), 21 - (2 * 2 + 2 * 3));
    assert_eq!(unnamed(lines), 21);
    // Loads, and fetches outside of all modules.
    assert_eq!(unnamed(objects), 9 + 2);
}
