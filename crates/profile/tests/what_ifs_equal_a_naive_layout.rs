//! A what-if counts what a naive replay of a naive layout counts, in all and by object, and a
//! what-if that changes nothing counts what a profile counts.

use crate::generated::{AREAS, STACKS, Step, record, steps, steps_of_few_lines};
use crate::naive::{self, NaiveCaches};
use crate::naive_layout::{GIB, Moved};
use crate::plain::plain;
use crate::random::{holds, machines};
use corehop_profile::what_if::{
    Change, Outcome, Part, Side, WhatIf, outcome_shown, suggest, what_if,
};
use corehop_profile::{By, Level, profile};
use corehop_simulator::{Machine, ReplayOptions, Split};
use corehop_traces::{Kind, RequestId, Trace};
use proptest::collection::vec;
use proptest::prelude::*;
use std::path::Path;

/// The costs of the objects, then of everything else.
fn replayed(
    trace: &Trace,
    (machine, cores): (&Machine, u32),
    from: Option<RequestId>,
    (moved, objects, is_after): (&Moved, usize, bool),
) -> Vec<naive::Cost> {
    let mut caches = NaiveCaches::new(machine, cores);
    let mut costs = vec![naive::Cost::default(); objects + 1];
    let mut is_counting = from.is_none();
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        is_counting |= execution.request.is_some() && execution.request >= from;
        let core = execution.thread.index() as u32 % cores;
        for access in execution.accesses {
            let accesses = match is_after {
                true => moved.accesses(access),
                false => vec![*access],
            };
            for access in accesses {
                for line in access.lines() {
                    let cost = caches.access(core, access.kind, line);
                    let byte = access.address.max(line * 64);
                    let object = moved.object(byte, is_after);
                    let object = object.filter(|_| access.kind != Kind::Fetch);
                    if is_counting {
                        costs[object.unwrap_or(objects)].add(&cost);
                    }
                }
            }
        }
    }
    costs
}

fn own(side: &Side) -> Vec<naive::Cost> {
    let all = side.objects.iter().chain([&side.rest]);
    all.map(|cost| plain(cost, &side.machine)).collect()
}

/// What is drawn of a change: where the object begins, its size, and its keys.
#[derive(Clone, Debug)]
struct Drawn {
    offset: u64,
    size: u64,
    element: Option<u64>,
    padding: Option<u64>,
    align: Option<u32>,
    color: Option<u64>,
    cuts: Vec<(u64, u32)>,
    is_behind: bool,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let size = prop_oneof![3 => 1u64..40, 2 => 1u64..700];
    let element = prop::option::of(1u64..70);
    let padding = prop::option::of(0u64..90);
    let align = prop::option::weighted(0.4, 0u32..9);
    let color = prop::option::weighted(0.3, 0u64..4096);
    let cuts = vec((0u64..70, 0u32..4), 0..4);
    let all = (
        0u64..200,
        size,
        element,
        padding,
        align,
        color,
        cuts,
        any::<bool>(),
    );
    all.prop_map(
        |(offset, size, element, padding, align, color, cuts, is_behind)| Drawn {
            offset,
            size,
            element,
            padding,
            align,
            color,
            cuts,
            is_behind,
        },
    )
}

/// The change in this area; it may follow an object that has another name.
fn change(drawn: &Drawn, area: u64, other: &str) -> Change {
    let start = area + drawn.offset;
    let element = drawn.element.filter(|&element| element <= drawn.size);
    let element_bytes = element.unwrap_or(drawn.size);
    let mut split = Vec::new();
    let mut cuts = drawn.cuts.clone();
    cuts.sort_unstable();
    let (mut from, mut left) = (0, element_bytes);
    for &(to, array) in &cuts {
        let to = to.min(element_bytes);
        if from < to && array > 0 && to - from < left {
            split.push(Part { from, to, array });
            left -= to - from;
        }
        from = from.max(to);
    }
    let change = Change {
        object: format!("{start:#x}-{:#x}", start + drawn.size - 1),
        element_bytes: element,
        pad_to_bytes: drawn.padding.map(|padding| left + padding),
        align_bytes: drawn.align.map(|power| 1 << power),
        color_bytes: drawn.color.filter(|_| !drawn.is_behind),
        split,
        behind: drawn.is_behind.then(|| other.to_owned()),
    };
    match change
        .pad_to_bytes
        .or(change.align_bytes)
        .or(change.color_bytes)
    {
        None if change.split.is_empty() && change.behind.is_none() => Change {
            align_bytes: Some(1),
            ..change
        },
        _ => change,
    }
}

