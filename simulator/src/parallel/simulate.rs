//! The inner loop of a replay: runs one hierarchy's references through its caches.

use super::piece_placement::Cores;
use super::set_partition::SetPartition;
use super::watch::Watch;
use crate::filters::entry::{Entry, PIECE, kind, line};
use crate::hierarchy::Hierarchy;
use crate::hierarchy::geometry::Geometry;
use crate::hierarchy::state::HierarchyState;
use crate::ids::CoreId;
use crate::report::tally::Tally;

/// A hierarchy, its position in its stream, and its watch.
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

    /// Simulates the entries of consecutive pieces that run on `cores`; the first has the index
    /// `first_piece`. The set partition's lines are those of all entries so far.
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
        // Counting begins at the mark of the first counted piece.
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

    /// Returns the misses of each core.
    pub fn tally(&self) -> &[Tally] {
        self.hierarchy.tally()
    }

    /// Returns the watch, with only counted events; it is reset if counting never began.
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

/// Simulates the references in `entries`, which begin on `core`. At the mark of a piece, `core_of`
/// returns its core. Returns the last core.
///
/// A separate function, so that the compiler can see that the geometry does not change.
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

/// Sums each core's tally over all set partitions.
pub(crate) fn sum<'t>(cores: u32, set_partitions: impl Iterator<Item = &'t [Tally]>) -> Vec<Tally> {
    let mut sums = vec![Tally::default(); cores as usize];
    for tallies in set_partitions {
        sums.iter_mut()
            .zip(tallies)
            .for_each(|(sum, tally)| *sum += tally);
    }
    sums
}
