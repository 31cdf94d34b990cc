//! How many L2 misses a split costs, without replaying it.
//!
//! The private misses of a split are a sum over cores of what each misses alone, and that is a sum
//! over residues of a function of the occurrences that run on the core and touch lines of the
//! residue ([`corehop_simulator::Alone`] says why). Splits share most of their cores' sets, and
//! sets that differ share most residues: with candidates called in a fixed order a set is an
//! interval between two of them, and two functions called close together differ in few lines. So
//! both are remembered, and only what was never asked before is simulated.
//!
//! Where cores share an L2 no core is alone, and every split is replayed in full.
//!
//! A batch of splits is evaluated in passes: find the sets not yet known, simulate them residue by
//! residue, each on one host thread, add up. Threads never wait for each other, and the result
//! cannot depend on their number. Sets are simulated some at a time, as many as take a tenth of a
//! second, so that whoever wants the search to end does not wait, and what is known can be kept in
//! a [`Checkpoint`].

mod keys;

use crate::checkpoint::{Checkpoint, Costs, Subject};
use corehop_simulator::{Alone, CacheLevel, Machine, Prepared, Split, Tally};
use corehop_traces::Kind;
use keys::{ByKey, Key, Prefixes, random};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::{Duration, Instant};

/// How often the searched requests are replayed in a row; all rounds count. Ten requests are too
/// few to warm the caches: in one round most misses are first touches, which every further core
/// repeats, and ranking by them shies away from splits that win in a long run.
pub const ROUNDS: usize = 2;

/// A split under evaluation: indices of the searched functions, ascending; the one at index `i`
/// has core `i`.
pub type Choice = Vec<u32>;

/// Evaluates splits of one trace on one machine.
pub struct Evaluator<'a> {
    source: Source<'a>,
    functions: Vec<u32>,
    threads: Vec<Thread>,
    prefixes: Prefixes,
    residues: Vec<Residue>,
    /// L2 misses of one core on which a set runs; of a split, where each is replayed in full.
    known: ByKey<u64>,
    kept: Option<(&'a Checkpoint, Subject)>,
    sets_at_a_time: usize,
}

/// What tells the misses.
#[derive(Clone, Copy)]
enum Source<'a> {
    Alone(&'a Alone),
    InFull(&'a Prepared, &'a Machine),
}

/// One thread's occurrences, and the calls that begin them.
struct Thread {
    occurrences: Range<u32>,
    /// Function and occurrence.
    calls: Vec<(u32, u32)>,
}

/// What is known of the lines of one residue.
struct Residue {
    prefixes: Prefixes,
    known: ByKey<u64>,
}

/// The occurrences of one core, as intervals.
type Intervals = Vec<(u32, u32)>;

/// Most sets simulated at a time: few enough that they fit the host's cache.
const SETS_AT_A_TIME: usize = 1 << 10;

/// How long to simulate before the next look at the clock, about.
const PACE: Duration = Duration::from_millis(100);

impl<'a> Evaluator<'a> {
    /// For splits at any of `functions`, as the trace numbers them.
    pub fn new(alone: &'a Alone, functions: &[u32]) -> Self {
        let index_of: HashMap<u32, u32> = functions.iter().copied().zip(0..).collect();
        let count = alone.occurrences().len();
        let residue = |residue| Residue {
            prefixes: Prefixes::of(alone.touched(residue).iter().copied()),
            known: HashMap::from_iter([(0, 0)]),
        };
        Evaluator {
            source: Source::Alone(alone),
            functions: functions.to_vec(),
            threads: threads(alone, &index_of),
            prefixes: Prefixes::of((0..count).map(|_| true)),
            residues: (0..alone.residues()).map(residue).collect(),
            known: HashMap::from_iter([(0, 0)]),
            kept: None,
            sets_at_a_time: 1,
        }
    }

    /// For a machine whose cores share an L2: every split is replayed in full.
    pub fn in_full(prepared: &'a Prepared, machine: &'a Machine, functions: &[u32]) -> Self {
        Evaluator {
            source: Source::InFull(prepared, machine),
            functions: functions.to_vec(),
            threads: Vec::new(),
            prefixes: Prefixes::of(std::iter::empty()),
            residues: Vec::new(),
            known: HashMap::from_iter([(0, 0)]),
            kept: None,
            sets_at_a_time: 1,
        }
    }

    /// Whether every split is replayed in full.
    pub fn is_in_full(&self) -> bool {
        matches!(self.source, Source::InFull(..))
    }

    /// No split misses less: every line must come to some core once.
    pub fn floor(&self) -> u64 {
        match self.source {
            Source::Alone(alone) => alone.lines(),
            Source::InFull(..) => 0,
        }
    }