/// Checks where the arrays are.
fn placed(trace: &Trace, changes: &[Change], outcome: &Outcome, moved: &Moved) {
    let mut executions = trace.executions();
    let mut used = Vec::new();
    while let Some(execution) = executions.next().unwrap() {
        used.extend(execution.accesses.iter().map(|access| access.address / GIB));
    }
    for (index, object) in outcome.objects.iter().enumerate() {
        let ranges = moved.arrays(index);
        for &(start, end) in ranges {
            assert!(
                used.iter()
                    .all(|&of| of < start / GIB || of > (end - 1) / GIB)
            );
        }
        let none = Change::default();
        let change = changes.get(index).unwrap_or(&none);
        let align = change.align_bytes.unwrap_or(1);
        let first = ranges[0].0;
        assert_eq!(first % align, 0);
        for &(start, _) in &ranges[1..] {
            assert_eq!(start % align.max(64), 0);
        }
        match &change.behind {
            None => {
                let wanted = object.range.0 + change.color_bytes.unwrap_or(0);
                assert_eq!(first % GIB, wanted.next_multiple_of(align) % GIB);
            }
            Some(name) => {
                let other = outcome
                    .objects
                    .iter()
                    .position(|of| of.name == *name)
                    .unwrap();
                let end = moved.arrays(other).last().unwrap().1;
                assert!(end <= first, "{end:#x} {first:#x}");
            }
        }
    }
}

/// A trace of these steps, without accesses that span areas.
fn traced(folder: &Path, steps: &[Step]) -> Trace {
    record(&folder.join("server.trace"), steps).unwrap()
}

fn options(trace: &Trace, warm_up: usize) -> ReplayOptions<'static> {
    let is_possible = warm_up < trace.requests().len();
    ReplayOptions {
        warm_up_requests: if is_possible { warm_up } else { 0 },
        ..ReplayOptions::default()
    }
}

#[test]
fn random_changes_of_random_traces_count_what_a_naive_layout_counts() {
    let steps = prop_oneof![steps(), steps_of_few_lines()];
    let cases = (steps, machines(), 1u32..4, 0usize..3, vec(drawn(), 1..=3));
    holds(
        "what-ifs of random traces",
        cases,
        |(steps, machine, cores, warm_up, drawn)| {
            let cores = cores.min(machine.cores);
            let folder = tempfile::tempdir().unwrap();
            let trace = traced(folder.path(), &steps);
            let options = options(&trace, warm_up);
            // The second may be behind the first, and the third behind one that only moves along.
            let areas = [AREAS[0], AREAS[1], STACKS[0]];
            let first = change(&drawn[0], areas[0], "0x20001000-0x2000103f");
            let mut changes = vec![first];
            for (drawn, area) in drawn.iter().zip(areas).skip(1) {
                changes.push(change(drawn, area, &changes[0].object));
            }
            let with_lines = changes.iter().map(|change| (change.clone(), None));
            let wanted = WhatIf {
                changes: with_lines.collect(),
                ..WhatIf::default()
            };
            let split = Split::thread_per_core(cores);
            let on = (&machine, &split);
            let file = (&wanted, Path::new("change.toml"));
            let outcome = what_if(&trace, on, &options, file).unwrap();
            let moved = Moved::of(&changes, &outcome.objects);
            placed(&trace, &changes, &outcome, &moved);
            let warm_up = options.warm_up_requests;
            let from = (warm_up > 0).then_some(RequestId(warm_up as u32));
            let objects = outcome.objects.len();
            for (side, is_after) in [(&outcome.before, false), (&outcome.after, true)] {
                let expected = (&moved, objects, is_after);
                let expected = replayed(&trace, (&machine, cores), from, expected);
                prop_assert_eq!(own(side), expected);
                prop_assert_eq!(side.total.counters(&machine), side.replay.counters);
            }
            // As recorded, it is a profile.
            let plain = profile(&trace, on, &options, &[By::Object]).unwrap();
            prop_assert_eq!(&outcome.before.replay, &plain.replay);
            prop_assert_eq!(outcome.before.total, plain.total);
            Ok(())
        },
    );
}

