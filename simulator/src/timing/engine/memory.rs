//! The caches of all cores, what the engine observes of them, and the lines that it adds.

use super::watch::Watch;
use crate::hierarchy::geometry::Geometry;
use crate::prefetchers::prefetcher::Prefetcher;
use crate::timing::setting::Setting;
use crate::{Hierarchy, LineId, Lines, PageMap};

pub(crate) struct Memory<P> {
    pub hierarchy: Hierarchy,
    pub watch: Watch<P>,
    /// The lines of the streams, and those that only prefetches and page walks reference. Empty
    /// without these two.
    lines: Lines,
}

impl<P: Prefetcher> Memory<P> {
    /// Creates empty caches for the setting, whose streams reference the lines `numbers`.
    pub fn new(setting: &Setting<'_>, numbers: &[u64]) -> Memory<P> {
        let Setting { machine, cores, .. } = *setting;
        let mut geometry = Geometry::new(machine, cores, 1);
        if let Some(seed) = setting.random_pages {
            geometry = geometry.with_page_map(&PageMap::random(seed));
        }
        let mut hierarchy = Hierarchy::new(&geometry);
        hierarchy.register(numbers);
        let mut lines = Lines::new(1);
        if P::ASKS || setting.page_sizes.is_some() {
            numbers.iter().for_each(|&number| {
                lines.id(number, |_| {});
            });
        }
        Memory {
            hierarchy,
            watch: Watch::new(machine, cores, numbers.len(), setting.connections),
            lines,
        }
    }

    /// Returns the number of a line; only with prefetches or address translation.
    #[inline]
    pub fn number(&self, line: LineId) -> u64 {
        self.lines.numbers()[line.index()]
    }

    /// Returns the id of a line, which is added if it is new; only with prefetches or address
    /// translation.
    pub fn id(&mut self, number: u64) -> LineId {
        let (hierarchy, watch) = (&mut self.hierarchy, &mut self.watch);
        self.lines.id(number, |number| {
            hierarchy.line(number);
            watch.add_line();
        })
    }

    /// Resets the counts; the caches do not change.
    pub fn start_counting(&mut self) {
        self.hierarchy.start_counting();
        self.watch.start_counting();
    }
}
