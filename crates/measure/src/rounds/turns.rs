//! Original and patched in turn, until enough was measured, and their medians.
//!
//! Every other round the patched server goes first, so that neither always follows the other.

use super::groups::{Group, groups};
use super::settled::is_settled;
use super::{Comparison, median};
use crate::server::Hops;
use crate::{Error, Sample, Side, Trials};
use std::time::{Duration, Instant};

/// Both sides, measured one after the other.
pub struct Round {
    /// As the user has it.
    pub original: Sample,
    /// With the plan's hops.
    pub patched: Sample,
}

impl Round {
    /// Throughput of original and patched.
    pub fn throughput(&self) -> [f64; 2] {
        [self.original.throughput, self.patched.throughput]
    }
}

/// All rounds of a measurement.
pub struct Rounds(Vec<Round>);

/// When enough was measured.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// So many rounds in any case; two at least, or there is nothing to compare.
    pub fewest: u32,
    /// No more than this.
    pub most: u32,
    /// In between, until the interval is no wider than this to either side, in percent, or a tenth
    /// of the change.
    pub within_percent: f64,
    /// No round but the fewest begins after this time.
    pub time: Option<Duration>,
}

impl Limits {
    /// Just so many rounds.
    pub fn fixed(rounds: u32) -> Limits {
        Limits {
            fewest: rounds,
            most: rounds,
            within_percent: f64::INFINITY,
            time: None,
        }
    }

    /// When the time is over that begins now.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.time.map(|limit| Instant::now() + limit)
    }

    fn are_reached(&self, measured: &[Round], deadline: Option<Instant>) -> bool {
        let rounds = measured.len();
        rounds >= self.fewest as usize
            && (rounds >= self.most as usize
                || deadline.is_some_and(|deadline| Instant::now() >= deadline)
                || is_settled(&compared(measured), rounds, self.within_percent))
    }
}

/// Measures rounds.
///
/// # Errors
/// Those of [`Trials::sample`].
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
    warm_turns(trials, limits, deadline)
}

/// Measures rounds of what is warm already.
///
/// # Errors
/// Those of [`Trials::sample`].
pub(super) fn warm_turns(
    trials: &Trials<'_>,
    limits: &Limits,
    deadline: Option<Instant>,
) -> Result<Rounds, Error> {
    let observer = trials.setup().observer;
    let most = u64::from(limits.most.max(limits.fewest));
    observer.begin("runs of original and patched made", Some(most * 2));
    let sample = |side| {
        let sample = trials.sample(side);
        observer.advance(1);
        sample
    };
    let mut measured = Vec::new();
    while !limits.are_reached(&measured, deadline) {
        let first = match measured.len() % 2 {
            0 => Some(sample(Side::Original)?),
            _ => None,
        };
        let patched = sample(Side::Patched)?;
        let original = first.map_or_else(|| sample(Side::Original), Ok)?;
        let round = Round { original, patched };
        observer.round(measured.len() + 1, round.throughput());
        measured.push(round);
        if measured.len() > 1 {
            observer.compared(measured.len(), &compared(&measured));
        }
    }
    observer.end();
    Ok(Rounds(measured))
}

fn compared(rounds: &[Round]) -> Comparison {
    Comparison::of(&pairs(rounds))
}

/// Throughput of original and patched.
fn pairs(rounds: &[Round]) -> Vec<(f64, f64)> {
    let throughput = rounds.iter().map(Round::throughput);
    throughput.map(|[one, other]| (one, other)).collect()
}

impl Rounds {
    /// Each of them.
    pub fn all(&self) -> &[Round] {
        &self.0
    }

    /// What they say together.
    pub fn comparison(&self) -> Comparison {
        compared(&self.0)
    }

    /// The slower and the faster starts, where the patched server's fall into two groups.
    pub fn groups(&self) -> Option<[Group; 2]> {
        groups(&pairs(&self.0))
    }

    /// Medians of original and patched.
    pub fn medians(&self, of: impl Fn(&Sample) -> f64) -> [f64; 2] {
        [
            median(self.0.iter().map(|round| of(&round.original))),
            median(self.0.iter().map(|round| of(&round.patched))),
        ]
    }

    /// Medians of how often what is counted under this name happened in the time in which
    /// throughput grows by one.
    pub fn per_operation(&self, name: &str) -> [f64; 2] {
        self.medians(|sample| {
            let mut counts = sample.counts.iter();
            let count = counts.find(|count| count.name == name);
            count.map_or(0.0, |count| count.count) / (sample.throughput * sample.seconds)
        })
    }

    /// What the patched servers told of their hops, all together, and of what one takes the
    /// median; `None` where none told.
    pub fn hops(&self) -> Option<Hops> {
        let told = self.0.iter();
        let told = told.filter_map(|round| round.patched.hops.clone());
        Hops::together(&told.collect::<Vec<_>>())
    }

    /// How long a hop took in the median of all rounds, in nanoseconds; 0 when unknown.
    pub fn hop_ns(&self) -> f64 {
        median(self.0.iter().map(|round| round.patched.hop_ns()))
    }
}
