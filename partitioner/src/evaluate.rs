//! How many L2 misses a split costs, without replaying it.
//!
//! What one core's private caches miss depends only on *which occurrences run on it*: its own
//! accesses come in replay order, and every store elsewhere removes the line, whichever other core
//! makes it. So the private misses of a split are a sum over cores of a function of that core's set
//! of occurrences, as long as the shared L3 evicts nothing. Splits share most of their sets: with
//! candidates called in a fixed order a set is an interval between two of them, and there are at
//! most n x n intervals however many cores the split has. Each set is replayed once and remembered.
//!
//! A batch of splits is evaluated in three passes: find the sets not yet known, replay those in
//! parallel, add up. Threads never wait for each other's replays, and the result cannot depend on
//! their number.

use crate::core_set::CoreSet;
use crate::stream::Stream;
use corehop_simulator::{CacheLevel, Geometry, Machine, World};
use corehop_traces::Kind;
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};

/// A split under evaluation: indices of the searched functions; the one at index `i` has core `i`.
pub type Choice = Vec<u32>;

/// Evaluates splits of one stream on one machine.
pub struct Evaluator<'a> {
    stream: &'a Stream,
    /// One core's empty private caches, which know the stream's lines.
    core: World,
    functions: usize,
    known: HashMap<CoreSet, u64>,
}

impl<'a> Evaluator<'a> {
    /// For splits at any of `functions` searched functions.
    pub fn new(stream: &'a Stream, machine: &Machine, functions: usize) -> Self {
        let private = Machine {
            l3: None,
            ..machine.clone()
        };
        let mut core = World::new(&Geometry::new(&private, 1, 1));
        for &line in &stream.lines {
            core.line(line);
        }
        Evaluator {
            stream,
            core,
            functions,
            known: HashMap::new(),
        }
    }

    /// L2 misses of each split, summed over cores.
    pub fn evaluate(&mut self, splits: &[Choice]) -> Vec<u64> {
        let known = &self.known;
        let unknown: HashSet<CoreSet> = splits
            .par_iter()
            .flat_map_iter(|split| self.core_sets(split))
            .filter(|set| !known.contains_key(set))
            .collect();
        let replay = |set| (l2_misses(self.stream, self.core.clone(), &set), set);
        let found: Vec<_> = unknown.into_par_iter().map(replay).collect();
        self.known
            .extend(found.into_iter().map(|(misses, set)| (set, misses)));
        let sum = |split| self.core_sets(split).map(|set| self.known[&set]).sum();
        splits.par_iter().map(sum).collect()
    }

    /// Number of distinct sets replayed so far.
    pub fn sets_replayed(&self) -> usize {
        self.known.len()
    }

    /// The occurrences of each core that has any.
    fn core_sets(&self, split: &Choice) -> impl Iterator<Item = CoreSet> + use<> {
        let bound = self.stream.occurrences.len();
        let mut sets = vec![CoreSet::empty(bound); split.len().max(1)];
        let mut core_of = vec![None; self.functions];
        for (core, &function) in split.iter().enumerate() {
            core_of[function as usize] = Some(core);
        }
        let mut cores_of_threads: Vec<usize> = Vec::new();
        for (index, occurrence) in self.stream.occurrences.iter().enumerate() {
            let thread = occurrence.thread as usize;
            if thread >= cores_of_threads.len() {
                cores_of_threads.resize(thread + 1, 0);
            }
            if let Some(core) = occurrence.candidate.and_then(|c| core_of[c as usize]) {
                cores_of_threads[thread] = core;
            }
            sets[cores_of_threads[thread]].insert(index);
        }
        sets.into_iter().filter(|set| !set.is_empty())
    }
}

/// L2 misses of one core on which exactly the occurrences in `set` run.
fn l2_misses(stream: &Stream, mut core: World, set: &CoreSet) -> u64 {
    for piece in &stream.pieces {
        if set.contains(piece.occurrence as usize) {
            for access in &stream.accesses[piece.accesses.clone()] {
                core.access(0, access.kind(), access.line(), &mut ());
            }
        } else {
            for &line in &stream.stores[piece.stores.clone()] {
                core.store_elsewhere(line);
            }
        }
    }
    let [tally] = core.tally() else {
        unreachable!("a world of one core");
    };
    let kinds = [Kind::Fetch, Kind::Load, Kind::Store];
    let misses = kinds.map(|kind| tally.misses(CacheLevel::L2, kind).total());
    misses.iter().sum()
}
