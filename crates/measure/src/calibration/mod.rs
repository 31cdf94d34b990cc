//! What this machine's caches, cores and hops cost: measured, judged, and kept as a machine file.
//!
//! The kernel says how large caches are and nothing of how slow. [`calibrate`] measures that, by
//! walks whose every step waits for the one before; [`doubts`] says what speaks against the result,
//! on a machine that was busy; [`render`] makes a machine file of it, which `--machine host` then
//! takes. It is for x86-64, as the patcher is, whose hops it times.
//!
//! Reading order: `orders` and `walk` are what is measured, `caches` measures levels, `curve` and
//! `bend` their sizes, `cores` pairs of CPUs, `hops` hops; `native/` has all unsafe code. Nothing
//! is printed here: an [`Observer`] is told how far a calibration is.

#![deny(missing_docs)]

mod bend;
mod caches;
mod calibrated;
mod clock;
mod cores;
mod curve;
mod doubts;
mod effort;
mod error;
mod hops;
mod machine_file;
mod measure;
mod native;
mod observer;
mod orders;
pub mod patched;
mod pinned;
mod replacement;
pub mod samples;
mod turns;
mod walk;
mod watch;

pub use bend::{Capacity, Point};
pub use caches::Latencies;
pub use calibrated::Calibration;
pub use clock::{Clocks, core_ghz, warm_up};
pub use cores::{Pair, transfer_cycles};
pub use doubts::{Doubt, doubts};
pub use effort::Effort;
pub use error::Error;
pub use hops::Hops;
pub use machine_file::{notes, render};
pub use measure::calibrate;
pub use observer::Observer;
pub use replacement::{Misses, Replacement};
pub use watch::Disturbance;
