//! How fast the core's clock runs: a chain of additions, one a cycle, timed.
//!
//! The time stamp counter ticks at a rate of its own, and the kernel's word for the frequency is
//! late or, in a virtual machine, made up. Caches run by the core's clock, so it is measured anew
//! beside each thing that is measured.

use crate::calibration::native::{additions, ticks};
use crate::calibration::samples::{Quartiles, median};
use serde::Serialize;
use std::time::{Duration, Instant};

/// Rounds of additions in a reading: about 10 us.
const ROUNDS: u32 = 512;
/// Readings of which the middle one counts, since one may be interrupted.
const READINGS: usize = 9;
/// How long a core is kept busy before anything is measured, so that its clock has risen.
const WARM_UP: Duration = Duration::from_millis(200);

/// What is known of the clocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Clocks {
    /// Of the core, in gigahertz, while everything else was measured.
    pub core_ghz: Quartiles,
    /// Of the time stamp counter.
    pub tsc_ghz: f64,
}

/// Keeps the core busy until its clock has risen, and says how fast the time stamp counter ticks.
pub fn warm_up() -> f64 {
    let (began, began_ticks) = (Instant::now(), ticks::now());
    while began.elapsed() < WARM_UP {
        additions::add(ROUNDS);
    }
    (ticks::now() - began_ticks) as f64 / began.elapsed().as_nanos() as f64
}

/// The core's clock now, in gigahertz.
pub fn core_ghz() -> f64 {
    let cycles = f64::from(ROUNDS) * f64::from(additions::IN_A_ROUND);
    let reading = || cycles / nanoseconds_of(|| additions::add(ROUNDS));
    let readings: Vec<f64> = (0..READINGS).map(|_| reading()).collect();
    median(&readings)
}

/// How long something takes.
pub fn nanoseconds_of(work: impl FnOnce()) -> f64 {
    let began = Instant::now();
    work();
    // A clock that is coarser than what it times must not make a rate infinite.
    began.elapsed().as_nanos().max(1) as f64
}
