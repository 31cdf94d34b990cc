//! Seeded normal noise: for the chance distribution of a statistic, and for simulated rounds in
//! tests.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A source of simulated measurements.
pub(super) struct Noise(ChaCha8Rng);

impl Noise {
    pub(super) fn new(seed: u64) -> Noise {
        Noise(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Returns a normal number of mean 0 and deviation 1, approximated by a sum of twelve uniform
    /// ones.
    pub(super) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.0.random::<f64>()).sum::<f64>() - 6.0
    }

    /// Returns a throughput around this one, with a deviation of 5 %.
    #[cfg(test)]
    pub(super) fn around(&mut self, throughput: f64) -> f64 {
        throughput * (0.05 * self.normal()).exp()
    }

    /// Returns true with this probability.
    #[cfg(test)]
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.0.random::<f64>() < probability
    }
}

/// Distribution of simulated rounds.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Normal, by 3 %.
    Normal,
    /// Student's t of three degrees of freedom, by 2 %: one round in a hundred is 12 % off.
    HeavyTailed,
    /// 10 % up in half of the starts, 10 % down in the others, and 1 % of noise within each half.
    TwoHeaps,
}

#[cfg(test)]
impl Shape {
    pub(super) const ALL: [Shape; 3] = [Shape::Normal, Shape::HeavyTailed, Shape::TwoHeaps];
}

#[cfg(test)]
impl Noise {
    /// Returns a throughput; the mean of its logarithm is that of the given one.
    pub(super) fn shaped(&mut self, throughput: f64, shape: Shape) -> f64 {
        let off = match shape {
            Shape::Normal => 0.03 * self.normal(),
            Shape::HeavyTailed => {
                let squares: f64 = [(); 3].map(|()| self.normal().powi(2)).iter().sum();
                0.02 * self.normal() / (squares / 3.0).sqrt()
            }
            Shape::TwoHeaps if self.chance(0.5) => 0.1 + 0.01 * self.normal(),
            Shape::TwoHeaps => -0.1 + 0.01 * self.normal(),
        };
        throughput * off.exp()
    }
}
