//! Curto's rule of thumb as a number.
//!
//! Curto, section 6.2, has no formula: what is saved is *directly related* to the share of lines
//! that are phase-local and session-global, with their update ratio (coherence), and to the share
//! that is phase-local (capacity); what is lost, to the share that is phase-global and
//! session-local. The plain reading is their sum, all as shares of the server's data lines:
//!
//! ```text
//! score = PL/SG x its update ratio + PL - PG/SL
//! ```
//!
//! It grows with what goes along with the function, so it likes best a function that takes
//! everything, after which the other core is idle. [`Parts::balanced`] is the same with the smaller
//! of what each side keeps to itself, code included.

use crate::characterize::classes::{FunctionClasses, Totals};

/// What the rule is made of, as shares of the server's lines.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    /// Phase-local and session-global, times its update ratio: coherence that would be saved.
    pub coherence: f64,
    /// Phase-local: capacity that would be saved.
    pub capacity: f64,
    /// Phase-global and session-local: locality that would be lost.
    pub locality: f64,
    /// The smaller of what only the function touched and what it never touched, of data and code.
    pub smaller_side: f64,
}

impl Parts {
    /// Those of a function. Where sessions cannot be told apart, nothing is session-global, and
    /// only the capacity says anything.
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

    /// The rule.
    pub fn score(&self) -> f64 {
        self.coherence + self.capacity - self.locality
    }

    /// The rule with the smaller side's share in place of the capacity.
    pub fn balanced(&self) -> f64 {
        self.coherence + self.smaller_side - self.locality
    }
}