    /// Number of functions to choose from.
    pub fn functions(&self) -> usize {
        self.functions.len()
    }

    /// Keeps what it learns in `checkpoint`, and knows what was kept there of the same `subject`.
    pub fn keep_in(&mut self, checkpoint: &'a Checkpoint, subject: Subject) {
        if let Some(costs) = checkpoint.costs(&subject) {
            self.known.extend(costs.sets);
            let residues = self.residues.iter_mut().zip(costs.residues);
            residues.for_each(|(residue, known)| residue.known.extend(known));
        }
        self.kept = Some((checkpoint, subject));
    }

    /// Writes what is known into the checkpoint, if there is one.
    pub fn keep(&self) {
        if let Some((checkpoint, subject)) = &self.kept {
            let residues = self.residues.iter();
            let costs = Costs {
                sets: self.known.iter().map(|(&key, &cost)| (key, cost)).collect(),
                residues: residues
                    .map(|residue| {
                        residue
                            .known
                            .iter()
                            .map(|(&key, &cost)| (key, cost))
                            .collect()
                    })
                    .collect(),
            };
            checkpoint.keep(subject, costs);
        }
    }

    /// L2 misses of each split, summed over cores.
    pub fn evaluate(&mut self, splits: &[Choice]) -> Vec<u64> {
        let misses = self.evaluate_until(splits, &|| false).into_iter();
        misses
            .map(|misses| misses.expect("nothing ends it"))
            .collect()
    }

    /// The same until `is_over`, which is asked several times a second; `None` for splits that
    /// were not evaluated by then.
    pub fn evaluate_until(
        &mut self,
        splits: &[Choice],
        is_over: &dyn Fn() -> bool,
    ) -> Vec<Option<u64>> {
        let this = &*self;
        let unknown = splits.par_iter().flat_map_iter(|split| {
            let keys = this.keys(split).into_iter().enumerate();
            let unknown = keys.filter(|(_, key)| !this.known.contains_key(key));
            unknown.map(move |(core, key)| (key, (split, core)))
        });
        let unknown = unknown.collect();
        self.learn(unknown, is_over);
        let known = |key: &Key| self.known.get(key).copied();
        let sum = |split| self.keys(split).iter().map(known).sum();
        splits.par_iter().map(sum).collect()
    }

    fn replayed(&self, prepared: &Prepared, machine: &Machine, split: &Choice) -> u64 {
        let functions = split.iter().map(|&index| self.functions[index as usize]);
        let replay = prepared.replay_rounds(machine, &Split::new(functions.zip(0..)), ROUNDS);
        let replay = replay.expect("a machine with as many cores");
        replay.counters.l2.misses()
    }

    /// L2 misses of one core of each of these splits; `None` for those after `is_over`.
    ///
    /// # Panics
    /// When splits are replayed in full.
    pub fn evaluate_cores(
        &mut self,
        cores: &[(&Choice, usize)],
        is_over: &dyn Fn() -> bool,
    ) -> Vec<Option<u64>> {
        let key = |&(split, core): &(&Choice, usize)| self.keys(split)[core];
        let keys: Vec<Key> = cores.par_iter().map(key).collect();
        let sets = keys.iter().copied().zip(cores.iter().copied());
        let unknown = sets.filter(|(key, _)| !self.known.contains_key(key));
        self.learn(unknown.collect(), is_over);
        keys.iter()
            .map(|key| self.known.get(key).copied())
            .collect()
    }

    /// Simulates sets, each that of a core of a split, until `is_over`.
    fn learn(&mut self, mut unknown: Vec<(Key, (&Choice, usize))>, is_over: &dyn Fn() -> bool) {
        let mut met = HashSet::new();
        unknown.retain(|set| met.insert(set.0));
        let mut unknown = &unknown[..];
        while !unknown.is_empty() && !is_over() {
            let begun = Instant::now();
            let (sets, others) = unknown.split_at(self.sets_at_a_time.min(unknown.len()));
            let misses = self.misses(sets);
            let keys = sets.iter().map(|&(key, _)| key);
            self.known.extend(keys.zip(misses));
            unknown = others;
            let faster = self.sets_at_a_time * if begun.elapsed() < PACE { 2 } else { 1 };
            let slower = if begun.elapsed() > 2 * PACE {
                faster / 2
            } else {
                faster
            };
            self.sets_at_a_time = slower.clamp(1, SETS_AT_A_TIME);
            if self
                .kept
                .as_ref()
                .is_some_and(|(checkpoint, _)| checkpoint.is_due())
            {
                self.keep();
            }
        }
    }

