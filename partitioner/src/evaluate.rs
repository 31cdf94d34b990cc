//! The cost of a split, as the sum of the costs of its cores.
//!
//! A search compares up to millions of splits; replaying each of them would take hours. But a
//! split's cost is a sum over its cores: a cost for each miss in a core's private caches, and for
//! each hop to it ([`crate::objective::UnitCosts`]). And a core's misses depend only on the
//! occurrences that run on it, whatever the other cores share among themselves
//! ([`corehop_simulator::PrivateReplay`] explains why; an occurrence is a thread's execution from
//! one call of a candidate to the next). So each set of occurrences is simulated once, and its cost
//! is stored. Most splits consist of sets that were already simulated for others.
//!
//! A new set often needs little work, too. Lines of different set partitions never meet in a cache,
//! so a core's misses are a sum over set partitions. In each, only the occurrences that access its
//! lines count. Take a split at `a` and `b`, and one at `a` and `c`, where `c` is always called
//! soon after `b`. Their sets differ by the code between `b` and `c`. Only the set partitions of
//! the lines accessed there are simulated; the others are looked up.
//!
//! Splits are evaluated in batches: look up all sets, simulate the unknown ones, each set partition
//! on one host thread, and sum up. Threads share nothing while they simulate, so the result does
//! not depend on their number. The search can stop after about every tenth of a second of
//! simulation, and new costs are saved in a [`Checkpoint`]. Several weighted machines
//! ([`crate::weights`]) are further terms of the sum.
//!
//! If cores share an L2, a core's misses depend on its neighbour. Then none of this holds, and
//! every split is replayed in full.

mod calls;
mod core_set;
mod keys;
mod lower_bounds;
mod placement;
mod set_partitions;
mod term;

use crate::checkpoint::{Checkpoint, Costs, Subject};
use crate::weights::Factors;
use calls::{CandidateCalls, Intervals};
use core_set::{PlacedSet, UNKNOWN};
use corehop_simulator::{Prepared, Split};
use corehop_traces::FunctionId;
use keys::ByKey;
pub(crate) use keys::{Key, random};
use lower_bounds::LowerBounds;
use rayon::prelude::*;
use set_partitions::SetPartitions;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::{Duration, Instant};

pub(crate) use core_set::CoreSet;
pub use core_set::GROUPS;
pub use placement::{IndexedPlacement, Placement, cores_of, named};
pub use term::Term;

/// Returns the number of consecutive replays of this many searched requests; all rounds count. Few
/// requests do not warm the caches: in one round of ten, most misses are first accesses, and every
/// further core repeats them. Such a ranking would avoid splits that win in a long run.
pub fn rounds(requests: usize) -> usize {
    match requests {
        0..40 => 2,
        _ => 1,
    }
}

/// Evaluates splits of one trace on one machine.
pub struct Evaluator<'a> {
    source: Source<'a>,
    functions: Vec<FunctionId>,
    calls: Option<CandidateCalls>,
    set_partitions: SetPartitions,
    /// By group of set partitions: the cost of a core that runs this set, or [`UNKNOWN`]; hops are
    /// in the first group. If each split is replayed in full: its cost, in the first group.
    known: ByKey<[u64; GROUPS]>,
    /// Costs from the checkpoint for sets not requested so far.
    recalled: ByKey<[u64; GROUPS]>,
    lower_bounds: LowerBounds,
    kept: Option<(&'a Checkpoint, Subject)>,
    sets_at_a_time: usize,
}

