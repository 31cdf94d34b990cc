//! Measures original and patched alternately until `settled` has enough rounds, and computes
//! medians.
//!
//! The patched server starts first in every other round, so that neither side always follows the
//! other. An error in a later round, such as an interruption, ends the measurement: the rounds
//! before it are kept with the error.

use super::groups::{Group, groups};
use super::settled::{Answer, Limits, Rule};
use super::standing::{Pace, Stage, Standing};
use super::{Comparison, median};
use crate::machine::neighbors::Neighbors;
use crate::server::Hops;
use crate::{Error, Sample, Side, Trials};
use std::time::Instant;

/// Both sides, measured one after the other.
#[derive(Clone)]
pub struct Round {
    /// The original server.
    pub original: Sample,
    /// The server with the plan's hops.
    pub patched: Sample,
}

impl Round {
    /// Returns the throughputs of original and patched.
    pub fn throughput(&self) -> [f64; 2] {
        [self.original.throughput, self.patched.throughput]
    }
}

/// All rounds of a measurement.
pub struct Rounds {
    all: Vec<Round>,
    rule: Rule,
    cut_short: Option<Error>,
}

/// Minimum number of rounds: a single one has no interval.
pub(super) const FEWEST_ROUNDS: usize = 2;

/// Measures rounds.
///
/// # Errors
/// Those of [`Trials::sample`], before there are enough rounds to compare. Later ones are returned
/// with the rounds.
pub fn take_turns(trials: &Trials<'_>, limits: &Limits) -> Result<Rounds, Error> {
    let setup = trials.setup();
    let (observer, under) = (setup.observer, setup.under);
    let deadline = limits.deadline();
    if under.load.is_none() {
        observer.begin("runs made to warm up", Some(u64::from(under.warm_up) * 2));
        for _ in 0..under.warm_up {
            for side in [Side::Original, Side::Patched] {
                trials.sample(side)?;
                observer.advance(1);
            }
        }
        observer.end();
    }
    let begun = Begun {
        rule: Rule::new(limits, 1),
        rounds: Vec::new(),
        contestant: 0,
    };
    warm_turns(trials, begun, deadline)
}

/// A contestant with earlier rounds, possibly none.
pub(super) struct Begun {
    /// The stopping rule.
    pub rule: Rule,
    /// The earlier rounds.
    pub rounds: Vec<Round>,
    /// The contestant's number.
    pub contestant: usize,
}

/// Measures further rounds of servers that are already warm.
///
/// # Errors
/// Those of [`take_turns`].
pub(super) fn warm_turns(
    trials: &Trials<'_>,
    begun: Begun,
    deadline: Option<Instant>,
) -> Result<Rounds, Error> {
    let observer = trials.setup().observer;
    let (rule, mut all) = (begun.rule, begun.rounds);
    let left = rule.most().saturating_sub(all.len());
    observer.begin("runs of original and patched made", Some(left as u64 * 2));
    let is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    let mut pace = Pace::new();
    let mut cut_short = None;
    while !(rule.is_settled(&pairs(&all)) || all.len() >= FEWEST_ROUNDS && is_late()) {
        let round = match take_turn(trials, all.len()) {
            Ok(round) => round,
            Err(error) => {
                cut_short = Some(ends(error, all.len())?);
                break;
            }
        };
        pace.add(2);
        observer.round(all.len() + 1, &round.throughput());
        all.push(round);
        if all.len() < FEWEST_ROUNDS {
            continue;
        }
        let rounds = pairs(&all);
        let comparison = rule.compare(&rounds);
        observer.stands(&Standing {
            round: all.len(),
            most: rule.most(),
            stage: Stage::Answering(match rule.is_settled(&rounds) {
                true => rule.answer(&comparison),
                false => Answer::Open,
            }),
            contestants: vec![(begun.contestant, comparison)],
        });
        if let Some(outlook) = pace.outlook(&rule, &rounds, (0, 2)) {
            observer.estimated(&outlook);
        }
    }
    observer.end();
    Ok(Rounds {
        all,
        rule,
        cut_short,
    })
}

/// Returns an error that ends the rounds early. Without enough rounds to compare, fails with it.
pub(super) fn ends(error: Error, rounds: usize) -> Result<Error, Error> {
    match rounds >= FEWEST_ROUNDS {
        true => Ok(error),
        false => Err(error),
    }
}

