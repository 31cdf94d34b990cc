//! Normal noise from a seed: what a statistic shows by chance, and rounds made up for tests.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A source of made-up measurements.
pub(super) struct Noise(ChaCha8Rng);

impl Noise {
    pub(super) fn new(seed: u64) -> Noise {
        Noise(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A normal number of mean 0 and deviation 1: the sum of twelve uniform ones is near enough.
    pub(super) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.0.random::<f64>()).sum::<f64>() - 6.0
    }

    /// A throughput around this one, with a deviation of 5 %.
    #[cfg(test)]
    pub(super) fn around(&mut self, throughput: f64) -> f64 {
        throughput * (0.05 * self.normal()).exp()
    }

    /// True with this probability.
    #[cfg(test)]
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.0.random::<f64>() < probability
    }
}