/// Source of costs.
#[derive(Clone, Copy)]
enum Source<'a> {
    /// At least one term.
    PrivateReplay(&'a [Term]),
    /// With the number of rounds.
    InFull(&'a Prepared, &'a Factors<'a>, usize),
}

/// Maximum number of sets simulated at a time: few enough to fit the host's cache.
const SETS_AT_A_TIME: usize = 1 << 10;

/// Approximate simulation time between two checks of the clock.
const PACE: Duration = Duration::from_millis(100);

impl<'a> Evaluator<'a> {
    /// Returns an evaluator for splits at any of `functions`.
    ///
    /// # Panics
    /// If there is no term.
    pub fn new(terms: &'a [Term], functions: &[FunctionId]) -> Self {
        let private_replay = &terms.first().expect("at least one machine").private_replay;
        Evaluator {
            calls: Some(CandidateCalls::of(private_replay, functions)),
            set_partitions: SetPartitions::of(private_replay),
            ..Evaluator::of(Source::PrivateReplay(terms), functions)
        }
    }

    /// Returns an evaluator for machines with a shared L2: every split is replayed in full,
    /// `rounds` times in a row.
    pub fn in_full(
        prepared: &'a Prepared,
        factors: &'a Factors<'a>,
        functions: &[FunctionId],
        rounds: usize,
    ) -> Self {
        Evaluator::of(Source::InFull(prepared, factors, rounds), functions)
    }

    /// Returns an evaluator without known costs, calls or set partitions.
    fn of(source: Source<'a>, functions: &[FunctionId]) -> Self {
        Evaluator {
            source,
            functions: functions.to_vec(),
            calls: None,
            set_partitions: SetPartitions::default(),
            known: HashMap::from_iter([(0, [0; GROUPS])]),
            recalled: HashMap::default(),
            lower_bounds: LowerBounds::default(),
            kept: None,
            sets_at_a_time: 1,
        }
    }

    /// Whether every split is replayed in full.
    pub fn is_in_full(&self) -> bool {
        matches!(self.source, Source::InFull(..))
    }

    /// Returns a lower bound for all splits: every line must be loaded by some core once.
    pub fn lower_bound(&self) -> u64 {
        match self.source {
            Source::PrivateReplay(terms) => {
                let set_partitions = 0..terms[0].private_replay.set_partitions();
                let of = |set_partition| {
                    terms
                        .iter()
                        .map(|term| term.lower_bound(set_partition))
                        .sum::<u64>()
                };
                set_partitions.map(of).sum()
            }
            Source::InFull(..) => 0,
        }
    }

    /// Returns the number of functions to choose from.
    pub fn functions(&self) -> usize {
        self.functions.len()
    }

    /// Returns, by thread, the sequence of functions that it calls; empty if splits are replayed in
    /// full.
    pub fn calls(&self) -> Vec<Vec<u32>> {
        self.calls
            .as_ref()
            .map(CandidateCalls::by_thread)
            .unwrap_or_default()
    }

    /// Returns the number of distinct sets requested so far; of splits, if each is replayed in
    /// full.
    pub fn sets_known(&self) -> usize {
        self.known.len() - 1
    }

    /// Returns the number of simulations so far, of one core and one set partition each.
    pub fn simulations(&self) -> usize {
        self.set_partitions.simulations()
    }

    /// Saves costs in `checkpoint`, and loads the saved costs of the same `subject`.
    pub fn keep_in(&mut self, checkpoint: &'a Checkpoint, subject: Subject) {
        if let Some(costs) = checkpoint.costs(&subject) {
            let sets = costs.sets.into_iter();
            let is_news = |(set, _): &(Key, _)| !self.known.contains_key(set);
            self.recalled.extend(sets.filter(is_news));
            self.set_partitions.learn(costs.set_partitions);
        }
        self.kept = Some((checkpoint, subject));
    }

    /// Writes all known costs to the checkpoint, if there is one.
    pub fn keep(&self) {
        if let Some((checkpoint, subject)) = &self.kept {
            let sets = self.known.iter().chain(&self.recalled);
            let costs = Costs {
                sets: sets.map(|(&key, &misses)| (key, misses)).collect(),
                set_partitions: self.set_partitions.known(),
            };
            checkpoint.keep(subject, costs);
        }
    }

    /// Returns the cost of each split, summed over cores.
    pub fn evaluate(&mut self, splits: &[IndexedPlacement]) -> Vec<u64> {
        let misses = self.evaluate_until(splits, &|| false).into_iter();
        misses
            .map(|misses| misses.expect("nothing ends it"))
            .collect()
    }

    /// Like [`Evaluator::evaluate`], until `is_over`, which is called several times a second.
    /// Returns `None` for splits that were not evaluated by then.
    pub fn evaluate_until(
        &mut self,
        splits: &[IndexedPlacement],
        is_over: &dyn Fn() -> bool,
    ) -> Vec<Option<u64>> {
        let groups = 0..GROUPS;
        let this = &*self;
        let unknown = splits.par_iter().flat_map_iter(|split| {
            let keys = this.keys(split).into_iter().enumerate();
            let unknown = keys.filter(|(_, key)| this.misses(*key, &groups).is_none());
            unknown.map(move |(core, key)| (CoreSet(key), split, core))
        });
        let unknown = unknown.collect();
        self.learn(unknown, &groups, is_over);
        let misses = |key: &Key| self.misses(*key, &groups);
        let sum = |split| self.keys(split).iter().map(misses).sum();
        splits.par_iter().map(sum).collect()
    }

    /// Returns the sets that run on these cores of splits; invalid if splits are replayed in full.
    pub(crate) fn core_sets(&self, cores: &[(&IndexedPlacement, usize)]) -> Vec<CoreSet> {
        let set = |&(split, core): &(&IndexedPlacement, usize)| CoreSet(self.keys(split)[core]);
        cores.par_iter().map(set).collect()
    }

    /// Returns, by group, the minimum cost of each of these sets.
    pub(crate) fn lower_bounds_of_sets(&mut self, sets: &[PlacedSet<'_>]) -> Vec<[u64; GROUPS]> {
        if let Source::PrivateReplay(terms) = self.source {
            let unknown = self.lower_bounds.unknown(sets.iter());
            let intervals = self.intervals(&unknown);
            self.lower_bounds.learn(terms, &unknown, &intervals);
        }
        sets.iter()
            .map(|(set, ..)| self.lower_bounds.of(set.0))
            .collect()
    }

    /// Returns the cost of each of these sets on the lines of a group; `None` if time is over
    /// before all are simulated.
    pub(crate) fn evaluate_sets(
        &mut self,
        sets: &[PlacedSet<'_>],
        group: usize,
        is_over: &dyn Fn() -> bool,
    ) -> Option<Vec<u64>> {
        let groups = group..group + 1;
        let is_unknown = |(set, ..): &&PlacedSet<'_>| self.misses(set.0, &groups).is_none();
        let unknown = sets.iter().filter(is_unknown).copied().collect();
        self.learn(unknown, &groups, is_over);
        let misses = sets.iter().map(|(set, ..)| self.misses(set.0, &groups));
        misses.collect()
    }

    fn misses(&self, set: Key, groups: &Range<usize>) -> Option<u64> {
        let known = &self.known.get(&set)?[groups.clone()];
        let is_known = known.iter().all(|&misses| misses != UNKNOWN);
        is_known.then(|| known.iter().sum())
    }

    /// Loads the cost of a new set from the checkpoint, if it is there; returns whether it is known
    /// in `groups`.
    fn recall(&mut self, set: Key, groups: &Range<usize>) -> bool {
        if let Some(costs) = self.recalled.remove(&set) {
            self.known.insert(set, costs);
        }
        self.misses(set, groups).is_some()
    }

    /// Simulates sets until `is_over`.
    fn learn(
        &mut self,
        mut unknown: Vec<PlacedSet<'_>>,
        groups: &Range<usize>,
        is_over: &dyn Fn() -> bool,
    ) {
        let mut met = HashSet::new();
        unknown.retain(|(set, ..)| met.insert(set.0) && !self.recall(set.0, groups));
        let mut unknown = &unknown[..];
        while !unknown.is_empty() && !is_over() {
            let begun = Instant::now();
            let (sets, others) = unknown.split_at(self.sets_at_a_time.min(unknown.len()));
            let learnt = match self.source {
                Source::PrivateReplay(terms) => {
                    let sets = self.intervals(sets);
                    let mut learnt = self.set_partitions.simulate(terms, &sets, groups);
                    if groups.contains(&0) {
                        for (learnt, set) in learnt.iter_mut().zip(&sets) {
                            learnt[0] += Term::cost_of_hops(terms, set.hops);
                        }
                    }
                    learnt
                }
                Source::InFull(prepared, factors, rounds) => {
                    let replay = |&(_, split, _): &PlacedSet<'_>| {
                        let split = self.named(split);
                        let cost = factors.replayed(prepared, &split, rounds);
                        let mut costs = [0; GROUPS];
                        costs[0] = cost.expect("machines with as many cores");
                        costs
                    };
                    sets.par_iter().map(replay).collect()
                }
            };
            for ((set, ..), learnt) in sets.iter().zip(learnt) {
                let known = self.known.entry(set.0).or_insert([UNKNOWN; GROUPS]);
                let learnt = learnt.iter().enumerate().filter(|(_, m)| **m != UNKNOWN);
                learnt.for_each(|(group, &misses)| known[group] = misses);
            }
            unknown = others;
            let elapsed = begun.elapsed();
            let next = match self.sets_at_a_time {
                count if elapsed < PACE / 2 => count * 2,
                count if elapsed > PACE => count / 2,
                count => count,
            };
            self.sets_at_a_time = next.clamp(1, SETS_AT_A_TIME);
            if self
                .kept
                .as_ref()
                .is_some_and(|(checkpoint, _)| checkpoint.is_due())
            {
                self.keep();
            }
        }
    }

    fn named(&self, split: &IndexedPlacement) -> Split {
        Split::new(named(split, &self.functions))
    }

    /// Returns the intervals on these cores; empty if splits are replayed in full.
    fn intervals(&self, sets: &[PlacedSet<'_>]) -> Vec<Intervals> {
        let of = |&(_, split, core): &PlacedSet<'_>| {
            let calls = self.calls.as_ref();
            calls.map(|calls| calls.intervals(split).swap_remove(core))
        };
        sets.iter().filter_map(of).collect()
    }

    /// Returns, by core, the key of its set; one key for the whole split if each is replayed in
    /// full.
    fn keys(&self, split: &IndexedPlacement) -> Vec<Key> {
        match &self.calls {
            Some(calls) => calls.keys(split),
            None => {
                let of = |&(function, core): &(u32, u32)| {
                    random(u64::from(core) << 32 | u64::from(function))
                };
                vec![split.iter().map(of).fold(0, |key, of| key ^ of)]
            }
        }
    }
}