#[test]
fn a_machine_of_the_same_size_changes_no_counter() {
    let cases = (steps_of_few_lines(), machines(), 1u32..4);
    holds("empty what-ifs", cases, |(steps, machine, cores)| {
        let cores = cores.min(machine.cores);
        let folder = tempfile::tempdir().unwrap();
        let trace = traced(folder.path(), &steps);
        let text = format!(
            "[machine]\nl2 = {{ size_bytes = {} }}",
            machine.l2.size_bytes
        );
        let path = Path::new("same.toml");
        let same = WhatIf::from_toml(&text, path).unwrap();
        let split = Split::thread_per_core(cores);
        let options = ReplayOptions::default();
        let outcome = what_if(&trace, (&machine, &split), &options, (&same, path)).unwrap();
        prop_assert_eq!(&outcome.before, &outcome.after);
        let plain = profile(&trace, (&machine, &split), &options, &[]).unwrap();
        prop_assert_eq!(&outcome.after.replay, &plain.replay);
        prop_assert_eq!(outcome.after.total, plain.total);
        Ok(())
    });
}

/// Four threads that take turns store to neighboring words of one line.
fn false_sharing() -> Vec<Step> {
    let step = |turn: u32| Step {
        thread: turn % 4,
        begins_request: true,
        block: 0,
        data: vec![(0, AREAS[0] + 8 * u64::from(turn % 4), true, 8)],
    };
    (0..80).map(step).collect()
}

#[test]
fn false_sharing_is_suggested_to_be_padded_and_the_gain_is_that_of_the_what_if() {
    let folder = tempfile::tempdir().unwrap();
    let trace = traced(folder.path(), &false_sharing());
    let machine = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
    let split = Split::thread_per_core(4);
    let options = ReplayOptions::default();
    let suggestions = suggest(&trace, (&machine, &split), &options).unwrap();
    let [suggestion] = &suggestions.helpful[..] else {
        panic!("{suggestions:#?}");
    };
    let change = Change {
        object: "0x10000000-0x1000003f".into(),
        element_bytes: Some(8),
        pad_to_bytes: Some(64),
        align_bytes: Some(64),
        ..Change::default()
    };
    assert_eq!((suggestions.tried, &suggestion.change), (1, &change));
    let text = format!("[[change]]\n{}", toml::to_string(&change).unwrap());
    let path = Path::new("suggested.toml");
    let file = WhatIf::from_toml(&text, path).unwrap();
    let outcome = what_if(&trace, (&machine, &split), &options, (&file, path)).unwrap();
    assert_eq!(outcome.after, suggestion.after);
    let saved = outcome.before.replay.counters.cycles - outcome.after.replay.counters.cycles;
    assert_eq!(suggestions.saved_cycles(suggestion), saved.cast_signed());
    // Of 80 stores, each but the first took the line from another core; then 4 are cold.
    assert_eq!(outcome.before.objects[0].misses(Level::L1), 80);
    assert_eq!(outcome.after.objects[0].misses(Level::L1), 4);
    let shown = serde_json::to_value(outcome_shown(&outcome, ("trace", 0))).unwrap();
    assert_eq!(shown["objects"][0]["before"]["invalidated_lines"], 79);
    assert_eq!(shown["objects"][0]["after"]["invalidated_lines"], 0);
}

#[test]
fn nothing_is_suggested_where_no_change_helps() {
    let folder = tempfile::tempdir().unwrap();
    let step = |block: u32| Step {
        thread: 0,
        begins_request: true,
        block,
        data: vec![(0, AREAS[0], false, 8)],
    };
    let trace = traced(folder.path(), &[step(0), step(1), step(0)]);
    let machine = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
    let on = (&machine, &Split::default());
    let suggestions = suggest(&trace, on, &ReplayOptions::default()).unwrap();
    assert!(suggestions.helpful.is_empty(), "{suggestions:#?}");
}
