//! Progress after a round: what is being decided, the result so far, and how long a proof takes.
//!
//! After three rounds, the noise is roughly known. The noise and the time of a start give an
//! estimate of how long a proof of the smallest requested gain takes. The estimate is reported
//! once: nobody can plan by a figure that changes every round.

use super::interval::Comparison;
use super::settled::{Answer, Rule};
use std::time::Instant;

/// Number of rounds after which the time of a proof is estimated.
const ESTIMATED_AFTER: usize = 3;

/// What is being decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Which contestant continues.
    Choosing,
    /// The answer for the contestant that is left.
    Answering(Answer),
}

/// Intermediate result after a round.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The round's number, from 1 on.
    pub round: usize,
    /// Maximum number of rounds.
    pub most: usize,
    /// Purpose of the rounds.
    pub stage: Stage,
    /// The measured contestants, by number.
    pub contestants: Vec<(usize, Comparison)>,
}

/// Estimated time to prove the smallest requested gain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// That gain, in percent.
    pub percent: f64,
    /// Standard deviation of the rounds' ratios, in percent.
    pub noise_percent: f64,
    /// Total rounds needed.
    pub rounds: usize,
    /// Maximum number of rounds.
    pub most: usize,
    /// Time of the remaining rounds, in seconds.
    pub seconds: f64,
}

/// Number of starts so far, and the time they began.
pub(super) struct Pace {
    since: Instant,
    starts: usize,
}

impl Pace {
    pub(super) fn new() -> Pace {
        Pace {
            since: Instant::now(),
            starts: 0,
        }
    }

    pub(super) fn add(&mut self, starts: usize) {
        self.starts += starts;
    }

    /// Returns the outlook after these rounds, if it is due now. The next `rounds_of_all` rounds
    /// have `starts` starts each; later rounds have two.
    pub(super) fn outlook(
        &self,
        rule: &Rule,
        rounds: &[(f64, f64)],
        (rounds_of_all, starts): (usize, usize),
    ) -> Option<Outlook> {
        if rounds.len() != ESTIMATED_AFTER || !rule.may_end_early() {
            return None;
        }
        let percent = rule.smallest_percent();
        let needed = rule.rounds_to_prove(percent, rounds);
        let left = needed.saturating_sub(rounds.len());
        let of_all = rounds_of_all.min(left);
        let starts_left = of_all * starts + (left - of_all) * 2;
        let a_start = self.since.elapsed().as_secs_f64() / self.starts.max(1) as f64;
        Some(Outlook {
            percent,
            noise_percent: (Comparison::deviation(rounds).exp() - 1.0) * 100.0,
            rounds: needed,
            most: rule.most(),
            seconds: a_start * starts_left as f64,
        })
    }
}
