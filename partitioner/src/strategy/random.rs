//! Random splits, sampled uniformly and independently, with a bound on the rank of the best.
//!
//! Suppose that a share p of all splits is better than the best of k samples. The probability that
//! none of the k hit one of those is (1 - p)^k. So p is at most 1 - 0.01^(1/k) with 99 %
//! confidence: the best of a thousand samples is among the best 0.46 % (the distribution-free
//! tolerance limit of Wilks, 1941). This bounds the rank, not the misses.

use super::run::{Explore, Run};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

pub(super) struct Random;

/// Number of splits sampled in one batch.
const BATCH: usize = 250;

/// Number of batches; only one if each split is replayed in full.
const BATCHES: usize = 40;

impl Explore for Random {
    fn explore(&self, run: &mut Run<'_, '_>) -> u64 {
        let mut random = ChaCha8Rng::seed_from_u64(run.search.seed);
        let space = run.space;
        let batches = if run.evaluator.is_in_full() {
            1
        } else {
            BATCHES
        };
        for _ in 0..batches {
            if run.is_over() {
                break;
            }
            let samples = (0..BATCH).map(|_| space.drawn(&mut random));
            run.offer(samples.collect());
        }
        run.evaluator.lower_bound()
    }
}

/// Returns the maximum share of all splits that is better than the best of `samples` samples, with
/// 99 % confidence.
pub(super) fn better_share(samples: u64) -> f64 {
    1.0 - 0.01_f64.powf(1.0 / samples as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_samples_leave_a_smaller_share_that_can_be_better() {
        assert!((better_share(1) - 0.99).abs() < 1e-12);
        assert!((better_share(1000) - 0.004_594).abs() < 1e-6);
    }
}
