//! How many L2 misses a split costs, without replaying it.
//!
//! The private misses of a split are a sum over cores of what each misses alone, and that is a sum
//! over residues of a function of the occurrences that run on the core and touch lines of the
//! residue ([`corehop_simulator::Alone`] says why). Splits share most of their cores' sets, and
//! sets that differ share most residues: with candidates called in a fixed order a set is an
//! interval between two of them, and two functions called close together differ in few lines. So
//! both are remembered, and only what was never asked before is simulated.
//!
//! A set is known by the exclusive or of random 128-bit numbers, one an occurrence (Zobrist
//! hashing): that of an interval is the difference of two prefixes, so that a split's sets cost one
//! step a call. That two of a million sets meet has a probability below 10^-26; sets themselves as
//! keys were most of the time of a search.
//!
//! Where cores share an L2 no core is alone, and every split is replayed in full.
//!
//! A batch of splits is evaluated in passes: find the sets not yet known, simulate them residue by
//! residue, each on one host thread, add up. Threads never wait for each other, and the result
//! cannot depend on their number.

use corehop_simulator::{Alone, CacheLevel, Machine, Prepared, Split, Tally};
use corehop_traces::Kind;
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

/// How often the searched requests are replayed in a row; all rounds count. Ten requests are too
/// few to warm the caches: in one round most misses are first touches, which every further core
/// repeats, and ranking by them shies away from splits that win in a long run.
pub const ROUNDS: usize = 2;

/// A split under evaluation: indices of the searched functions, ascending; the one at index `i`
/// has core `i`.
pub type Choice = Vec<u32>;

/// A set of occurrences.
type Key = u128;

/// Evaluates splits of one trace on one machine.
pub struct Evaluator<'a> {
    source: Source<'a>,
    functions: Vec<u32>,
    threads: Vec<Thread>,
    prefixes: Prefixes,
    residues: Vec<Residue>,
    /// L2 misses of one core on which a set runs.
    known: HashMap<Key, u64, BuildHasherDefault<KeyHasher>>,
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
    known: HashMap<Key, u64, BuildHasherDefault<KeyHasher>>,
}

/// The occurrences of one core, as intervals.
type Intervals = Vec<(u32, u32)>;

/// Sets simulated at a time: few enough that they fit the host's cache.
const SETS_AT_A_TIME: usize = 1 << 10;

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
        }
    }

    /// For a machine whose cores share an L2: every split is replayed in full.
    pub fn in_full(prepared: &'a Prepared, machine: &'a Machine, functions: &[u32]) -> Self {
        Evaluator {
            source: Source::InFull(prepared, machine),
            functions: functions.to_vec(),
            threads: Vec::new(),
            prefixes: Prefixes(Vec::new()),
            residues: Vec::new(),
            known: HashMap::from_iter([(0, 0)]),
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

    /// L2 misses of each split, summed over cores.
    pub fn evaluate(&mut self, splits: &[Choice]) -> Vec<u64> {
        let this = &*self;
        if let Source::InFull(prepared, machine) = this.source {
            let misses = |split| this.replayed(prepared, machine, split);
            return splits.par_iter().map(misses).collect();
        }
        let unknown = splits.par_iter().flat_map_iter(|split| {
            let keys = this.keys(split).into_iter().enumerate();
            let unknown = keys.filter(|(_, key)| !this.known.contains_key(key));
            unknown.map(move |(core, key)| (key, (split, core)))
        });
        let unknown = unknown.collect();
        self.learn(unknown);
        let sum = |split| self.keys(split).iter().map(|key| self.known[key]).sum();
        splits.par_iter().map(sum).collect()
    }

    fn replayed(&self, prepared: &Prepared, machine: &Machine, split: &Choice) -> u64 {
        let functions = split.iter().map(|&index| self.functions[index as usize]);
        let replay = prepared.replay_rounds(machine, &Split::new(functions.zip(0..)), ROUNDS);
        let replay = replay.expect("a machine with as many cores");
        replay.counters.l2.misses()
    }

    /// L2 misses of one core of each of these splits.
    ///
    /// # Panics
    /// When splits are replayed in full.
    pub fn evaluate_cores(&mut self, cores: &[(&Choice, usize)]) -> Vec<u64> {
        let key = |&(split, core): &(&Choice, usize)| self.keys(split)[core];
        let keys: Vec<Key> = cores.par_iter().map(key).collect();
        let sets = keys.iter().copied().zip(cores.iter().copied());
        let unknown = sets.filter(|(key, _)| !self.known.contains_key(key));
        self.learn(unknown.collect());
        keys.iter().map(|key| self.known[key]).collect()
    }

    /// Simulates sets, each that of a core of a split.
    fn learn(&mut self, mut unknown: Vec<(Key, (&Choice, usize))>) {
        let mut met = HashSet::new();
        unknown.retain(|set| met.insert(set.0));
        for sets in unknown.chunks(SETS_AT_A_TIME) {
            let intervals = |&(_, (split, core)): &(Key, (&Choice, usize))| {
                self.intervals(split).swap_remove(core)
            };
            let intervals: Vec<Intervals> = sets.iter().map(intervals).collect();
            let misses = self.simulate(&intervals);
            let keys = sets.iter().map(|&(key, _)| key);
            self.known.extend(keys.zip(misses));
        }
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

    /// By core, the occurrences that run there.
    fn keys(&self, split: &Choice) -> Vec<Key> {
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

/// The keys of the sets of the first so many occurrences.
struct Prefixes(Vec<Key>);

impl Prefixes {
    /// Of the occurrences that count.
    fn of(counts: impl Iterator<Item = bool>) -> Prefixes {
        let mut key = 0;
        let following = (0..).zip(counts).map(|(occurrence, counts)| {
            if counts {
                key ^=
                    u128::from(mixed(2 * occurrence)) << 64 | u128::from(mixed(2 * occurrence + 1));
            }
            key
        });
        Prefixes([0].into_iter().chain(following).collect())
    }

    fn key(&self, set: &[(u32, u32)]) -> Key {
        let of = |&(begin, end): &(u32, u32)| self.0[begin as usize] ^ self.0[end as usize];
        set.iter().map(of).fold(0, |key, of| key ^ of)
    }
}

/// The `index`th number of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014).
fn mixed(index: u64) -> u64 {
    let mixed = (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Keys are random already.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }
}
