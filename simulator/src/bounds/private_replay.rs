//! One core of a split, simulated without the others: the term that a search adds up.
//!
//! What a core's private caches miss depends only on *which occurrences run on it*: its own touches
//! come in replay order, and every store elsewhere removes the line, whichever other core makes it.
//! An *occurrence* is what a thread did between two functions at which it may move. So the private
//! misses of a split are the sum, over its cores, of those of each core alone, as long as no core
//! shares an L2 and no inclusive L3 evicts. And a core's misses are a sum over residues, each of
//! which depends only on the occurrences that touch lines of that residue: whoever asks about many
//! sets of occurrences can ask residue by residue and remember the answers.
//!
//! Of an occurrence that runs elsewhere only its stores are seen, once each. To replay all cores
//! and read off one was rejected: it costs as many times more as there are cores.

use crate::filters::entry::{self, Entry, kind};
use crate::hierarchy::Hierarchy;
use crate::hierarchy::geometry::Geometry;
use crate::hierarchy::state::HierarchyState;
use crate::machine::{Inclusion, Level, Machine};
use crate::parallel::prepared::Prepared;
use crate::parallel::set_partition::Shard;
use crate::report::tally::Tally;
use corehop_traces::Kind;
use rayon::prelude::*;

/// What a thread did between two functions at which it may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The thread, as the trace numbers it.
    pub thread: u32,
    /// The function whose entry began it; `None` for what a thread did before its first.
    pub entered: Option<u32>,
}

/// A prepared trace, some rounds of it, as seen by one core of a machine.
pub struct Alone {
    occurrences: Vec<Occurrence>,
    residues: Vec<Residue>,
    /// Most lines of one set of the L2 that the private caches hold at a time.
    pub(super) held_lines: u32,
}

/// The lines of one residue.
struct Residue {
    /// One core's empty private caches, which know the lines.
    core: Hierarchy,
    /// By line, its set in the L2, of those that the residue has.
    l2_sets: Vec<u32>,
    entries: Vec<Entry>,
    /// Lines stored to, distinct within a stretch.
    stores: Vec<u32>,
    stretches: Vec<Stretch>,
    /// By occurrence.
    touched: Vec<bool>,
}

/// Consecutive touches of one occurrence.
struct Stretch {
    occurrence: u32,
    /// Where its touches are among the entries.
    entries: std::ops::Range<u32>,
    /// Where its stored lines end; they begin where those before it end.
    stores_end: u32,
}

impl Alone {
    /// For cores of `machine` that replay `prepared` `rounds` times over. `None` when cores share
    /// an L2: then no core can be simulated without its neighbours.
    ///
    /// # Panics
    /// As [`Prepared::replay`], when it was prepared for other machines.
    pub fn new(prepared: &Prepared, machine: &Machine, rounds: usize) -> Option<Alone> {
        if machine.l2.shared_by > 1 {
            return None;
        }
        prepared.check_machine(machine);
        let (occurrences, of_pieces) = occurrences(prepared, rounds);
        let private = Machine {
            l3: None,
            ..machine.clone()
        };
        let geometry = Geometry::new(&private, 1, prepared.residues);
        let last_set = machine.l2.sets() / prepared.residues - 1;
        let residue = |(shard, entries): &(Shard, Vec<Entry>)| {
            let mut core = Hierarchy::new(&geometry);
            let lines = shard.lines.numbers();
            core.register(lines);
            let l2_sets = lines.iter().map(|quotient| (quotient & last_set) as u32);
            Residue::new(
                (core, l2_sets.collect()),
                entries,
                &of_pieces,
                occurrences.len(),
            )
        };
        let residues = prepared.shards.par_iter().map(residue).collect();
        Some(Alone {
            occurrences,
            residues,
            held_lines: held_lines(machine, prepared.residues),
        })
    }

    /// Thread by thread in the order of their numbers, each thread's in its own order.
    pub fn occurrences(&self) -> &[Occurrence] {
        &self.occurrences
    }

    /// Number of lines of `residue` touched: whatever runs where, each misses at least once in some
    /// L2.
    ///
    /// # Panics
    /// When there are not so many residues.
    pub fn lines(&self, residue: usize) -> u64 {
        self.l2_sets(residue).len() as u64
    }

    /// Number of touches that a core goes through on which everything runs.
    pub fn touches(&self) -> usize {
        let stretches = self.residues.iter().flat_map(|residue| &residue.stretches);
        stretches.map(|stretch| stretch.entries.len()).sum()
    }

    /// Number of residues.
    pub fn residues(&self) -> usize {
        self.residues.len()
    }

    /// By occurrence, whether it touches lines of `residue`; no other occurrence matters there.
    ///
    /// # Panics
    /// When there are not so many residues.
    pub fn touched(&self, residue: usize) -> &[bool] {
        &self.residues[residue].touched
    }

