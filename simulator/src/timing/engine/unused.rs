//! Prefetched lines that are still unused, by their L2, and counts of the other prefetches.

use crate::timing::outcome::PrefetchCounters;
use crate::{CoreId, LineId};
use std::collections::HashMap;

/// A line in an L2, or on its way to it.
#[derive(Clone, Copy)]
pub(crate) struct Prefetched {
    /// The core whose reference requested it.
    pub asked_by: CoreId,
    /// The cycle at which it arrives.
    pub arrives: u64,
}

/// All unused prefetched lines.
pub(crate) struct Unused {
    /// By L2 and line.
    lines: HashMap<(usize, LineId), Prefetched>,
    counters: Vec<PrefetchCounters>,
}

impl Unused {
    /// Creates an empty set for `cores` cores.
    pub fn new(cores: usize) -> Unused {
        Unused {
            lines: HashMap::new(),
            counters: vec![PrefetchCounters::default(); cores],
        }
    }

    /// Records that a line is brought into an L2.
    pub fn brought(&mut self, l2: usize, line: LineId, prefetched: Prefetched) {
        self.counters[prefetched.asked_by.index()].issued += 1;
        self.lines.insert((l2, line), prefetched);
    }

    /// Records that a reference of `core` hits the line in the L2; returns its prefetch if it was
    /// unused.
    pub fn used(&mut self, l2: usize, core: CoreId, line: LineId) -> Option<Prefetched> {
        let prefetched = self.lines.remove(&(l2, line))?;
        self.counters[core.index()].useful += 1;
        Some(prefetched)
    }

    /// Records that a prefetched line delayed a reference of `core` by `cycles` more than a present
    /// line.
    pub fn was_late(&mut self, core: CoreId, cycles: u64) {
        self.counters[core.index()].late += 1;
        self.counters[core.index()].late_cycles += cycles;
    }

    /// Records that an L2 lost a line.
    pub fn lost(&mut self, l2: usize, line: LineId) {
        if let Some(prefetched) = self.lines.remove(&(l2, line)) {
            self.counters[prefetched.asked_by.index()].unused += 1;
        }
    }

    /// Resets the counts; the lines stay.
    pub fn start_counting(&mut self) {
        self.counters.fill(PrefetchCounters::default());
    }

    /// Returns the counts of each core.
    pub fn counters(&self) -> &[PrefetchCounters] {
        &self.counters
    }
}
