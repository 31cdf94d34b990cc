//! Measures a mispredicted branch: a loop with a branch by chance, compared with the same loop with
//! a branch that always goes one way.
//!
//! Half of the branches by chance are mispredicted. The bytes that decide them are read once, in
//! order, so that no predictor can learn them, and their loads hit the L1D. A branch is decided
//! when its load is done, which is not part of the figure.

use crate::calibration::clock::core_ghz;
use crate::calibration::effort::Effort;
use crate::calibration::error::Error;
use crate::calibration::native::branches::branch;
use crate::calibration::observer::{Observer, step};
use crate::calibration::samples::{Figure, Readings};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::time::Instant;

/// Branches of a repetition.
const BRANCHES: usize = 1 << 16;

/// Measures on the CPU that the calling thread is pinned to; a load that the L1D serves takes this
/// long.
pub fn measure(
    l1d: Option<Figure>,
    effort: &Effort,
    observer: &dyn Observer,
) -> Result<Option<Figure>, Error> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut chance = vec![0u8; BRANCHES];
    let same = [0u8, 1].map(|byte| vec![byte; BRANCHES]);
    let mut readings = Readings::default();
    observer.begin("measurements of branches made", effort.rounds);
    for _ in 0..effort.rounds {
        let ghz = core_ghz();
        for _ in 0..effort.repetitions {
            random.fill(&mut chance[..]);
            chance.iter_mut().for_each(|byte| *byte &= 1);
            let [taken, not_taken] = same.each_ref().map(|bytes| ns_per_branch(bytes));
            let of_half = ns_per_branch(&chance) - (taken + not_taken) / 2.0;
            readings.push(2.0 * of_half.max(0.0), ghz);
        }
        step(observer)?;
    }
    observer.end();
    let decided = l1d.map_or(0.0, |figure| figure.cycles.median);
    Ok(readings.figure().map(|figure| figure.without(decided)))
}

fn ns_per_branch(bytes: &[u8]) -> f64 {
    let began = Instant::now();
    branch(bytes);
    began.elapsed().as_nanos() as f64 / bytes.len() as f64
}
