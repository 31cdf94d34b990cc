//! Measures the core's clock frequency: times a chain of additions that takes one cycle each.
//!
//! The time stamp counter has its own rate. The frequency that the kernel reports lags behind and
//! is invented in some virtual machines. Caches run at the core's clock, so the clock is measured
//! next to each other measurement.

use crate::calibration::native::{additions, ticks};
use crate::calibration::samples::{Quartiles, median};
use serde::Serialize;
use std::time::{Duration, Instant};

/// Rounds of additions in a reading: about 10 us.
const ROUNDS: u32 = 512;
/// Rounds in a reading of each kind of additions: less than 10 us together.
const SHORT_ROUNDS: u32 = 256;
/// Readings per measurement. The median counts, because one may be interrupted.
const READINGS: usize = 9;
/// How long a core stays busy before measurements, so that its clock has risen.
const WARM_UP: Duration = Duration::from_millis(200);

/// Clock frequencies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Clocks {
    /// Core clock during all other measurements, in gigahertz.
    pub core_ghz: Quartiles,
    /// Time stamp counter, in gigahertz.
    pub tsc_ghz: f64,
}

/// Keeps the core busy until its clock has risen. Returns the rate of the time stamp counter, in
/// gigahertz.
pub fn warm_up() -> f64 {
    let (began, began_ticks) = (Instant::now(), ticks::now());
    while began.elapsed() < WARM_UP {
        additions::add(ROUNDS);
    }
    (ticks::now() - began_ticks) as f64 / began.elapsed().as_nanos() as f64
}

/// Measures the core's current clock frequency, in gigahertz.
pub fn core_ghz() -> f64 {
    let cycles = f64::from(ROUNDS) * f64::from(additions::IN_A_ROUND);
    let reading = || cycles / nanoseconds_of(|| additions::add(ROUNDS));
    let readings: Vec<f64> = (0..READINGS).map(|_| reading()).collect();
    median(&readings)
}

/// Measures how many independent additions the core currently does per cycle.
pub fn additions_per_cycle() -> f64 {
    let reading = || {
        let chain =
            nanoseconds_of(|| additions::add(SHORT_ROUNDS)) / f64::from(additions::IN_A_ROUND);
        let independent = nanoseconds_of(|| additions::add_independent(SHORT_ROUNDS));
        chain * f64::from(additions::INDEPENDENT_IN_A_ROUND) / independent
    };
    let readings: Vec<f64> = (0..READINGS).map(|_| reading()).collect();
    median(&readings)
}

/// Times `work`, in nanoseconds.
pub fn nanoseconds_of(work: impl FnOnce()) -> f64 {
    let began = Instant::now();
    work();
    // A clock that is coarser than `work` must not make a rate infinite.
    began.elapsed().as_nanos().max(1) as f64
}
