//! Private-cache replay: one core of a split is simulated without the others.
//!
//! An *occurrence* is what a thread did between two functions at which it may move. What a core's
//! private caches miss depends only on *which occurrences run on it*: its own references come in
//! replay order, and a store by any other core, whichever that is, removes the line. So the misses
//! of a split are the sum of what each of its cores misses by itself, as long as no cores share an
//! L2 and no inclusive L3 takes lines back. What a core misses is a sum over set partitions, and
//! each term depends only on the occurrences that reference lines of that set partition. Whoever
//! asks about many sets of occurrences can therefore ask set partition by set partition, and
//! remember the answers.
//!
//! Of an occurrence that runs on another core only the stores are seen, each line once. Replaying
//! all cores to read off one was rejected: it costs as many times more as there are cores.

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

/// What a thread did between two functions at which it may move, or ends of their calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The thread.
    pub thread: ThreadId,
    /// The function whose entry began it; `None` for what a thread did before its first, or since a
    /// call ended.
    pub entered: Option<FunctionId>,
}

/// A prepared trace, some rounds of it, as seen by one core of a machine.
pub struct PrivateReplay {
    occurrences: Vec<Occurrence>,
    set_partitions: Vec<PartitionReplay>,
    /// Most lines of one set of the L2 that the private caches hold at a time.
    pub(super) held_lines: u32,
}

/// The lines of one set partition.
struct PartitionReplay {
    /// One core's empty private caches, which know the lines.
    core: Hierarchy,
    /// By line, its set in the L2, of those that the set partition has.
    l2_sets: Vec<u32>,
    entries: Vec<Entry>,
    /// Lines stored to, distinct within a chunk.
    stores: Vec<LineId>,
    chunks: Vec<OccurrenceChunk>,
    /// By occurrence.
    referenced: Vec<bool>,
}

/// Consecutive references of one occurrence.
struct OccurrenceChunk {
    occurrence: u32,
    /// Where its references are among the entries.
    entries: std::ops::Range<u32>,
    /// Where its stored lines end; they begin where those before it end.
    stores_end: u32,
}

impl PrivateReplay {
    /// For cores of `machine` that replay `prepared` `rounds` times over. `None` when cores share
    /// an L2: then no core can be simulated without its neighbours.
    ///
    /// # Panics
    /// As [`Prepared::replay`], when it was prepared for other machines.
    pub fn new(prepared: &Prepared, machine: &Machine, rounds: usize) -> Option<PrivateReplay> {
        let of_pieces = || occurrences(prepared, rounds);
        PrivateReplay::with(prepared, machine, of_pieces)
    }

    /// The same for splits that delegate calls. What a thread does between two entries or returns
    /// is an occurrence; they are in replay order, as [`Prepared::cores`] has them.
    ///
    /// # Panics
    /// As [`PrivateReplay::new`].
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

    /// With these occurrences, and round after round the occurrence of each piece.
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

    /// Thread by thread in the order of their numbers, each thread's in its own order.
    pub fn occurrences(&self) -> &[Occurrence] {
        &self.occurrences
    }

    /// Number of lines of `set_partition` referenced: whatever runs where, each misses at least
    /// once in some L2.
    ///
    /// # Panics
    /// When there are not so many set partitions.
    pub fn lines(&self, set_partition: usize) -> u64 {
        self.l2_sets(set_partition).len() as u64
    }

    /// Number of references that a core goes through on which everything runs.
    pub fn references(&self) -> usize {
        let chunks = self
            .set_partitions
            .iter()
            .flat_map(|set_partition| &set_partition.chunks);
        chunks.map(|chunk| chunk.entries.len()).sum()
    }

    /// Number of set partitions.
    pub fn set_partitions(&self) -> usize {
        self.set_partitions.len()
    }

    /// By occurrence, whether it references lines of `set_partition`; no other occurrence matters
    /// there.
    ///
    /// # Panics
    /// When there are not so many set partitions.
    pub fn referenced(&self, set_partition: usize) -> &[bool] {
        &self.set_partitions[set_partition].referenced
    }

    /// What a core misses on lines of `set_partition` when exactly the occurrences run on it that
    /// `runs` says; `runs` has one entry an occurrence.
    ///
    /// # Panics
    /// When there are not so many set partitions, or `runs` is too short.
    pub fn tally(&self, set_partition: usize, runs: &[bool]) -> Tally {
        self.set_partitions[set_partition].tally(runs)
    }

    /// By line of `set_partition`, its set in the L2.
    pub(super) fn l2_sets(&self, set_partition: usize) -> &[u32] {
        &self.set_partitions[set_partition].l2_sets
    }

    /// Tells every reference of `set_partition` in replay order, with the occurrence that it
    /// belongs to.
    pub(super) fn each_reference(&self, set_partition: usize, mut tell: impl FnMut(u32, Entry)) {
        let set_partition = &self.set_partitions[set_partition];
        for chunk in &set_partition.chunks {
            let entries = chunk.entries.start as usize..chunk.entries.end as usize;
            let entries = set_partition.entries[entries].iter();
            entries.for_each(|&entry| tell(chunk.occurrence, entry));
        }
    }

    /// Bytes of memory it takes, without the caches.
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
    /// `of_pieces` says, round after round, which of the `occurrences` each piece belongs to.
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

    /// A function of its own, so that a compiler sees that nothing changes the geometry meanwhile.
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

/// Most lines of one set of the L2 that a core's private caches hold at a time: the ways of the L2,
/// and where it need not include the L1s also all of theirs in a set partition.
fn held_lines(machine: &Machine, set_partition_count: u64) -> u32 {
    let of_set_partition = |level: &Level| level.ways * (level.sets() / set_partition_count) as u32;
    let l2 = machine.l2.ways;
    match machine.l2.inclusion {
        Inclusion::Inclusive => l2,
        _ => l2 + of_set_partition(&machine.l1i) + of_set_partition(&machine.l1d),
    }
}

/// The occurrences, and round after round the occurrence of each piece.
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
