//! Measurements at a point, round by round, and the ratios within each round.
//!
//! In a round, the ways of running follow each other within a second, so a ratio is computed within
//! the round. The rounds, far apart in time, give a median and quartiles of these ratios. Rejected:
//! the ratio of two medians, which may come from different minutes of the host.

use crate::patched::{Outcome, Program, quartiles};
use crate::point::Point;
use crate::simulated;

/// In place, carrier, affinity.
pub type Ways = [f64; 3];

const WAYS: [(&str, Option<&str>); 3] = [
    ("in-place", None),
    ("delegated", Some("carrier")),
    ("delegated", Some("affinity")),
];

/// Results at a point.
pub struct Found {
    /// The point.
    pub point: Point,
    /// Predicted accesses per million cycles; `None` on a machine whose caches the kernel does not
    /// describe.
    pub predicted: Option<Ways>,
    /// Accesses per second, by round.
    rates: Vec<Ways>,
    /// Share of the two CPUs that each way got, by round, next to other work.
    shares: Vec<Ways>,
}

impl Found {
    /// Returns the prediction, without measurements.
    pub fn predicted(program: &Program, point: Point) -> Outcome<Found> {
        Ok(Found {
            point,
            predicted: simulated::rates(program, point)?,
            rates: Vec::new(),
            shares: Vec::new(),
        })
    }

    /// Measures one more round. Each begins with another way, so that none always follows the same
    /// one.
    pub fn measure(&mut self, program: &Program, round: usize, duration_ms: u32) -> Outcome<()> {
        let (mut rates, mut shares) = ([0.0; 3], [0.0; 3]);
        for turn in 0..WAYS.len() {
            let index = (round + turn) % WAYS.len();
            let (way, backend) = WAYS[index];
            let printed = program.run(backend, &self.point.words(way, duration_ms, program))?;
            (rates[index], shares[index]) = (printed[0], printed[1]);
        }
        self.rates.push(rates);
        self.shares.push(shares);
        Ok(())
    }

    /// Discards the latest round.
    pub fn forget_round(&mut self) {
        self.rates.pop();
        self.shares.pop();
    }

    /// Returns the median accesses per second.
    pub fn measured(&self) -> Ways {
        medians(&self.rates)
    }

    /// Returns the medians of the CPUs' shares.
    pub fn shares(&self) -> Ways {
        medians(&self.shares)
    }

    /// Returns the quartiles of the rounds' ratios to in place: of carrier, of affinity.
    pub fn ratios(&self) -> [[f64; 3]; 2] {
        quarters(self.rates.iter().copied())
    }

    /// Returns the same for accesses per second of both CPUs' time.
    pub fn ratios_in_equal_time(&self) -> [[f64; 3]; 2] {
        let rounds = self.rates.iter().zip(&self.shares);
        quarters(
            rounds.map(|(rates, shares)| {
                std::array::from_fn(|way| rates[way] / shares[way].max(0.01))
            }),
        )
    }
}

fn medians(rounds: &[Ways]) -> Ways {
    std::array::from_fn(|way| {
        let all: Vec<f64> = rounds.iter().map(|round| round[way]).collect();
        quartiles(&all)[1]
    })
}

fn quarters(rounds: impl Iterator<Item = Ways>) -> [[f64; 3]; 2] {
    let ratios: Vec<[f64; 2]> = rounds.map(ratios_of).collect();
    [0, 1].map(|way| {
        let all: Vec<f64> = ratios.iter().map(|round| round[way]).collect();
        quartiles(&all)
    })
}

/// Returns the ratios of carrier and affinity to in place.
pub fn ratios_of([in_place, carrier, affinity]: Ways) -> [f64; 2] {
    [carrier / in_place, affinity / in_place]
}
