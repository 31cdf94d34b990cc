//! Private-cache replay: simulates one core of a split without the others.
//!
//! An *occurrence* is what a thread executes between two functions at which it may move. The misses
//! of a core's private caches depend only on *which occurrences run on it*. Its own references come
//! in replay order, and a store by any other core removes the line. The misses of a split are
//! therefore the sum of the misses of each core alone. This holds if no cores share an L2 and no
//! inclusive L3 invalidates lines. The misses of a core are a sum over set partitions. Each term
//! depends only on the occurrences that reference lines of that set partition. A caller that
//! evaluates many sets of occurrences can therefore evaluate each set partition separately and
//! cache the results.
//!
//! For occurrences on other cores, only stores matter, and each line only once. Replaying all cores
//! to get the result of one was rejected: it costs a factor of the number of cores.

use crate::filters::entry::{self, Entry, kind, line};
use crate::filters::trace_reduction::Piece;
use crate::hierarchy::Hierarchy;
use crate::hierarchy::geometry::Geometry;
use crate::hierarchy::state::HierarchyState;
use crate::ids::LineId;
use crate::machine::{Inclusion, Level, Machine};
use crate::parallel::prepared::Prepared;
use crate::parallel::set_partition::SetPartition;
use crate::report::tally::Tally;
use corehop_traces::{FunctionId, Kind, ThreadId};
use rayon::prelude::*;

/// What a thread executes between two functions at which it may move, or ends of their calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The thread.
    pub thread: ThreadId,
    /// The function whose entry began it; `None` before the thread's first entry, or after a call
    /// ended.
    pub entered: Option<FunctionId>,
}

/// Some rounds of a prepared trace, as seen by one core of a machine.
pub struct PrivateReplay {
    occurrences: Vec<Occurrence>,
    set_partitions: Vec<PartitionReplay>,
    /// Maximum number of lines of one L2 set that the private caches hold at a time.
    pub(super) held_lines: u32,
}

/// The lines of one set partition.
struct PartitionReplay {
    /// One core's empty private caches, with the lines registered.
    core: Hierarchy,
    /// For each line of the set partition, its L2 set.
    l2_sets: Vec<u32>,
    entries: Vec<Entry>,
    /// Lines stored to, without duplicates within a chunk.
    stores: Vec<LineId>,
    chunks: Vec<OccurrenceChunk>,
    /// For each occurrence, whether it references lines of this set partition.
    referenced: Vec<bool>,
}

/// Consecutive references by one occurrence.
struct OccurrenceChunk {
    occurrence: u32,
    /// Range of its references in `entries`.
    entries: std::ops::Range<u32>,
    /// End of its lines in `stores`; they begin at the end of the previous chunk's.
    stores_end: u32,
}

impl PrivateReplay {
    /// Creates a replay for cores of `machine` that replay `prepared` `rounds` times. Returns
    /// `None` if cores share an L2, because then no core can be simulated without its neighbours.
    ///
    /// # Panics
    /// Like [`Prepared::replay`], if it was prepared for other machines.
    pub fn new(prepared: &Prepared, machine: &Machine, rounds: usize) -> Option<PrivateReplay> {
        let of_pieces = || occurrences(prepared, rounds);
        PrivateReplay::with(prepared, machine, of_pieces)
    }

    /// Creates the same for splits that delegate calls. Each piece between two entries or returns
    /// of a thread is an occurrence. Occurrences are in replay order, as in [`Prepared::cores`].
    ///
    /// # Panics
    /// Like [`PrivateReplay::new`].
    pub fn of_delegated(
        prepared: &Prepared,
        machine: &Machine,
        rounds: usize,
    ) -> Option<PrivateReplay> {
        let of_pieces = || {
            let occurrence = |piece: &Piece| Occurrence {
                thread: piece.thread,
                entered: piece.entered,
            };
            let occurrences: Vec<Occurrence> = prepared.pieces.iter().map(occurrence).collect();
            let each: Vec<u32> = (0..occurrences.len() as u32).collect();
            (occurrences, vec![each; rounds])
        };
        PrivateReplay::with(prepared, machine, of_pieces)
    }

