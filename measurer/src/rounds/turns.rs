//! Original and patched in turn, until enough was measured, and their medians.
//!
//! Every other round the patched server goes first, so that neither always follows the other.

use super::settled::is_settled;
use super::{Comparison, median};
use crate::server::Hops;
use crate::{Error, Sample, Side, Trials};

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

/// How many rounds to measure.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// So many in any case; two at least, or there is nothing to compare.
    pub fewest: u32,
    /// No more than this.
    pub most: u32,
    /// In between, until the interval is no wider than this to either side, in percent, or a tenth
    /// of the change.
    pub within_percent: f64,
}

impl Length {
    /// Just so many rounds.
    pub fn fixed(rounds: u32) -> Length {
        Length {
            fewest: rounds,
            most: rounds,
            within_percent: f64::INFINITY,
        }
    }

    fn is_reached(&self, measured: &[Round]) -> bool {
        let rounds = measured.len();
        rounds >= self.fewest as usize
            && (rounds >= self.most as usize
                || is_settled(&compared(measured), rounds, self.within_percent))
    }
}

/// Measures rounds.
///
/// # Errors
/// Those of [`Trials::sample`].
pub fn take_turns(trials: &Trials<'_>, length: Length) -> Result<Rounds, Error> {
    let setup = trials.setup();
    let (observer, under) = (setup.observer, setup.under);
    if under.load.is_none() {
        observer.begin("warming up", Some(u64::from(under.warm_up) * 2));
        for _ in 0..under.warm_up {
            for side in [Side::Original, Side::Patched] {
                trials.sample(side)?;
                observer.advance(1);
            }
        }
        observer.end();
    }
    let most = u64::from(length.most.max(length.fewest));
    observer.begin("original and patched in turn", Some(most * 2));
    let sample = |side| {
        let sample = trials.sample(side);
        observer.advance(1);
        sample
    };
    let mut measured = Vec::new();
    while !length.is_reached(&measured) {
        let first = match measured.len() % 2 {
            0 => Some(sample(Side::Original)?),
            _ => None,
        };
        let patched = sample(Side::Patched)?;
        let original = first.map_or_else(|| sample(Side::Original), Ok)?;
        let round = Round { original, patched };
        observer.round(measured.len() + 1, round.throughput());
        measured.push(round);
    }
    observer.end();
    Ok(Rounds(measured))
}

fn compared(rounds: &[Round]) -> Comparison {
    let throughput = rounds.iter().map(Round::throughput);
    let pairs: Vec<_> = throughput.map(|[one, other]| (one, other)).collect();
    Comparison::of(&pairs)
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
