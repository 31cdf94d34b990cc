//! What a profiler would have told: classes from a few of the accesses, and how wrong they are.
//!
//! A processor's counters sample every so many loads and every so many stores, and tell of each the
//! address, the thread and its calls. Curto took one in 1750 and could not say how far shares were
//! off, because they follow from the samples only by way of the lines. From a trace, which has all
//! accesses, it can be said: samples are drawn as a profiler draws them, several times with other
//! beginnings, and set beside what is exact.
//!
//! A line seen once is phase-local and session-local, whatever it is; and lines touched rarely are
//! not seen at all. So shares of few samples are biased, not only uncertain, and more runs narrow
//! the bars around a wrong mean.

use crate::characterize::error::Error;
use crate::characterize::subject::{Characterisation, Subject};
use crate::characterize::touches::Touches;
use corehop_partitioner::progress::Progress;
use corehop_traces::Kind;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Draws where nobody says otherwise: Curto's means are of as many runs.
pub const DRAWS: u32 = 10;

/// Takes one in so many loads, and one in so many stores, from a random one on.
#[derive(Clone, Debug)]
pub struct Sampler {
    every: u64,
    /// Loads and stores until the next that is taken.
    left: [u64; 2],
}

impl Sampler {
    /// One in `every`; the first is chosen by the seed, and differently for each draw.
    ///
    /// # Panics
    /// When `every` is 0.
    pub fn new(every: u64, seed: u64, draw: u32) -> Sampler {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(draw.into());
        let left = [(); 2].map(|()| random.random_range(0..every));
        Sampler { every, left }
    }

    /// Whether the next access, of this kind, is taken. No fetch is.
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

/// What several draws say of a number, beside what it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// From all accesses.
    pub exact: f64,
    /// Mean over the draws that say anything.
    pub mean: f64,
    /// The mean lies within so much of that of infinitely many draws, with 95 % confidence;
    /// `None` of one draw.
    pub half_width: Option<f64>,
}

impl Estimate {
    /// Of a number that not every draw may have; `None` where it is not exactly known, or no draw
    /// has it.
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

    /// How far the mean is off.
    pub fn error(&self) -> f64 {
        self.mean - self.exact
    }
}

impl Subject<'_> {
    /// Characterises the functions from one in `every` of the loads and of the stores, so many
    /// times over. An access that spans lines is told of the first, as processors do.
    ///
    /// # Errors
    /// When the trace contradicts itself.
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
