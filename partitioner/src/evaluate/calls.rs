//! Maps a split to its cores: intervals of each thread's occurrences, from call to call.

use super::keys::{Key, Prefixes, random};
use super::placement::{IndexedPlacement, cores_of};
use corehop_simulator::PrivateReplay;
use corehop_traces::FunctionId;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// The occurrences on one core.
#[derive(Clone, Default)]
pub(super) struct Intervals {
    /// Intervals of occurrences.
    pub runs: Vec<(u32, u32)>,
    /// Number of hops to this core.
    pub hops: u64,
}

/// The calls at which threads may change core.
pub(super) struct CandidateCalls {
    threads: Vec<Thread>,
    /// Number of functions.
    functions: usize,
    prefixes: Prefixes,
}

/// One thread's occurrences, and the calls at their beginnings.
struct Thread {
    occurrences: Range<u32>,
    /// Function and occurrence of each call.
    calls: Vec<(u32, u32)>,
}

impl CandidateCalls {
    /// Returns the calls of these functions.
    pub fn of(private_replay: &PrivateReplay, functions: &[FunctionId]) -> CandidateCalls {
        let index_of: HashMap<FunctionId, u32> = functions.iter().copied().zip(0..).collect();
        let mut threads: Vec<Thread> = Vec::new();
        let mut last = None;
        for (index, occurrence) in (0..).zip(private_replay.occurrences()) {
            if last != Some(occurrence.thread) {
                threads.push(Thread {
                    occurrences: index..index,
                    calls: Vec::new(),
                });
                last = Some(occurrence.thread);
            }
            let thread = threads.last_mut().expect("pushed");
            thread.occurrences.end = index + 1;
            let entered = occurrence.entered.and_then(|f| index_of.get(&f));
            thread.calls.extend(entered.map(|&f| (f, index)));
        }
        let count = private_replay.occurrences().len();
        CandidateCalls {
            threads,
            functions: functions.len(),
            prefixes: Prefixes::of((0..count).map(|_| true)),
        }
    }

    /// Returns, by thread, the sequence of functions that it calls.
    pub fn by_thread(&self) -> Vec<Vec<u32>> {
        let of = |thread: &Thread| thread.calls.iter().map(|&(function, _)| function).collect();
        self.threads.iter().map(of).collect()
    }

    /// Returns, by core, the key of its occurrences, and of hops before a thread's first
    /// occurrence.
    pub fn keys(&self, split: &IndexedPlacement) -> Vec<Key> {
        let mut keys = vec![0; cores_of(split)];
        self.place(split, |core, occurrences, hops_at_once| {
            keys[core] ^= self.prefixes.key(&[occurrences]);
            if hops_at_once {
                keys[core] ^= random(u64::MAX / 4 + u64::from(occurrences.0));
            }
        });
        keys
    }

    /// Returns, by core, the intervals that run there.
    pub fn intervals(&self, split: &IndexedPlacement) -> Vec<Intervals> {
        let mut intervals = vec![Intervals::default(); cores_of(split)];
        let starts: HashSet<u32> = self.threads.iter().map(|t| t.occurrences.start).collect();
        self.place(split, |core, occurrences, hops_at_once| {
            let of_core = &mut intervals[core];
            of_core.hops += u64::from(hops_at_once || !starts.contains(&occurrences.0));
            of_core.runs.push(occurrences);
        });
        intervals
    }

    /// Passes to `tell` the core of each interval of occurrences, and whether the thread hops
    /// before its first one. Every other interval begins with a hop.
    fn place(&self, split: &IndexedPlacement, mut tell: impl FnMut(usize, (u32, u32), bool)) {
        let mut core_of = vec![u32::MAX; self.functions];
        for &(function, core) in split {
            core_of[function as usize] = core;
        }
        for thread in &self.threads {
            let (mut core, mut begin) = (0, thread.occurrences.start);
            let at_once = |core: u32, begin: u32| core != 0 && begin == thread.occurrences.start;
            for &(function, occurrence) in &thread.calls {
                let to = core_of[function as usize];
                if to != u32::MAX && to != core {
                    if begin < occurrence {
                        tell(core as usize, (begin, occurrence), at_once(core, begin));
                    }
                    (core, begin) = (to, occurrence);
                }
            }
            tell(
                core as usize,
                (begin, thread.occurrences.end),
                at_once(core, begin),
            );
        }
    }
}
