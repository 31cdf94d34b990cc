//! How many cores threads that take locks can use, by two models of the same program.
//!
//! [`LockedProgram`] is the program. [`Analytic`] is a closed queueing network of its locks, which
//! [`corehop_simulator::queueing`] solves, and [`Probabilistic`] follows from how likely two
//! critical sections are to contend. `research/utilisation.md` has the formulas, their sources, and
//! what a machine measures beside them.

#![forbid(unsafe_code)]

mod analytic;
mod locked_program;
mod probabilistic;

pub use analytic::{Analytic, Waiting};
pub use locked_program::LockedProgram;
pub use probabilistic::Probabilistic;
