//! The original and several contestants in turn: which does best, and by how much.
//!
//! A contestant is the server with a plan's hops, or with its system calls posted. First a
//! screening of all of them, a few rounds, in each of which the original runs once and every
//! contestant once. Then the one that did best, against the original, in rounds of its own until
//! its interval is narrow. What the screening measured has no part in that interval: the best of
//! several was in luck there more often than not. Rejected: the screening's rounds counted in with
//! a correction for the choice, which is as wide as what the few more rounds cost.

use super::interval::Comparison;
use super::turns::{Limits, Rounds, warm_turns};
use crate::server::Hops;
use crate::{Error, Sample, Setup, Side, Trials};
use corehop_plans::Plan;

/// Rounds of the screening: two say which of several is far better, and it does little harm to take
/// the second best of two that are not.
const SCREENED_ROUNDS: usize = 2;

/// What may make the server faster.
#[derive(Clone, Copy)]
pub enum Contestant<'a> {
    /// The hops of a plan.
    Plan(&'a Plan),
    /// Calls of libc that are posted, as `COREHOP_SYSCALLS` names them.
    SystemCalls(&'a str),
}

impl<'a> Contestant<'a> {
    fn trials(self, setup: Setup<'a>) -> Result<Trials<'a>, Error> {
        match self {
            Contestant::Plan(plan) => Trials::new(setup, Some(plan)),
            Contestant::SystemCalls(calls) => {
                let system_calls = Some(calls);
                Trials::new(
                    Setup {
                        system_calls,
                        ..setup
                    },
                    None,
                )
            }
        }
    }
}

/// What was measured.
pub struct Measured {
    /// Of the contestants, the one that did best.
    pub best: usize,
    /// Of each contestant in the screening; empty where there was but one.
    pub screened: Vec<Comparison>,
    /// The best one's rounds.
    pub rounds: Rounds,
    /// Of those rounds.
    pub comparison: Comparison,
    /// What its servers told of their hops in them, all together.
    pub hops: Option<Hops>,
}

impl Measured {
    /// Whether the server told that it neither hopped nor posted a call.
    pub fn is_still(&self) -> bool {
        self.hops.as_ref().is_some_and(|told| !told.is_any())
    }

    /// What moved threads, as far as the server told.
    pub fn backend(&self) -> &str {
        self.hops.as_ref().map_or("carrier", |told| &told.backend)
    }
}

/// All of them at the start.
pub struct Contest<'a> {
    setup: Setup<'a>,
    contestants: Vec<Trials<'a>>,
}

impl<'a> Contest<'a> {
    /// Makes the hooks of all contestants; there must be one at least.
    ///
    /// # Errors
    /// Those of [`Trials::new`].
    pub fn new(
        setup: Setup<'a>,
        contestants: impl Iterator<Item = Contestant<'a>>,
    ) -> Result<Contest<'a>, Error> {
        let contestants = contestants.map(|contestant| contestant.trials(setup));
        Ok(Contest {
            setup,
            contestants: contestants.collect::<Result<_, _>>()?,
        })
    }

    /// Measures; the limits are those of the best one's rounds, and their time is that of all.
    ///
    /// # Errors
    /// Those of [`Trials::sample`].
    pub fn hold(&self, limits: &Limits) -> Result<Measured, Error> {
        let deadline = limits.deadline();
        self.warm_up()?;
        let screened = match self.contestants.len() {
            1 => Vec::new(),
            _ => self.screen()?,
        };
        let best = best(&screened);
        let rounds = warm_turns(&self.contestants[best], limits, deadline)?;
        Ok(Measured {
            best,
            screened,
            comparison: rounds.comparison(),
            hops: rounds.hops(),
            rounds,
        })
    }

    /// Without a load, runs that do not count; with one every server is warmed up by itself.
    fn warm_up(&self) -> Result<(), Error> {
        if self.setup.under.load.is_some() {
            return Ok(());
        }
        for _ in 0..self.setup.under.warm_up {
            self.round(false)?;
        }
        Ok(())
    }

    /// What each contestant does in a few rounds.
    fn screen(&self) -> Result<Vec<Comparison>, Error> {
        let mut rounds = vec![Vec::new(); self.contestants.len()];
        let observer = self.setup.observer;
        let screened = Some(SCREENED_ROUNDS as u64);
        observer.begin("rounds of the original and all contestants made", screened);
        for round in 0..SCREENED_ROUNDS {
            let samples = self.round(round % 2 == 1)?;
            for (rounds, patched) in rounds.iter_mut().zip(&samples[1..]) {
                rounds.push((samples[0].throughput, patched.throughput));
            }
            observer.advance(1);
        }
        observer.end();
        Ok(rounds.iter().map(|rounds| Comparison::of(rounds)).collect())
    }

    /// The original and all contestants, each once, perhaps in the opposite order; the original's
    /// sample is the first of those given back.
    fn round(&self, is_backwards: bool) -> Result<Vec<Sample>, Error> {
        let original = (&self.contestants[0], Side::Original);
        let patched = self.contestants.iter().map(|one| (one, Side::Patched));
        let mut turns: Vec<_> = [original].into_iter().chain(patched).collect();
        if is_backwards {
            turns.reverse();
        }
        let samples = turns.into_iter().map(|(trials, side)| trials.sample(side));
        let mut samples: Vec<Sample> = samples.collect::<Result<_, _>>()?;
        if is_backwards {
            samples.reverse();
        }
        Ok(samples)
    }
}

/// The one that did best; the first where none was compared.
fn best(screened: &[Comparison]) -> usize {
    let ratios = screened.iter().map(|comparison| comparison.ratio);
    let best = ratios
        .enumerate()
        .max_by(|one, other| one.1.total_cmp(&other.1));
    best.map_or(0, |(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_the_screening_goes_on_and_the_only_one_unscreened() {
        let of = |ratio: f64| Comparison {
            ratio,
            low: ratio / 2.0,
            high: ratio * 2.0,
        };
        assert_eq!(best(&[of(0.9), of(1.4), of(1.1)]), 1);
        assert_eq!(best(&[]), 0);
    }
}
