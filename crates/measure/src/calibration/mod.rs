//! Measures this machine's caches, cores and hops, checks the result, and writes it as a machine
//! file.
//!
//! The kernel reports the sizes of caches but not their latencies. [`calibrate`] measures latencies
//! with walks whose every step depends on the previous one. [`doubts`] lists reasons to distrust
//! the result, such as a busy machine. [`render`] turns the result into a machine file, which
//! `--machine host` then uses. The crate is for x86-64, like the patcher, whose hops it times.
//!
//! Reading order: `orders` and `walk` define what is measured. `caches` measures levels, `curve`
//! and `bend` their sizes, `tlbs` translation, `branches` mispredictions, `cores` pairs of CPUs,
//! and `hops` hops. `native/` has all unsafe code. Nothing is printed here: an [`Observer`]
//! receives the progress.

#![deny(missing_docs)]

mod bend;
mod branches;
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
pub(crate) mod pinned;
mod replacement;
pub mod samples;
mod tlbs;
mod turns;
mod walk;
mod watch;

pub use bend::{Capacity, Point};
pub use caches::Latencies;
pub use calibrated::Calibration;
pub(crate) use clock::additions_per_cycle;
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
pub use tlbs::{PagePoint, Tlbs};
pub use watch::Disturbance;
