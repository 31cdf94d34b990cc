//! Simulates a profiler: classes from a sample of the accesses, and their error.
//!
//! A processor's counters sample every n-th load and every n-th store, and report the address, the
//! thread and its calls. Curto sampled one in 1750. He could not determine the error of the shares,
//! because they depend on the samples only through the lines. A trace contains all accesses, so the
//! error is known: it is sampled like a profile, several times with different starts, and compared
//! with the exact values.
//!
//! A line that is sampled once is phase-local and session-local in any case, and rarely accessed
//! lines are not sampled at all. Shares from few samples are therefore biased, not only uncertain;
//! more runs only narrow the confidence interval around a wrong mean.

use crate::characterize::error::Error;
use crate::characterize::subject::{Characterisation, Subject};
use crate::characterize::touches::Touches;
use corehop_partitioner::progress::Progress;
use corehop_traces::Kind;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Default number of samplings: Curto's means are of as many runs.
pub const DRAWS: u32 = 10;

/// Selects every n-th load and every n-th store, starting at a random one.
#[derive(Clone, Debug)]
pub struct Sampler {
    every: u64,
    /// Number of loads and of stores before the next selected one.
    left: [u64; 2],
}

impl Sampler {
    /// Creates a sampler of one in `every`; the seed and the number `draw` determine the first.
    ///
    /// # Panics
    /// If `every` is 0.
    pub fn new(every: u64, seed: u64, draw: u32) -> Sampler {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(draw.into());
        let left = [(); 2].map(|()| random.random_range(0..every));
        Sampler { every, left }
    }

    /// Returns whether the next access, of this kind, is selected. Fetches never are.
    #[inline]
    pub fn takes(&mut self, kind: Kind) -> bool {
        let left = match kind {
            Kind::Fetch => return false,
            Kind::Load => &mut self.left[0],
            Kind::Store => &mut self.left[1],
        };
        match left.checked_sub(1) {
            Some(fewer) => {
                *left = fewer;
                false
            }
            None => {
                *left = self.every - 1;
                true
            }
        }
    }
}

/// The estimate of a number from several samplings, and its exact value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The value from all accesses.
    pub exact: f64,
    /// The mean over the samplings that have a value.
    pub mean: f64,
    /// Half width of the 95 % confidence interval of the mean; `None` for a single sampling.
    pub half_width: Option<f64>,
}

impl Estimate {
    /// Computes the estimate of a number that may be missing in some samplings; `None` if there is
    /// no exact value, or no sampling has one.
    pub fn of(
        exact: &Characterisation,
        draws: &[Characterisation],
        number: impl Fn(&Characterisation) -> Option<f64>,
    ) -> Option<Estimate> {
        let told: Vec<f64> = draws.iter().filter_map(&number).collect();
        let count = told.len() as f64;
        let mean = (count > 0.0).then(|| told.iter().sum::<f64>() / count)?;
        let spread: f64 = told.iter().map(|value| (value - mean).powi(2)).sum();
        let half_width = (told.len() > 1).then(|| {
            let student = StudentsT::new(0.0, 1.0, count - 1.0).expect("some freedom");
            student.inverse_cdf(0.975) * (spread / (count - 1.0) / count).sqrt()
        });
        Some(Estimate {
            exact: number(exact)?,
            mean,
            half_width,
        })
    }

    /// Returns the error of the mean.
    pub fn error(&self) -> f64 {
        self.mean - self.exact
    }
}

impl Subject<'_> {
    /// Characterises the functions `draws` times from one in `every` of the loads and of the
    /// stores. An access that spans lines counts for the first, as on processors.
    ///
    /// # Errors
    /// If the trace is inconsistent.
    pub fn sampled(
        &self,
        (every, seed, draws): (u64, u64, u32),
        progress: &dyn Progress,
    ) -> Result<Vec<Characterisation>, Error> {
        let draw = |draw| (Sampler::new(every, seed, draw), Touches::default());
        let mut draws: Vec<(Sampler, Touches)> = (0..draws).map(draw).collect();
        let open = self.each_access(("code blocks sampled", progress), |access, whose| {
            for (sampler, touches) in &mut draws {
                if sampler.takes(access.kind) {
                    touches.touch(*access.lines().start(), access.kind, whose);
                }
            }
        })?;
        let of_draw = |(_, touches): (Sampler, Touches)| self.characterisation(touches, &open);
        Ok(draws.into_iter().map(of_draw).collect())
    }
}
