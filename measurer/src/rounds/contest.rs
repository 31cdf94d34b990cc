//! Original and several plans in turn: which plan does best, and by how much.
//!
//! First a screening of all plans, a few rounds, in each of which the original runs once and every
//! plan once. Then the plan that did best, against the original, in rounds of its own until its
//! interval is narrow. What the screening measured has no part in that interval: the best of
//! several was in luck there more often than not. Rejected: the screening's rounds counted in with
//! a correction for the choice, which is as wide as what the few more rounds cost.

use super::interval::Comparison;
use super::turns::{Limits, Rounds, warm_turns};
use crate::server::Hops;
use crate::{Error, Sample, Setup, Side, Trials};
use corehop_plans::Plan;

/// Rounds of the screening: two say which of several plans is far better, and it does little harm
/// to take the second best of two that are not.
const SCREENED_ROUNDS: usize = 2;

/// What was measured.
pub struct Measured {
    /// Of the plans tried, the one that did best.
    pub best: usize,
    /// Of each plan in the screening; empty where there was but one.
    pub screened: Vec<Comparison>,
    /// The best plan's rounds.
    pub rounds: Rounds,
    /// Of those rounds.
    pub comparison: Comparison,
    /// What the patched servers told of their hops in them, all together.
    pub hops: Option<Hops>,
}

impl Measured {
    /// Whether the server told that it did not hop.
    pub fn is_still(&self) -> bool {
        self.hops.as_ref().is_some_and(|told| told.hops == 0)
    }

    /// What moved threads, as far as the server told.
    pub fn backend(&self) -> &str {
        self.hops.as_ref().map_or("carrier", |told| &told.backend)
    }
}

/// All plans at the start.
pub struct Contest<'a> {
    setup: Setup<'a>,
    plans: Vec<Trials<'a>>,
}

impl<'a> Contest<'a> {
    /// Makes the hooks of all plans; there must be one at least.
    ///
    /// # Errors
    /// Those of [`Trials::new`].
    pub fn new<'p>(
        setup: Setup<'a>,
        plans: impl Iterator<Item = &'p Plan>,
    ) -> Result<Contest<'a>, Error> {
        let plans = plans.map(|plan| Trials::new(setup, Some(plan)));
        Ok(Contest {
            setup,
            plans: plans.collect::<Result<_, _>>()?,
        })
    }

    /// Measures; the limits are those of the best plan's rounds, and their time is that of all.
    ///
    /// # Errors
    /// Those of [`Trials::sample`].
    pub fn hold(&self, limits: &Limits) -> Result<Measured, Error> {
        let deadline = limits.deadline();
        self.warm_up()?;
        let screened = match self.plans.len() {
            1 => Vec::new(),
            _ => self.screen()?,
        };
        let best = best(&screened);
        let rounds = warm_turns(&self.plans[best], limits, deadline)?;
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
        let all: Vec<usize> = (0..self.plans.len()).collect();
        for _ in 0..self.setup.under.warm_up {
            self.round(&all, false)?;
        }
        Ok(())
    }

    /// What each plan does in a few rounds.
    fn screen(&self) -> Result<Vec<Comparison>, Error> {
        let all: Vec<usize> = (0..self.plans.len()).collect();
        let mut rounds = vec![Vec::new(); all.len()];
        let observer = self.setup.observer;
        let screened = Some(SCREENED_ROUNDS as u64);
        observer.begin("rounds of the original and all plans made", screened);
        for round in 0..SCREENED_ROUNDS {
            let samples = self.round(&all, round % 2 == 1)?;
            for (rounds, patched) in rounds.iter_mut().zip(&samples[1..]) {
                rounds.push((samples[0].throughput, patched.throughput));
            }
            observer.advance(1);
        }
        observer.end();
        Ok(rounds.iter().map(|rounds| Comparison::of(rounds)).collect())
    }

    /// The original and these plans, each once, perhaps in the opposite order; the original's
    /// sample is the first of those given back.
    fn round(&self, plans: &[usize], is_backwards: bool) -> Result<Vec<Sample>, Error> {
        let original = (&self.plans[0], Side::Original);
        let patched = plans.iter().map(|&plan| (&self.plans[plan], Side::Patched));
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

/// The plan that did best; the first where none was compared.
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
    fn the_best_screened_plan_goes_on_and_the_only_one_unscreened() {
        let of = |ratio: f64| Comparison {
            ratio,
            low: ratio / 2.0,
            high: ratio * 2.0,
        };
        assert_eq!(best(&[of(0.9), of(1.4), of(1.1)]), 1);
        assert_eq!(best(&[]), 0);
    }
}
