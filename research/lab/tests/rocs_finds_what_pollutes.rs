//! The search for pages to confine. It finds the array that a loop streams through, next to one
//! that it reuses. On random programs, it is no better than the best of all sets of pages, and no
//! worse than the empty set.

use crate::coloured::{coloured_machines, spread_programs};
use crate::random::equal;
use crate::recording;
use crate::recording::record;
use crate::steps::Step;
use corehop_lab::pollution::{
    Found, Judge, PolluteBuffer, Search, executed_instructions, find_pollute_pages,
    pages_with_buffer, prepare, replay_with_buffer,
};
use corehop_simulator::{Inclusion, Level, Machine, Prepared, Replay, ReplayOptions, Split};
use corehop_traces::Trace;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseResult, TestRunner};
use rayon::ThreadPoolBuilder;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU32, Ordering};

/// A prepared trace, and a replay of it without a buffer.
struct Subject<'m> {
    machine: &'m Machine,
    prepared: Prepared,
    instructions: u64,
}

impl Subject<'_> {
    fn record<'m>(steps: &[Step], machine: &'m Machine) -> Subject<'m> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("polluting.trace");
        record(steps, &[], 1000, &path).unwrap();
        let trace = Trace::open(&path).unwrap();
        let options = ReplayOptions::default();
        let split = Split::default();
        Subject {
            machine,
            prepared: prepare(&trace, machine, &split, &options).unwrap(),
            instructions: executed_instructions(&trace, &options).unwrap(),
        }
    }

    fn with(&self, pages: &[u64]) -> Replay {
        let buffer = PolluteBuffer::new(self.machine, pages.iter().copied()).unwrap();
        let on = (self.machine, &Split::default());
        replay_with_buffer(&self.prepared, on, &buffer).unwrap()
    }

    fn find(&self, judge: Judge, step: usize) -> Found {
        let none = PolluteBuffer::new(self.machine, []).unwrap();
        let on = (self.machine, &Split::default());
        let (before, pages) = pages_with_buffer(&self.prepared, on, &none).unwrap();
        let search = Search {
            step: NonZeroUsize::new(step).unwrap(),
            judge,
            progress: &|| (),
        };
        find_pollute_pages(&self.prepared, on, (&before, &pages), &search).unwrap()
    }

    /// Returns all referenced pages.
    fn pages(&self) -> Vec<u64> {
        let none = PolluteBuffer::new(self.machine, []).unwrap();
        let on = (self.machine, &Split::default());
        let (_, pages) = pages_with_buffer(&self.prepared, on, &none).unwrap();
        pages.into_iter().map(|of| of.page).collect()
    }
}

const PAGE: u64 = 4096;
const LINES: u64 = 64;

/// Returns a load of each line of these pages, page by page.
fn around(pages: std::ops::Range<u64>) -> impl Iterator<Item = Step> {
    pages.map(|page| Step {
        thread: 0,
        begins_request: false,
        block: 0,
        data: (0..LINES)
            .map(|line| (page * PAGE + line * 64, false))
            .collect(),
    })
}

/// 16 page colours of four ways, with L1s of one page.
fn sixteen_colours() -> Machine {
    let level = |pages: u64, ways, latency| Level::new(pages * PAGE, ways, latency);
    let machine = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
    Machine {
        l1i: level(1, 1, 1),
        l1d: level(1, 1, 1),
        l2: Level {
            inclusion: Inclusion::NonInclusive,
            ..level(64, 4, 10)
        },
        l3: None,
        memory_latency_cycles: 100,
        ..machine
    }
}

/// A program reads the pages of `HOT` twice and then those of `STREAM` once, all of it `ROUNDS`
/// times.
///
/// Pages are identified by their colours, number modulo 16. `HOT` has 60 pages: four of each of
/// colours 0 to 11, three of each of 12 to 15. `STREAM` has 32: two of each colour. The L1D holds
/// one page, so that every load reaches the L2, which has room for four pages of each colour.
///
/// Nothing confined: of each colour a round references 4 + 2 or 3 + 2 pages. Between two references
/// to a page, except in the second pass over `HOT`, are all others of its colour, four or five. An
/// L2 of four ways therefore no longer holds it, for every colour, and a round misses all 92 pages
/// once each. `HOT` misses in every second reference, `STREAM` in all: `STREAM` is on top of the
/// stack.
///
/// `STREAM` confined: it has colour 15. The three pages of `HOT` of that colour have numbers 207,
/// 223 and 239; their rows of sixteen are 12, 13 and 14, so they get the colours 12, 13 and 14.
/// Then each of colours 0 to 14 has four pages of `HOT`, which stay cached after the first
/// reference. A round misses 32 pages, and the first round 60 more.
///
/// No set of pages does better. The first round misses all 92 in any case. After it a colour with
/// more than four pages misses each once a round, as above, and any other none. If more than four
/// pages are confined, the buffer misses them all, and at most 15 times 4 pages are in colours
/// without misses: 32 or more are missed. If one to four are confined, they are missing in at most
/// four of the other 15 colours, each of which had five pages or more. Then at most 16 pages and
/// the four are not missed: 72 or more are.
///
/// The line of code is fetched once and then stays in the L1I.
const HOT: std::ops::Range<u64> = 192..252;
const STREAM: std::ops::Range<u64> = 256..288;
const ROUNDS: u64 = 5;