    /// Creates a replay with these occurrences and, for each round, the occurrence of each piece.
    fn with(
        prepared: &Prepared,
        machine: &Machine,
        of_pieces: impl FnOnce() -> (Vec<Occurrence>, Vec<Vec<u32>>),
    ) -> Option<PrivateReplay> {
        if machine.l2.shared_by > 1 {
            return None;
        }
        prepared.check_machine(machine);
        let (occurrences, of_pieces) = of_pieces();
        let private = Machine {
            l3: None,
            ..machine.clone()
        };
        let geometry = Geometry::new(&private, 1, prepared.set_partition_count);
        let last_set = machine.l2.sets() / prepared.set_partition_count - 1;
        let replay_of = |(set_partition, entries): &(SetPartition, Vec<Entry>)| {
            let mut core = Hierarchy::new(&geometry);
            let lines = set_partition.lines.numbers();
            core.register(lines);
            let l2_sets = lines.iter().map(|quotient| (quotient & last_set) as u32);
            PartitionReplay::new(
                (core, l2_sets.collect()),
                entries,
                &of_pieces,
                occurrences.len(),
            )
        };
        let set_partitions = prepared.set_partitions.par_iter().map(replay_of).collect();
        Some(PrivateReplay {
            occurrences,
            set_partitions,
            held_lines: held_lines(machine, prepared.set_partition_count),
        })
    }

    /// Returns the occurrences, grouped by thread in numerical order; each thread's are in its own
    /// order.
    pub fn occurrences(&self) -> &[Occurrence] {
        &self.occurrences
    }

    /// Returns the number of referenced lines of `set_partition`. Under any split, each of them
    /// misses at least once in some L2.
    ///
    /// # Panics
    /// If `set_partition` is out of range.
    pub fn lines(&self, set_partition: usize) -> u64 {
        self.l2_sets(set_partition).len() as u64
    }

    /// Returns the number of references that a core processes if everything runs on it.
    pub fn references(&self) -> usize {
        let chunks = self
            .set_partitions
            .iter()
            .flat_map(|set_partition| &set_partition.chunks);
        chunks.map(|chunk| chunk.entries.len()).sum()
    }

    /// Returns the number of set partitions.
    pub fn set_partitions(&self) -> usize {
        self.set_partitions.len()
    }

    /// For each occurrence, returns whether it references lines of `set_partition`; the other
    /// occurrences do not affect that partition.
    ///
    /// # Panics
    /// If `set_partition` is out of range.
    pub fn referenced(&self, set_partition: usize) -> &[bool] {
        &self.set_partitions[set_partition].referenced
    }

    /// Returns the misses of a core on lines of `set_partition` if exactly the occurrences marked
    /// in `runs` run on it; `runs` has one entry for each occurrence.
    ///
    /// # Panics
    /// If `set_partition` is out of range, or `runs` is too short.
    pub fn tally(&self, set_partition: usize, runs: &[bool]) -> Tally {
        self.set_partitions[set_partition].tally(runs)
    }

    /// For each line of `set_partition`, returns its L2 set.
    pub(super) fn l2_sets(&self, set_partition: usize) -> &[u32] {
        &self.set_partitions[set_partition].l2_sets
    }

    /// Calls `tell` with every reference of `set_partition` in replay order, and with the
    /// occurrence that made it.
    pub(super) fn each_reference(&self, set_partition: usize, mut tell: impl FnMut(u32, Entry)) {
        let set_partition = &self.set_partitions[set_partition];
        for chunk in &set_partition.chunks {
            let entries = chunk.entries.start as usize..chunk.entries.end as usize;
            let entries = set_partition.entries[entries].iter();
            entries.for_each(|&entry| tell(chunk.occurrence, entry));
        }
    }

    /// Returns the memory size in bytes, without the caches.
    pub fn size_bytes(&self) -> usize {
        let of_set_partition = |set_partition: &PartitionReplay| {
            let references = set_partition.entries.capacity() + set_partition.stores.capacity();
            references * size_of::<u32>()
                + set_partition.chunks.capacity() * size_of::<OccurrenceChunk>()
                + set_partition.referenced.capacity()
        };
        self.set_partitions.iter().map(of_set_partition).sum()
    }
}

impl PartitionReplay {
    /// `of_pieces` holds, for each round, the index in `occurrences` of each piece.
    fn new(
        (core, l2_sets): (Hierarchy, Vec<u32>),
        entries: &[Entry],
        of_pieces: &[Vec<u32>],
        occurrences: usize,
    ) -> PartitionReplay {
        let mut set_partition = PartitionReplay {
            core,
            l2_sets,
            entries: Vec::new(),
            stores: Vec::new(),
            chunks: Vec::new(),
            referenced: vec![false; occurrences],
        };
        let mut pieces: Vec<(usize, u32)> = Vec::new();
        for (mark, references) in entry::pieces(entries) {
            pieces.push(((mark >> 2) as usize, set_partition.entries.len() as u32));
            set_partition.entries.extend(references);
        }
        set_partition.entries.shrink_to_fit();
        let ends = pieces.iter().skip(1).map(|&(_, start)| start);
        let ends: Vec<u32> = ends.chain([set_partition.entries.len() as u32]).collect();
        for of_pieces in of_pieces {
            for (&(piece, start), &end) in pieces.iter().zip(&ends) {
                set_partition.append(of_pieces[piece], start..end);
            }
        }
        set_partition.gather_stores();
        set_partition
    }

