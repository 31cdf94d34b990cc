//! Replays of posted system calls: the cache counts of each core equal those of an oracle that
//! receives every access in the order of the rules (`docs/reference/replay.md`).

use crate::kernel_calls::{CALLS, CODE, Step, record, references};
use crate::oracle::Oracle;
use crate::random::{equal, holds, machines};
use corehop_simulator::detail::{Posting, SystemCalls, replay_by_mode};
use corehop_simulator::{CoreId, Counters, Error, Machine, ReplayOptions, Split};
use corehop_traces::Kind;
use proptest::collection::vec;
use proptest::prelude::*;
use std::num::NonZeroUsize;

fn programs() -> impl Strategy<Value = Vec<Step>> {
    let call = prop::sample::select(CALLS.map(|(number, ..)| number).to_vec());
    let step = (0usize..2, vec(0u64..40, 0..6), vec(call, 0..3));
    let made = |steps: &Vec<Step>| steps.iter().any(|(_, _, calls)| !calls.is_empty());
    vec(step, 1..12).prop_filter("a call", made)
}

/// Both threads are on core 0; calls of `posted` are made on `core`, in batches of `batch`.
fn naive(
    steps: &[Step],
    machine: &Machine,
    posted: &[i32],
    (core, batch): (usize, Option<usize>),
) -> (Vec<Counters>, u64) {
    let mut oracle = Oracle::new(machine, core as u32 + 1);
    let make = |oracle: &mut Oracle, core, call: i32| {
        for (kind, line) in references(call) {
            oracle.access(core, kind, line);
        }
    };
    let mut waiting = Vec::new();
    let mut batches = 0;
    // For each thread: a call waits for others once its thread continues.
    let mut last: [Option<i32>; 2] = [None, None];
    let mut wait = |oracle: &mut Oracle, call: Option<i32>, at_the_end: bool| {
        waiting.extend(call);
        if Some(waiting.len()) == batch || (at_the_end && !waiting.is_empty()) {
            batches += 1;
            waiting.drain(..).for_each(|call| make(oracle, core, call));
        }
    };
    for (thread, lines, calls) in steps {
        wait(&mut oracle, last[*thread].take(), false);
        oracle.access(0, Kind::Fetch, CODE / 64);
        lines
            .iter()
            .for_each(|&line| oracle.access(0, Kind::Load, line));
        for &call in calls {
            wait(&mut oracle, last[*thread].take(), false);
            match (posted.contains(&call), batch) {
                (false, _) => make(&mut oracle, 0, call),
                (true, None) => make(&mut oracle, core, call),
                (true, Some(_)) => last[*thread] = Some(call),
            }
        }
    }
    for last in &mut last {
        wait(&mut oracle, last.take(), false);
    }
    wait(&mut oracle, None, true);
    (oracle.counters(), batches)
}

#[test]
fn every_core_counts_what_the_oracle_counts() {
    let names = CALLS.map(|(number, name, _)| (number, name)).to_vec();
    let names = prop::sample::subsequence(names, 0..=CALLS.len());
    let batch = prop::option::of(1usize..5);
    holds(
        "posted calls equal the oracle's",
        (programs(), machines(), names, 0u32..3, batch),
        |(steps, machine, posted, core, batch)| {
            let core = core % machine.cores;
            let trace = record(&steps);
            let posting = Posting {
                calls: posted.iter().map(|(_, name)| (*name).into()).collect(),
                core: Some(CoreId(core)),
                batch: batch.and_then(NonZeroUsize::new),
            };
            let options = ReplayOptions::default();
            let on = (&machine, &Split::default());
            let calls = SystemCalls::of(&trace, &options).unwrap();
            let counted = calls.replay_posted(&trace, on, &options, &posting).unwrap();
            let numbers: Vec<i32> = posted.iter().map(|(number, _)| *number).collect();
            let at = (core as usize, batch);
            let (expected, batches) = naive(&steps, &machine, &numbers, at);
            let both = counted.cores.iter();
            let both: Vec<Counters> = both
                .map(|core| [core.user, core.kernel].into_iter().sum())
                .collect();
            equal(both, expected)?;
            equal(counted.batches, batches)?;
            let made = steps.iter().flat_map(|(_, _, calls)| calls);
            let made = made.filter(|call| numbers.contains(call)).count();
            equal(counted.calls, made as u64)
        },
    );
}

#[test]
fn without_posted_calls_the_modes_count_what_they_count() {
    holds(
        "nothing posted is nothing changed",
        (programs(), machines()),
        |(steps, machine)| {
            let trace = record(&steps);
            let (split, options) = (Split::default(), ReplayOptions::default());
            let modes = replay_by_mode(&trace, &machine, &split, &options);
            let modes = modes.unwrap().unwrap();
            let posting = Posting::default();
            let calls = SystemCalls::of(&trace, &options).unwrap();
            let on = (&machine, &split);
            let counted = calls.replay_posted(&trace, on, &options, &posting).unwrap();
            equal(counted.cores[0].user, modes.user.counters)?;
            equal(counted.cores[0].kernel, modes.kernel.counters)
        },
    );
}

#[test]
fn calls_are_counted_by_name() {
    let trace = record(&[(0, vec![1], vec![0, 18]), (1, vec![], vec![0])]);
    let calls = SystemCalls::of(&trace, &ReplayOptions::default()).unwrap();
    let made: Vec<(String, u64)> = calls.made().into_iter().collect();
    assert_eq!(made, [("pwrite64".into(), 1), ("read".into(), 2)]);
}

#[test]
fn a_core_that_the_machine_has_not_is_refused() {
    let trace = record(&[(0, vec![1], vec![0])]);
    let machine = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
    let posting = Posting {
        core: Some(CoreId(machine.cores)),
        ..Posting::default()
    };
    let on = (&machine, &Split::default());
    let options = ReplayOptions::default();
    let calls = SystemCalls::of(&trace, &options).unwrap();
    let refused = calls.replay_posted(&trace, on, &options, &posting);
    assert!(matches!(refused, Err(Error::TooManyCores { .. })));
}
