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

/// How rounds of made-up servers differ.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Normal, by 3 %.
    Normal,
    /// Student's t of three degrees of freedom, by 2 %: one round in a hundred is 12 % off.
    HeavyTailed,
    /// In half of the starts 10 % up, in the others 10 % down, and by 1 % within each half.
    TwoHeaps,
}

#[cfg(test)]
impl Shape {
    pub(super) const ALL: [Shape; 3] = [Shape::Normal, Shape::HeavyTailed, Shape::TwoHeaps];
}

#[cfg(test)]
impl Noise {
    /// A throughput whose logarithm has this throughput's for its mean.
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
