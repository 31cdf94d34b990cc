//! Shared parts of event simulations of networks: events in time order, and rounds counted in
//! batches, which give the standard error of the mean. They are independent of the formulas.

#![allow(dead_code)] // Each simulation uses its part.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The distribution of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Times {
    Exponential,
    /// Constant.
    Constant,
}

/// Rounds per unit of time: the mean of batches of equal length, and its standard error.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub mean: f64,
    pub standard_error: f64,
}

/// Number of counted batches, after one that is not counted.
pub const BATCHES: usize = 20;

/// Future events, earliest first; at equal times in order of insertion.
pub struct Agenda<E> {
    pub now: f64,
    told: u64,
    events: BinaryHeap<Reverse<(u64, u64)>>,
    what: Vec<E>,
    random: ChaCha8Rng,
    times: Times,
}

impl<E: Copy> Agenda<E> {
    pub fn new(seed: u64, times: Times) -> Self {
        Agenda {
            now: 0.0,
            told: 0,
            events: BinaryHeap::new(),
            what: Vec::new(),
            random: ChaCha8Rng::seed_from_u64(seed),
            times,
        }
    }

    /// Schedules an event after a time with this mean.
    pub fn after(&mut self, mean: f64, event: E) {
        let time = match self.times {
            Times::Constant => mean,
            Times::Exponential => {
                let uniform: f64 = self.random.random();
                -(1.0 - uniform).ln() * mean
            }
        };
        // The bit patterns of non-negative floats have the same order as their values.
        let at = (self.now + time).to_bits();
        self.events.push(Reverse((at, self.told)));
        self.what.push(event);
        self.told += 1;
    }

    /// Removes and returns the next event, and advances the time to it.
    pub fn next(&mut self) -> E {
        let Reverse((at, told)) = self.events.pop().expect("customers never leave");
        self.now = f64::from_bits(at);
        self.what[told as usize]
    }

    /// Returns a random index below `of`.
    pub fn pick(&mut self, of: u32) -> usize {
        self.random.random_range(0..of) as usize
    }
}

/// Counts rounds for each batch.
pub struct Batches {
    length: f64,
    rounds: Vec<u64>,
}

impl Batches {
    pub fn new(length: f64) -> Batches {
        Batches {
            length,
            rounds: vec![0; BATCHES + 1],
        }
    }

    /// Counts the end of a round; returns whether it was in a batch.
    pub fn count(&mut self, now: f64) -> bool {
        let batch = self.rounds.get_mut((now / self.length) as usize);
        batch.map(|rounds| *rounds += 1).is_some()
    }

    /// Returns the result of all batches except the first.
    pub fn measured(&self) -> Measured {
        let rates = self.rounds[1..].iter();
        let rates: Vec<f64> = rates.map(|&rounds| rounds as f64 / self.length).collect();
        let number = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / number;
        let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
        Measured {
            mean,
            standard_error: (squares / (number - 1.0) / number).sqrt(),
        }
    }
}

/// Maximum distance between an exact formula and a simulation.
const STANDARD_ERRORS: f64 = 4.0;

/// Compares the result of a formula with a simulation.
#[track_caller]
pub fn equal(found: f64, simulated: Measured, of: &str) {
    let Measured {
        mean,
        standard_error,
    } = simulated;
    // Batches are long enough for a meaningful comparison.
    assert!(standard_error < 0.01 * mean, "{of}: {simulated:?}");
    let apart = (found - mean).abs() / standard_error;
    assert!(
        apart < STANDARD_ERRORS,
        "{of}: {found} beside {simulated:?}"
    );
}