/// Measures both sides once; the patched one goes first if the number of earlier rounds is odd.
fn take_turn(trials: &Trials<'_>, earlier: usize) -> Result<Round, Error> {
    let sample = |side| {
        let sample = trials.sample(side);
        trials.setup().observer.advance(1);
        sample
    };
    let first = match earlier % 2 {
        0 => Some(sample(Side::Original)?),
        _ => None,
    };
    let patched = sample(Side::Patched)?;
    let original = first.map_or_else(|| sample(Side::Original), Ok)?;
    Ok(Round { original, patched })
}

/// Returns the throughputs of original and patched, round by round.
fn pairs(rounds: &[Round]) -> Vec<(f64, f64)> {
    let throughput = rounds.iter().map(Round::throughput);
    throughput.map(|[one, other]| (one, other)).collect()
}

impl Rounds {
    /// Keeps the rounds that were made before this error.
    pub(super) fn cut_short(all: Vec<Round>, rule: Rule, error: Error) -> Rounds {
        Rounds {
            all,
            rule,
            cut_short: Some(error),
        }
    }

    /// Returns why the rounds ended before the question was settled, if an error ended them.
    pub fn why_cut_short(&self) -> Option<&Error> {
        self.cut_short.as_ref()
    }

    /// Does the same, and drops the rounds.
    pub fn into_why_cut_short(self) -> Option<Error> {
        self.cut_short
    }

    /// Returns all rounds.
    pub fn all(&self) -> &[Round] {
        &self.all
    }

    /// Compares original and patched over all rounds.
    pub fn comparison(&self) -> Comparison {
        self.rule.compare(&pairs(&self.all))
    }

    /// Returns the answer to the question. The interval allows for the looks of the rule; an error,
    /// such as an interruption, is none of them and leaves the question open.
    pub fn answer(&self) -> Answer {
        match self.cut_short {
            Some(_) => Answer::Open,
            None => self.rule.answer(&self.comparison()),
        }
    }

    /// Returns the slower and the faster starts, if the patched server's fall into two groups.
    pub fn groups(&self) -> Option<[Group; 2]> {
        groups(&pairs(&self.all))
    }

    /// Returns the medians of a value for original and patched.
    pub fn medians(&self, of: impl Fn(&Sample) -> f64) -> [f64; 2] {
        [
            median(self.all.iter().map(|round| of(&round.original))),
            median(self.all.iter().map(|round| of(&round.patched))),
        ]
    }

    /// Returns the median share of the original's time in which it ran its own code; `None` if that
    /// is unknown.
    pub fn own_share(&self) -> Option<f64> {
        let shares = self.all.iter().map(|round| round.original.own_share);
        let shares: Vec<f64> = shares.collect::<Option<_>>()?;
        (!shares.is_empty()).then(|| median(shares.into_iter()))
    }

    /// Returns the medians of the count of this name per operation, i.e. in the time in which the
    /// load's throughput counts one.
    pub fn per_operation(&self, name: &str) -> [f64; 2] {
        self.medians(|sample| {
            let mut counts = sample.counts.iter();
            let count = counts.find(|count| count.name == name);
            count.map_or(0.0, |count| count.count) / (sample.throughput * sample.seconds)
        })
    }

    /// Returns the total of the hops that the patched servers reported, with the median cost of
    /// one; `None` if none reported.
    pub fn hops(&self) -> Option<Hops> {
        let told = self.all.iter();
        let told = told.filter_map(|round| round.patched.hops.clone());
        Hops::together(&told.collect::<Vec<_>>())
    }

    /// Returns who else used the cores; `None` without signs of anyone.
    pub fn neighbors(&self) -> Option<Neighbors> {
        let samples = self.all.iter();
        let samples = samples.flat_map(|round| [&round.original, &round.patched]);
        let widths: Vec<_> = samples.flat_map(|of| of.widths.iter().copied()).collect();
        Neighbors::of(&widths)
    }

    /// Returns the median time of a hop over all rounds, in nanoseconds; 0 if unknown.
    pub fn hop_ns(&self) -> f64 {
        median(self.all.iter().map(|round| round.patched.hop_ns()))
    }
}
