//! The core utilisation of a busy server, by formulas instead of a simulation.
//!
//! Connections that wait for an answer before the next request are the customers of a closed
//! queueing network. A core, or several equal ones, is a station; the time between an answer and
//! the next request is a delay ([`Network`]). [`solve`] is exact mean value analysis of such
//! networks, and [`asymptotic`] gives bounds for any network of these demands.
//!
//! `docs/reference/utilisation.md` has the formulas, their sources and their assumptions.

#![forbid(unsafe_code)]

mod bounds;
mod mean_value;
mod network;

pub use bounds::{Bounds, asymptotic};
pub use mean_value::{Solution, StationUse, solve, throughput};
pub use network::{Network, Station};
