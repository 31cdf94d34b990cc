//! How much of its cores a busy server can use, by formulas instead of a simulation.
//!
//! Connections that wait for an answer before they ask again are the customers of a closed queueing
//! network: a core, or several equal ones, is a station, and what passes between an answer and the
//! next request is a delay ([`Network`]). [`solve`] is exact mean value analysis of such networks,
//! [`asymptotic`] and [`balanced_jobs`] are what no network of these demands exceeds. Threads that
//! take locks ([`LockedProgram`]) have two models: [`Analytic`] is such a network, and
//! [`Probabilistic`] follows from how likely two critical sections are to contend.
//!
//! `docs/reference/utilisation.md` has the formulas, their sources and their assumptions.

#![forbid(unsafe_code)]

mod analytic;
mod bounds;
mod locked_program;
mod mean_value;
mod network;
mod probabilistic;

pub use analytic::{Analytic, Waiting};
pub use bounds::{Bounds, asymptotic, balanced_jobs};
pub use locked_program::LockedProgram;
pub use mean_value::{Solution, StationUse, solve, throughput};
pub use network::{Network, Station};
pub use probabilistic::Probabilistic;