    fn append(&mut self, occurrence: u32, entries: std::ops::Range<u32>) {
        self.referenced[occurrence as usize] = true;
        match self.chunks.last_mut() {
            Some(last) if last.occurrence == occurrence && last.entries.end == entries.start => {
                last.entries.end = entries.end;
            }
            _ => self.chunks.push(OccurrenceChunk {
                occurrence,
                entries,
                stores_end: 0,
            }),
        }
    }

    fn gather_stores(&mut self) {
        let mut stored = Vec::new();
        for chunk in &mut self.chunks {
            let entries = chunk.entries.start as usize..chunk.entries.end as usize;
            let entries = self.entries[entries].iter();
            stored.extend(
                entries
                    .filter(|&&entry| kind(entry) == Kind::Store)
                    .map(|&entry| line(entry)),
            );
            stored.sort_unstable();
            stored.dedup();
            self.stores.append(&mut stored);
            chunk.stores_end = self.stores.len() as u32;
        }
    }

    fn tally(&self, runs: &[bool]) -> Tally {
        let mut hierarchy = self.core.clone();
        let (geometry, core) = hierarchy.parts();
        self.play(runs, geometry, core);
        hierarchy.tally()[0].clone()
    }

    /// A separate function, so that the compiler can see that the geometry does not change.
    #[inline(never)]
    fn play(&self, runs: &[bool], geometry: &Geometry, core: &mut HierarchyState) {
        let view = &geometry.core_views[0];
        let mut stores = 0;
        for chunk in &self.chunks {
            let stores_end = chunk.stores_end as usize;
            if runs[chunk.occurrence as usize] {
                let entries = chunk.entries.start as usize..chunk.entries.end as usize;
                for &entry in &self.entries[entries] {
                    core.access((geometry, view), kind(entry), line(entry), &mut ());
                }
            } else {
                for &line in &self.stores[stores..stores_end] {
                    core.store_elsewhere(geometry, line);
                }
            }
            stores = stores_end;
        }
    }
}

/// Returns the maximum number of lines of one L2 set that a core's private caches hold at a time:
/// the ways of the L2, plus all L1 ways in a set partition if the L2 need not include the L1s.
fn held_lines(machine: &Machine, set_partition_count: u64) -> u32 {
    let of_set_partition = |level: &Level| level.ways * (level.sets() / set_partition_count) as u32;
    let l2 = machine.l2.ways;
    match machine.l2.inclusion {
        Inclusion::Inclusive => l2,
        _ => l2 + of_set_partition(&machine.l1i) + of_set_partition(&machine.l1d),
    }
}

/// Returns the occurrences and, for each round, the occurrence of each piece.
fn occurrences(prepared: &Prepared, rounds: usize) -> (Vec<Occurrence>, Vec<Vec<u32>>) {
    let threads = prepared.pieces.iter().map(|piece| piece.thread.index() + 1);
    let mut of_threads: Vec<Vec<Occurrence>> = vec![Vec::new(); threads.max().unwrap_or(0)];
    let mut place = |piece: &Piece| {
        let of_thread = &mut of_threads[piece.thread.index()];
        if piece.entered.is_some() || of_thread.is_empty() {
            of_thread.push(Occurrence {
                thread: piece.thread,
                entered: piece.entered,
            });
        }
        of_thread.len() as u32 - 1
    };
    let mut of_pieces: Vec<Vec<u32>> = (0..rounds)
        .map(|_| prepared.pieces.iter().map(&mut place).collect())
        .collect();
    let mut firsts = Vec::new();
    let mut count = 0;
    for of_thread in &of_threads {
        firsts.push(count);
        count += of_thread.len() as u32;
    }
    for of_pieces in &mut of_pieces {
        for (occurrence, piece) in of_pieces.iter_mut().zip(&prepared.pieces) {
            *occurrence += firsts[piece.thread.index()];
        }
    }
    (of_threads.concat(), of_pieces)
}
