//! What progress reports after a round: what is being decided, what it looks like so far, and how
//! long a proof takes.
//!
//! Noise is known after three rounds, roughly; from it and from the time of a start follows how
//! long the smallest gain that is asked for takes to be proven. It is said once: a figure that
//! changes every round is one that nobody can plan by.

use super::interval::Comparison;
use super::settled::{Answer, Rule};
use std::time::Instant;

/// Rounds after which the time of a proof is estimated.
const ESTIMATED_AFTER: usize = 3;

/// What is being decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Which contestant goes on.
    Choosing,
    /// What is to be said of the one that is left.
    Answering(Answer),
}

/// How things are after a round.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The round's number, from 1 on.
    pub round: usize,
    /// Rounds at most.
    pub most: usize,
    /// What they are for.
    pub stage: Stage,
    /// The contestants that were measured, by number.
    pub contestants: Vec<(usize, Comparison)>,
}

/// How long the smallest gain that is asked for takes to be proven.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// That gain.
    pub percent: f64,
    /// By how much rounds differ: the standard deviation of their ratios, in percent.
    pub noise_percent: f64,
    /// Rounds that it takes, of all.
    pub rounds: usize,
    /// Rounds at most.
    pub most: usize,
    /// Time that the rest of them takes.
    pub seconds: f64,
}

/// Starts so far, and how long they took.
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

    /// The outlook after these rounds, if now is the time for it. So many rounds are still to be of
    /// so many starts, those after them of two.
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
