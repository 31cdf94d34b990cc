//! The number of cores that threads with locks can use, by two models of the same program.
//!
//! [`LockedProgram`] is the program. [`Analytic`] is a closed queueing network of its locks, solved
//! by [`corehop_simulator::queueing`]. [`Probabilistic`] follows from the probability that two
//! critical sections contend. `research/utilisation.md` has the formulas, their sources, and
//! measurements for comparison.

#![forbid(unsafe_code)]

mod analytic;
mod locked_program;
mod probabilistic;

pub use analytic::{Analytic, Waiting};
pub use locked_program::LockedProgram;
pub use probabilistic::Probabilistic;
