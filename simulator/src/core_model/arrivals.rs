//! When lines arrive that loads bring to an L1.
//!
//! The caches hold a line from the reference that misses it on. In time, it arrives when that
//! reference is done, and a load that hits it meanwhile has to wait for it.

use crate::ids::LineId;

/// The arrivals at a core. Times are in the unit of the model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrivals {
    /// By line: when it arrives for the last load that missed it.
    of_line: Vec<u64>,
    latest: u64,
}

impl Arrivals {
    /// Records when a line arrives.
    #[inline(always)]
    pub fn push(&mut self, line: LineId, arrives: u64) {
        if line.index() >= self.of_line.len() {
            self.of_line.resize(line.index() + 1, 0);
        }
        self.of_line[line.index()] = arrives;
        self.latest = self.latest.max(arrives);
    }

    /// Returns when a line that the L1 holds arrives, if that may be after `now`; otherwise 0.
    #[inline(always)]
    pub fn of(&self, line: LineId, now: u64) -> u64 {
        match self.latest > now {
            true => self.of_line.get(line.index()).copied().unwrap_or(0),
            false => 0,
        }
    }
}