    /// What a core misses on lines of `residue` when exactly the occurrences run on it that `runs`
    /// says; `runs` has one entry an occurrence.
    ///
    /// # Panics
    /// When there are not so many residues, or `runs` is too short.
    pub fn tally(&self, residue: usize, runs: &[bool]) -> Tally {
        self.residues[residue].tally(runs)
    }

    /// By line of `residue`, its set in the L2.
    pub(super) fn l2_sets(&self, residue: usize) -> &[u32] {
        &self.residues[residue].l2_sets
    }

    /// Tells every touch of `residue` in replay order, with the occurrence that it belongs to.
    pub(super) fn each_touch(&self, residue: usize, mut tell: impl FnMut(u32, Entry)) {
        let residue = &self.residues[residue];
        for stretch in &residue.stretches {
            let entries = stretch.entries.start as usize..stretch.entries.end as usize;
            let entries = residue.entries[entries].iter();
            entries.for_each(|&entry| tell(stretch.occurrence, entry));
        }
    }

    /// Bytes of memory it takes, without the caches.
    pub fn size_bytes(&self) -> usize {
        let of_residue = |residue: &Residue| {
            let touches = residue.entries.capacity() + residue.stores.capacity();
            touches * size_of::<u32>()
                + residue.stretches.capacity() * size_of::<Stretch>()
                + residue.touched.capacity()
        };
        self.residues.iter().map(of_residue).sum()
    }
}

impl Residue {
    /// `of_pieces` says, round after round, which of the `occurrences` each piece belongs to.
    fn new(
        (core, l2_sets): (Hierarchy, Vec<u32>),
        entries: &[Entry],
        of_pieces: &[Vec<u32>],
        occurrences: usize,
    ) -> Residue {
        let mut residue = Residue {
            core,
            l2_sets,
            entries: Vec::new(),
            stores: Vec::new(),
            stretches: Vec::new(),
            touched: vec![false; occurrences],
        };
        let mut pieces: Vec<(usize, u32)> = Vec::new();
        for (mark, touches) in entry::pieces(entries) {
            pieces.push(((mark >> 2) as usize, residue.entries.len() as u32));
            residue.entries.extend(touches);
        }
        residue.entries.shrink_to_fit();
        let ends = pieces.iter().skip(1).map(|&(_, start)| start);
        let ends: Vec<u32> = ends.chain([residue.entries.len() as u32]).collect();
        for of_pieces in of_pieces {
            for (&(piece, start), &end) in pieces.iter().zip(&ends) {
                residue.append(of_pieces[piece], start..end);
            }
        }
        residue.gather_stores();
        residue
    }

    fn append(&mut self, occurrence: u32, entries: std::ops::Range<u32>) {
        self.touched[occurrence as usize] = true;
        match self.stretches.last_mut() {
            Some(last) if last.occurrence == occurrence && last.entries.end == entries.start => {
                last.entries.end = entries.end;
            }
            _ => self.stretches.push(Stretch {
                occurrence,
                entries,
                stores_end: 0,
            }),
        }
    }

    fn gather_stores(&mut self) {
        let mut stored = Vec::new();
        for stretch in &mut self.stretches {
            let entries = stretch.entries.start as usize..stretch.entries.end as usize;
            let entries = self.entries[entries].iter();
            stored.extend(
                entries
                    .filter(|&&entry| kind(entry) == Kind::Store)
                    .map(|entry| entry >> 2),
            );
            stored.sort_unstable();
            stored.dedup();
            self.stores.append(&mut stored);
            stretch.stores_end = self.stores.len() as u32;
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
        for stretch in &self.stretches {
            let stores_end = stretch.stores_end as usize;
            if runs[stretch.occurrence as usize] {
                let entries = stretch.entries.start as usize..stretch.entries.end as usize;
                for &entry in &self.entries[entries] {
                    core.access((geometry, view), kind(entry), entry >> 2, &mut ());
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
/// and where it need not include the L1s also all of theirs in a residue.
fn held_lines(machine: &Machine, residues: u64) -> u32 {
    let of_residue = |level: &Level| level.ways * (level.sets() / residues) as u32;
    let l2 = machine.l2.ways;
    match machine.l2.inclusion {
        Inclusion::Inclusive => l2,
        _ => l2 + of_residue(&machine.l1i) + of_residue(&machine.l1d),
    }
}

/// The occurrences, and round after round the occurrence of each piece.
fn occurrences(prepared: &Prepared, rounds: usize) -> (Vec<Occurrence>, Vec<Vec<u32>>) {
    let threads = prepared.pieces.iter().map(|piece| piece.thread + 1).max();
    let mut of_threads: Vec<Vec<Occurrence>> = vec![Vec::new(); threads.unwrap_or(0) as usize];
    let mut place = |piece: &crate::filters::trace_reduction::Piece| {
        let of_thread = &mut of_threads[piece.thread as usize];
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
            *occurrence += firsts[piece.thread as usize];
        }
    }
    (of_threads.concat(), of_pieces)
}
