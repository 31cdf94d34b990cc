//! The loop in which a replay spends its time: one hierarchy's references through its caches.

use super::piece_placement::Cores;
use super::set_partition::SetPartition;
use super::watch::Watch;
use crate::filters::entry::{Entry, PIECE, kind, line};
use crate::hierarchy::Hierarchy;
use crate::hierarchy::geometry::Geometry;
use crate::hierarchy::state::HierarchyState;
use crate::ids::CoreId;
use crate::report::tally::Tally;

/// A hierarchy, where in its stream it is, and who watches it.
pub(crate) struct Simulation<W> {
    hierarchy: Hierarchy,
    lines: usize,
    core: CoreId,
    watch: W,
}

impl<W: Watch> Simulation<W> {
    pub fn new(hierarchy: Hierarchy) -> Simulation<W> {
        Simulation {
            hierarchy,
            lines: 0,
            core: CoreId(0),
            watch: W::default(),
        }
    }

    /// Simulates the entries of some consecutive pieces, the first of which has index
    /// `first_piece`; they run on `cores`. The set partition's lines are those of all entries so
    /// far.
    pub fn run(
        &mut self,
        set_partition: &SetPartition,
        entries: &[Entry],
        first_piece: usize,
        cores: &Cores,
    ) {
        let quotients = set_partition.lines.numbers();
        self.hierarchy.register(&quotients[self.lines..]);
        self.watch.register(set_partition.line_numbers(self.lines));
        self.lines = quotients.len();
        // The last reference before counting begins is that before the first mark of a counted
        // piece.
        let first_counted = cores.first_counted.map(|index| first_piece + index);
        let is_counted =
            |entry: &Entry| entry & 3 == PIECE && Some((entry >> 2) as usize) >= first_counted;
        let uncounted = match first_counted {
            Some(_) => entries.iter().position(is_counted).unwrap_or(entries.len()),
            None => 0,
        };
        self.run_some(&entries[..uncounted], first_piece, &cores.cores);
        if first_counted.is_some() {
            self.hierarchy.start_counting();
            self.watch.start_counting();
        }
        self.run_some(&entries[uncounted..], first_piece, &cores.cores);
    }

    /// What each core missed.
    pub fn tally(&self) -> &[Tally] {
        self.hierarchy.tally()
    }

    /// What its watch saw of what counts, which is nothing where counting never began.
    pub fn into_watch(mut self, is_counting: bool) -> W {
        if !is_counting {
            self.watch.start_counting();
        }
        self.watch
    }

    fn run_some(&mut self, entries: &[Entry], first_piece: usize, cores: &[CoreId]) {
        let (geometry, state) = self.hierarchy.parts();
        let core = |entry: Entry| cores[(entry >> 2) as usize - first_piece];
        let parts = (geometry, state, &mut self.watch);
        self.core = run(parts, self.core, entries, core);
    }
}

/// The references among `entries`, of `core` at first; at a piece's mark, `core_of` says of which
/// core. Gives the last.
///
/// A function of its own, so that a compiler sees that nothing changes the geometry meanwhile.
#[inline(never)]
fn run<W: Watch>(
    (geometry, state, watch): (&Geometry, &mut HierarchyState, &mut W),
    mut core: CoreId,
    entries: &[Entry],
    core_of: impl Fn(Entry) -> CoreId,
) -> CoreId {
    let mut view = &geometry.core_views[core.index()];
    for &entry in entries {
        if entry & 3 == PIECE {
            core = core_of(entry);
            view = &geometry.core_views[core.index()];
            continue;
        }
        state.access((geometry, view), kind(entry), line(entry), watch);
    }
    core
}

/// Each core's tally, from those of all set partitions.
pub(crate) fn sum<'t>(cores: u32, set_partitions: impl Iterator<Item = &'t [Tally]>) -> Vec<Tally> {
    let mut sums = vec![Tally::default(); cores as usize];
    for tallies in set_partitions {
        sums.iter_mut()
            .zip(tallies)
            .for_each(|(sum, tally)| *sum += tally);
    }
    sums
}
