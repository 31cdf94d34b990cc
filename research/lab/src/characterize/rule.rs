//! Curto's rule of thumb as a number.
//!
//! Curto, section 6.2, gives no formula. The saving is *directly related* to the share of lines
//! that are phase-local and session-global, with their update ratio (coherence), and to the share
//! that is phase-local (capacity). The loss is related to the share that is phase-global and
//! session-local. The straightforward reading is their sum, all as shares of the server's data
//! lines:
//!
//! ```text
//! score = PL/SG x its update ratio + PL - PG/SL
//! ```
//!
//! It grows with the amount that moves along with the function. It is therefore largest for a
//! function that takes everything, which leaves the other core idle. [`Parts::balanced`] replaces
//! the capacity by the smaller of the two sides' private lines, including code.

use crate::characterize::classes::{FunctionClasses, Totals};

/// The parts of the rule, as shares of the server's lines.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    /// Phase-local and session-global lines, times their update ratio: coherence misses that would
    /// be saved.
    pub coherence: f64,
    /// Phase-local lines: capacity that would be saved.
    pub capacity: f64,
    /// Phase-global and session-local lines: locality that would be lost.
    pub locality: f64,
    /// The smaller of the lines that only the function accessed and those that it never accessed,
    /// of data and code.
    pub smaller_side: f64,
}

impl Parts {
    /// Computes the parts of a function. If sessions cannot be distinguished, nothing is
    /// session-global, and only the capacity is meaningful.
    pub fn of(classes: &FunctionClasses, totals: &Totals, are_sessions_told_apart: bool) -> Parts {
        let share = |lines: u64, of: u64| lines as f64 / of.max(1) as f64;
        let data = &classes.data;
        let all = totals.data.lines;
        let shared = data.of(false, true);
        let (coherence, locality) = match are_sessions_told_apart {
            false => (0.0, 0.0),
            true => (
                share(shared.lines, all) * shared.update_ratio().unwrap_or(0.0),
                share(data.of(true, false).lines, all),
            ),
        };
        let lines = all + totals.code.lines;
        let own = data.both(false).lines + classes.code.both(false).lines;
        let touched = data.all().lines + classes.code.all().lines;
        Parts {
            coherence,
            capacity: share(data.both(false).lines, all),
            locality,
            smaller_side: share(own.min(lines - touched), lines),
        }
    }

    /// Returns the value of the rule.
    pub fn score(&self) -> f64 {
        self.coherence + self.capacity - self.locality
    }

    /// Returns the rule with the smaller side's share in place of the capacity.
    pub fn balanced(&self) -> f64 {
        self.coherence + self.smaller_side - self.locality
    }
}
