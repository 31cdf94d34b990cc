//! Lines that threads share equal what a naive attribution says of the same trace, and add up with
//! all other lines to the replay's counters.

use crate::generated::{
    Step, heap_events, record, record_with_heap, steps_of_a_heap, steps_of_few_lines,
};
use crate::naive_sharing::{Costs, Shared, found};
use crate::random::{holds, machines};
use corehop_profile::{
    By, ObjectOnLine, PlaceKind, Profile, SharedLine, Sharing, SharingCost, Verdict, profile,
    profile_with_sharing,
};
use corehop_simulator::{Machine, ReplayOptions, Split};
use corehop_traces::{Kind, RequestId, Trace};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// As the naive attribution has it.
pub fn plain(cost: &SharingCost) -> Costs {
    let SharingCost {
        loads,
        stores,
        coherence_misses,
        transfers,
        hit_modified,
        invalidated_lines,
        true_sharing,
        false_sharing,
    } = *cost;
    let counted = [loads, stores, coherence_misses, transfers];
    let further = [hit_modified, invalidated_lines, true_sharing, false_sharing];
    [counted, further].concat().try_into().unwrap()
}

fn verdict(line: &SharedLine) -> &'static str {
    match line.verdict() {
        Verdict::TrueSharing => "true",
        Verdict::FalseSharing => "false",
        Verdict::Mixed => "mixed",
    }
}

pub fn by_address(sharing: &Sharing) -> BTreeMap<u64, Shared> {
    let shared = |line: &SharedLine| {
        let uses = line.uses.iter().map(|of| {
            let (offset, size) = (of.offset.into(), of.size_bytes.into());
            let names = (of.function.clone(), of.code.name.clone());
            ((offset, size, of.thread, names.0, names.1), plain(&of.cost))
        });
        let uses: BTreeMap<_, _> = uses.collect();
        assert_eq!(uses.len(), line.uses.len(), "two uses have one name");
        // Only objects on the heap are smaller than a page.
        let is_on_heap = |of: &&ObjectOnLine| of.place.kind == PlaceKind::Allocated;
        let (on_heap, others): (Vec<_>, Vec<_>) = line.objects.iter().partition(is_on_heap);
        let (object, first_byte) = match others[..] {
            [object] if on_heap.is_empty() => {
                assert_eq!(object.offset, None);
                (object.place.name.clone(), object.line_offset.into())
            }
            [] if !on_heap.is_empty() => (String::new(), 0),
            _ => panic!("{:?}", line.objects),
        };
        Shared {
            object,
            first_byte,
            taken: on_heap.iter().map(|of| of.place.name.clone()).collect(),
            loading_threads: line.loading_threads,
            storing_threads: line.storing_threads,
            verdict: verdict(line),
            uses,
        }
    };
    let lines = sharing
        .lines
        .iter()
        .map(|line| (line.address, shared(line)));
    let lines: BTreeMap<_, _> = lines.collect();
    assert_eq!(
        lines.len(),
        sharing.lines.len(),
        "two lines have one address"
    );
    lines
}

/// The sums that a replay counts, too.
pub fn totals(profile: &Profile) -> [u64; 6] {
    let counters = &profile.replay.counters;
    [
        counters.l1d.load.accesses,
        counters.l1d.store.accesses,
        counters.l2.coherence_misses(),
        counters.transfers,
        counters.hit_modified,
        counters.invalidated_lines,
    ]
}

#[test]
fn shared_lines_add_up_and_equal_naive_ones() {
    let steps = prop_oneof![
        steps_of_few_lines().prop_map(|steps| (steps, Vec::new())),
        (steps_of_a_heap(), heap_events()),
    ];
    let cases = (steps, machines(), 1u32..4, 0usize..3);
    holds(
        "sharing of random traces",
        cases,
        |((steps, events), machine, cores, warm_up)| {
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
            let on = (&machine, &Split::thread_per_core(cores));
            let profiled = profile_with_sharing(&trace, on, &options, &[By::Function]).unwrap();
            let without = profile(&trace, on, &options, &[By::Function]).unwrap();
            prop_assert_eq!(&profiled.replay, &without.replay);
            prop_assert_eq!(&profiled.views, &without.views);
            let sharing = profiled.sharing.as_ref().unwrap();
            let mut sum = sharing.shared;
            sum += sharing.not_shared;
            prop_assert_eq!(&plain(&sum)[..6], &totals(&profiled));

            let from = (warm_up > 0).then_some(RequestId(warm_up as u32));
            let expected = found(&trace, (&machine, cores), from);
            prop_assert_eq!(plain(&sharing.not_shared), expected.rest);
            prop_assert_eq!(by_address(sharing), expected.lines);
            let mut of_lines = SharingCost::default();
            for line in &sharing.lines {
                let mut of_uses = SharingCost::default();
                line.uses.iter().for_each(|of| of_uses += of.cost);
                prop_assert_eq!(of_uses, line.cost);
                of_lines += line.cost;
            }
            prop_assert_eq!(of_lines, sharing.shared);
            let moves = sharing.lines.iter().map(|line| line.cost.moves());
            prop_assert!(moves.is_sorted_by(|more, less| more >= less));
            Ok(())
        },
    );
}

