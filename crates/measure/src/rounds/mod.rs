//! Rounds, in which original and patched alternate, and their combined result.

mod contest;
mod groups;
mod interval;
mod noise;
mod race;
mod settled;
mod standing;
mod turns;

pub use contest::{Contest, Contestant, Measured};
pub use groups::Group;
pub use interval::{CONFIDENCE, Comparison, TELLING_PERCENT, Verdict};
pub use race::{Assumption, Decision, Raced};
pub use settled::{Answer, Limits, Question, Rule};
pub use standing::{Outlook, Stage, Standing};
pub use turns::{Round, Rounds, take_turns};

/// Returns the upper median; 0 for no values.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