#[test]
fn a_streamed_array_is_confined_and_the_one_used_again_is_not() {
    let round = || around(HOT).chain(around(HOT)).chain(around(STREAM));
    let steps: Vec<Step> = (0..ROUNDS).flat_map(|_| round()).collect();
    let machine = sixteen_colours();
    let subject = Subject::record(&steps, &machine);
    assert_eq!(subject.instructions, ROUNDS * (60 + 60 + 32));

    let before = subject.with(&[]).counters.l2;
    assert_eq!(before.accesses(), 1 + ROUNDS * (60 + 60 + 32) * LINES);
    assert_eq!(before.misses(), 1 + ROUNDS * 92 * LINES);

    let expected = 1 + (60 + ROUNDS * 32) * LINES;
    let stream: Vec<u64> = STREAM.collect();
    assert_eq!(subject.with(&stream).counters.l2.misses(), expected);
    for judge in [Judge::L2Misses, Judge::Cycles] {
        for step in [1, 2, 4, 8, 16, 32] {
            let found = subject.find(judge, step);
            assert_eq!(found.confined, stream);
            // The stack has all 92 pages and that of code.
            assert_eq!(found.tried.len(), 1 + 93 / step);
            assert_eq!(found.tried[32 / step].l2_misses, expected);
        }
    }
    // No step of five ends at the end of the array.
    let found = subject.find(Judge::L2Misses, 5);
    assert_eq!(found.tried[6].pages, 30);
    assert!(found.tried.iter().all(|tried| tried.l2_misses > expected));
}

/// Programs of six pages of data and one of code.
fn programs() -> impl Strategy<Value = Vec<Step>> {
    spread_programs().prop_map(|mut steps| {
        for step in &mut steps {
            step.block %= recording::FUNCTIONS - 1;
            step.data
                .iter_mut()
                .for_each(|(address, _)| *address %= 32 * PAGE);
        }
        steps
    })
}

#[test]
fn the_search_is_between_the_best_set_of_pages_and_none() {
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(400)
    };
    let one_thread = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (better_than_none, best) = (AtomicU32::new(0), AtomicU32::new(0));
    let values = (programs(), coloured_machines(), any::<bool>(), 1usize..4);
    let holds = |(steps, machine, by_cycles, step): (Vec<Step>, Machine, bool, usize)| {
        let judge = if by_cycles {
            Judge::Cycles
        } else {
            Judge::L2Misses
        };
        let subject = Subject::record(&steps, &machine);
        let pages = subject.pages();
        let subsets = (0..1usize << pages.len()).map(|subset| {
            let chosen = (0..pages.len()).filter(|page| subset >> page & 1 == 1);
            let chosen: Vec<u64> = chosen.map(|page| pages[page]).collect();
            judge.of(&subject.with(&chosen))
        });
        let exhaustive = subsets.min().unwrap();
        let found = subject.find(judge, step);
        let none = judge.of(&subject.with(&[]));
        let rocs = judge.of(&subject.with(&found.confined));
        prop_assert!(exhaustive <= rocs && rocs <= none);
        let tried = found.tried.iter().map(|tried| match judge {
            Judge::L2Misses => tried.l2_misses,
            Judge::Cycles => tried.cycles,
        });
        equal(tried.min(), Some(rocs))?;
        better_than_none.fetch_add(u32::from(rocs < none), Ordering::Relaxed);
        best.fetch_add(
            u32::from(exhaustive < none && rocs == exhaustive),
            Ordering::Relaxed,
        );
        TestCaseResult::Ok(())
    };
    let runner = |value| one_thread.scope(|_| holds(value));
    TestRunner::new(config).run(&values, runner).unwrap();
    let [better_than_none, best] = [better_than_none, best].map(AtomicU32::into_inner);
    assert!(better_than_none > best && best > 0);
}
