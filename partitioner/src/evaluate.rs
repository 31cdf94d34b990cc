//! The cost of a split, as the sum of what each of its cores costs.
//!
//! A search compares up to millions of splits; replaying each of them would take hours. But a
//! split's cost is a sum over its cores: so much for each miss in a core's private caches, and for
//! each hop to it ([`crate::objective::UnitCosts`]). And what a core misses depends only on which
//! occurrences run on it, whatever the other cores share among themselves
//! ([`corehop_simulator::PrivateReplay`] says why; an occurrence is what a thread does from one
//! call of a candidate to the next). So each set of occurrences is simulated once, and its cost
//! remembered: most splits are made of sets that others had before them.
//!
//! A new set is often little work, too. Lines of different set partitions never meet in a cache, so
//! the misses of a core are a sum over set partitions, and in each only those occurrences count
//! that reference its lines. Take a split at `a` and `b`, and then one at `a` and `c`, where `c` is
//! always called soon after `b`: its sets differ by what runs between `b` and `c`. Only the set
//! partitions of the lines referenced there are simulated; those of all others are remembered.
//!
//! Splits are evaluated many at a time: look up all sets, simulate those that are not known, each
//! set partition on one host thread, and add up. Threads share nothing while they simulate, so the
//! result does not depend on their number. After about a tenth of a second of simulation the search
//! may end, and what was learnt goes to a [`Checkpoint`]. Several machines that are weighed against
//! each other ([`crate::weights`]) are further terms of the sum.
//!
//! Where cores share an L2, what one of them misses depends on its neighbour. Then nothing of this
//! holds, and every split is replayed in full.

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

/// How often so many searched requests are replayed in a row; all rounds count. Few requests do not
/// warm the caches: in one round of ten most misses are first references, which every further core
/// repeats, and ranking by them shies away from splits that win in a long run.
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
    /// By group of set partitions, what one core costs on which a set runs, hops in the first
    /// group, or [`UNKNOWN`]; of a split, in the first group, where each is replayed in full.
    known: ByKey<[u64; GROUPS]>,
    /// The same of sets in the checkpoint that nobody asked about so far.
    recalled: ByKey<[u64; GROUPS]>,
    lower_bounds: LowerBounds,
    kept: Option<(&'a Checkpoint, Subject)>,
    sets_at_a_time: usize,
}

/// What tells the cost.
#[derive(Clone, Copy)]
enum Source<'a> {
    /// At least one.
    PrivateReplay(&'a [Term]),
    /// And how many rounds.
    InFull(&'a Prepared, &'a Factors<'a>, usize),
}

/// Most sets simulated at a time: few enough that they fit the host's cache.
const SETS_AT_A_TIME: usize = 1 << 10;

/// How long to simulate before the next look at the clock, about.
const PACE: Duration = Duration::from_millis(100);

impl<'a> Evaluator<'a> {
    /// For splits at any of `functions`.
    ///
    /// # Panics
    /// When there is no term.
    pub fn new(terms: &'a [Term], functions: &[FunctionId]) -> Self {
        let private_replay = &terms.first().expect("at least one machine").private_replay;
        Evaluator {
            calls: Some(CandidateCalls::of(private_replay, functions)),
            set_partitions: SetPartitions::of(private_replay),
            ..Evaluator::of(Source::PrivateReplay(terms), functions)
        }
    }

    /// Where cores of a machine share an L2: every split is replayed in full, `rounds` times in a
    /// row.
    pub fn in_full(
        prepared: &'a Prepared,
        factors: &'a Factors<'a>,
        functions: &[FunctionId],
        rounds: usize,
    ) -> Self {
        Evaluator::of(Source::InFull(prepared, factors, rounds), functions)
    }

    /// Of which nothing is known, neither calls nor set partitions.
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

    /// No split costs less: every line must come to some core once.
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

    /// Number of functions to choose from.
    pub fn functions(&self) -> usize {
        self.functions.len()
    }

    /// By thread, the functions it calls, one after the other; nothing where splits are replayed in
    /// full.
    pub fn calls(&self) -> Vec<Vec<u32>> {
        self.calls
            .as_ref()
            .map(CandidateCalls::by_thread)
            .unwrap_or_default()
    }

    /// Number of distinct sets asked about so far; of splits, where each is replayed in full.
    pub fn sets_known(&self) -> usize {
        self.known.len() - 1
    }

    /// Number of simulations so far of one core and one set partition.
    pub fn simulations(&self) -> usize {
        self.set_partitions.simulations()
    }

    /// Keeps what it learns in `checkpoint`, and knows what was kept there of the same `subject`.
    pub fn keep_in(&mut self, checkpoint: &'a Checkpoint, subject: Subject) {
        if let Some(costs) = checkpoint.costs(&subject) {
            let sets = costs.sets.into_iter();
            let is_news = |(set, _): &(Key, _)| !self.known.contains_key(set);
            self.recalled.extend(sets.filter(is_news));
            self.set_partitions.learn(costs.set_partitions);
        }
        self.kept = Some((checkpoint, subject));
    }

    /// Writes what is known into the checkpoint, if there is one.
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

    /// What each split costs, summed over cores.
    pub fn evaluate(&mut self, splits: &[IndexedPlacement]) -> Vec<u64> {
        let misses = self.evaluate_until(splits, &|| false).into_iter();
        misses
            .map(|misses| misses.expect("nothing ends it"))
            .collect()
    }

    /// The same until `is_over`, which is asked several times a second; `None` for splits that
    /// were not evaluated by then.
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

    /// What runs on these cores of splits; splits are not to be replayed in full.
    pub(crate) fn core_sets(&self, cores: &[(&IndexedPlacement, usize)]) -> Vec<CoreSet> {
        let set = |&(split, core): &(&IndexedPlacement, usize)| CoreSet(self.keys(split)[core]);
        cores.par_iter().map(set).collect()
    }

    /// By group, what each of these costs at least.
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

    /// What each of these costs on the lines of a group; `None` when it is over before all are
    /// simulated.
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

    /// Whether the checkpoint knows what a set costs that is asked about for the first time.
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

    /// What runs on these cores; nothing where splits are replayed in full.
    fn intervals(&self, sets: &[PlacedSet<'_>]) -> Vec<Intervals> {
        let of = |&(_, split, core): &PlacedSet<'_>| {
            let calls = self.calls.as_ref();
            calls.map(|calls| calls.intervals(split).swap_remove(core))
        };
        sets.iter().filter_map(of).collect()
    }

    /// By core, what runs there; one key for the whole split where each is replayed in full.
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
