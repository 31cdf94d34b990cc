//! Prefetched lines that nobody has used yet, by the L2 that has them, and what became of others.

use crate::timing::outcome::PrefetchCounters;
use crate::{CoreId, LineId};
use std::collections::HashMap;

/// A line on its way to an L2, or there.
#[derive(Clone, Copy)]
pub(crate) struct Prefetched {
    /// The core whose reference asked for it.
    pub asked_by: CoreId,
    /// When it is there.
    pub arrives: u64,
}

/// All of them.
pub(crate) struct Unused {
    /// By L2 and line.
    lines: HashMap<(usize, LineId), Prefetched>,
    counters: Vec<PrefetchCounters>,
}

impl Unused {
    /// None, of so many cores.
    pub fn new(cores: usize) -> Unused {
        Unused {
            lines: HashMap::new(),
            counters: vec![PrefetchCounters::default(); cores],
        }
    }

    /// An L2 is brought a line.
    pub fn brought(&mut self, l2: usize, line: LineId, prefetched: Prefetched) {
        self.counters[prefetched.asked_by.index()].issued += 1;
        self.lines.insert((l2, line), prefetched);
    }

    /// A reference of `core` finds the line in the L2: what it waits for, if that is so.
    pub fn used(&mut self, l2: usize, core: CoreId, line: LineId) -> Option<Prefetched> {
        let prefetched = self.lines.remove(&(l2, line))?;
        self.counters[core.index()].useful += 1;
        Some(prefetched)
    }

    /// A used line has kept a reference of `core` so many cycles longer than one that is there.
    pub fn was_late(&mut self, core: CoreId, cycles: u64) {
        self.counters[core.index()].late += 1;
        self.counters[core.index()].late_cycles += cycles;
    }

    /// An L2 has lost a line.
    pub fn lost(&mut self, l2: usize, line: LineId) {
        if let Some(prefetched) = self.lines.remove(&(l2, line)) {
            self.counters[prefetched.asked_by.index()].unused += 1;
        }
    }

    /// Counts afresh; the lines stay.
    pub fn start_counting(&mut self) {
        self.counters.fill(PrefetchCounters::default());
    }

    /// By core.
    pub fn counters(&self) -> &[PrefetchCounters] {
        &self.counters
    }
}