    fn misses(&mut self, sets: &[(Key, (&Choice, usize))]) -> Vec<u64> {
        let this = &*self;
        if let Source::InFull(prepared, machine) = this.source {
            let misses = |&(_, (split, _)): &(Key, (&Choice, usize))| {
                this.replayed(prepared, machine, split)
            };
            return sets.par_iter().map(misses).collect();
        }
        let intervals =
            |&(_, (split, core)): &(Key, (&Choice, usize))| this.intervals(split).swap_remove(core);
        let intervals: Vec<Intervals> = sets.iter().map(intervals).collect();
        self.simulate(&intervals)
    }

    /// By thread, the functions it calls, one after the other.
    pub fn calls(&self) -> Vec<Vec<u32>> {
        let of = |thread: &Thread| thread.calls.iter().map(|&(function, _)| function).collect();
        self.threads.iter().map(of).collect()
    }

    /// Number of distinct sets asked about so far.
    pub fn sets_known(&self) -> usize {
        self.known.len() - 1
    }

    /// Number of simulations so far of one core and one residue.
    pub fn simulations(&self) -> usize {
        let known = self.residues.iter().map(|residue| residue.known.len() - 1);
        known.sum()
    }

    fn simulate(&mut self, sets: &[Intervals]) -> Vec<u64> {
        let Source::Alone(alone) = self.source else {
            panic!("where cores share an L2 none is alone");
        };
        let runs: Vec<Vec<bool>> = sets.iter().map(|set| runs(alone, set)).collect();
        let simulate = |(index, residue): (usize, &mut Residue)| -> Vec<u64> {
            let misses = |(set, runs): (&Intervals, &Vec<bool>)| {
                let key = residue.prefixes.key(set);
                let known = residue.known.entry(key);
                *known.or_insert_with(|| l2_misses(&alone.tally(index, runs)))
            };
            sets.iter().zip(&runs).map(misses).collect()
        };
        let residues = self.residues.par_iter_mut().enumerate().with_max_len(1);
        let by_residue: Vec<Vec<u64>> = residues.map(simulate).collect();
        let sum = |set: usize| by_residue.iter().map(|misses| misses[set]).sum();
        (0..sets.len()).map(sum).collect()
    }

    /// By core, the occurrences that run there; one key for the whole split where each is replayed
    /// in full.
    fn keys(&self, split: &Choice) -> Vec<Key> {
        if let Source::InFull(..) = self.source {
            let placed = (0..).zip(split);
            let placed = placed.map(|(core, &f): (u64, _)| random(core << 32 | u64::from(f)));
            return vec![placed.fold(0, |key, of| key ^ of)];
        }
        let mut keys = vec![0; split.len().max(1)];
        self.place(split, |core, occurrences| {
            keys[core] ^= self.prefixes.key(&[occurrences]);
        });
        keys
    }

    fn intervals(&self, split: &Choice) -> Vec<Intervals> {
        let mut intervals = vec![Intervals::new(); split.len().max(1)];
        self.place(split, |core, occurrences| intervals[core].push(occurrences));
        intervals
    }

    /// Tells where each occurrence runs, in intervals.
    fn place(&self, split: &Choice, mut tell: impl FnMut(usize, (u32, u32))) {
        let mut core_of = vec![u32::MAX; self.functions.len()];
        for (core, &function) in split.iter().enumerate() {
            core_of[function as usize] = core as u32;
        }
        for thread in &self.threads {
            let (mut core, mut begin) = (0, thread.occurrences.start);
            for &(function, occurrence) in &thread.calls {
                let to = core_of[function as usize];
                if to != u32::MAX && to != core {
                    tell(core as usize, (begin, occurrence));
                    (core, begin) = (to, occurrence);
                }
            }
            tell(core as usize, (begin, thread.occurrences.end));
        }
    }
}

fn threads(alone: &Alone, index_of: &HashMap<u32, u32>) -> Vec<Thread> {
    let mut threads: Vec<Thread> = Vec::new();
    let mut last = None;
    for (index, occurrence) in (0..).zip(alone.occurrences()) {
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
    threads
}

fn runs(alone: &Alone, set: &Intervals) -> Vec<bool> {
    let mut runs = vec![false; alone.occurrences().len()];
    for &(begin, end) in set {
        runs[begin as usize..end as usize].fill(true);
    }
    runs
}

fn l2_misses(tally: &Tally) -> u64 {
    let kinds = [Kind::Fetch, Kind::Load, Kind::Store];
    let misses = kinds.map(|kind| tally.misses(CacheLevel::L2, kind).total());
    misses.iter().sum()
}