/// Executions of one thread after the other, each with loads and stores of words of one line.
fn line_of(accesses: &[(u32, Kind, u64)]) -> (tempfile::TempDir, Trace) {
    let steps = accesses.iter().map(|&(thread, kind, word)| Step {
        thread,
        begins_request: false,
        block: 3,
        data: vec![(0, 0x1000_0000 + 8 * word, kind == Kind::Store, 8)],
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.trace");
    let trace = record(&path, &steps.collect::<Vec<_>>()).unwrap();
    (folder, trace)
}

/// Verdict, true sharing, and false sharing of that line; `None` if threads do not share it.
fn judged(accesses: &[(u32, Kind, u64)]) -> Option<(&'static str, u64, u64)> {
    let (_folder, trace) = line_of(accesses);
    let machine = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
    let on = (&machine, &Split::thread_per_core(4));
    let profile = profile_with_sharing(&trace, on, &ReplayOptions::default(), &[]).unwrap();
    let sharing = profile.sharing.unwrap();
    let line = sharing.lines.first()?;
    let SharingCost {
        true_sharing,
        false_sharing,
        ..
    } = line.cost;
    Some((verdict(line), true_sharing, false_sharing))
}

const LOAD: Kind = Kind::Load;
const STORE: Kind = Kind::Store;

#[test]
fn counters_of_two_threads_on_one_line_are_false_sharing() {
    let rounds = [(0, STORE, 0), (1, STORE, 1)].repeat(10);
    assert_eq!(judged(&rounds), Some(("false", 0, 19)));
}

#[test]
fn a_counter_of_two_threads_is_true_sharing() {
    // The load takes the line, and the store after it needs no more.
    let one = |thread| [(thread, LOAD, 0), (thread, STORE, 0)];
    let rounds = [one(0), one(1)].concat().repeat(10);
    assert_eq!(judged(&rounds), Some(("true", 19, 0)));
}

#[test]
fn reading_what_others_counted_once_leaves_the_rest_false() {
    let mut rounds = [(0, STORE, 0), (1, STORE, 1)].repeat(10);
    rounds.extend([(2, LOAD, 0), (2, LOAD, 1)]);
    assert_eq!(judged(&rounds), Some(("mixed", 1, 19)));
}

#[test]
fn a_lock_makes_its_line_true_sharing_whatever_is_accessed_before_it() {
    // Each thread first uses a word that only it uses, then the lock.
    let one = |thread| [(thread, STORE, 1 + u64::from(thread)), (thread, STORE, 0)];
    let rounds = [one(0), one(1)].concat().repeat(10);
    assert_eq!(judged(&rounds), Some(("true", 19, 0)));
}

#[test]
fn loading_bytes_that_nobody_stores_is_false_sharing_with_a_store_next_to_them() {
    let rounds = [(0, STORE, 0), (1, LOAD, 7), (2, LOAD, 7)].repeat(10);
    assert_eq!(judged(&rounds), Some(("false", 0, 29)));
}

#[test]
fn a_store_after_loads_of_others_takes_the_line() {
    let shared = [(0, LOAD, 0), (1, LOAD, 0), (0, STORE, 0)];
    assert_eq!(judged(&shared), Some(("true", 1, 0)));
    let elsewhere = [(0, LOAD, 0), (1, LOAD, 0), (0, STORE, 1)];
    assert_eq!(judged(&elsewhere), Some(("false", 0, 1)));
}

#[test]
fn lines_of_one_thread_and_lines_that_nobody_stores_to_are_not_shared() {
    assert_eq!(judged(&[(0, STORE, 0), (0, LOAD, 1)]), None);
    assert_eq!(judged(&[(0, LOAD, 0), (1, LOAD, 0)]), None);
}
