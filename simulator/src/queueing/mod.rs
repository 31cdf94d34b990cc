//! How much of its cores a busy server can use, by formulas instead of a simulation.
//!
//! Connections that wait for an answer before they ask again are the customers of a closed queueing
//! network: a core, or several equal ones, is a station, and what passes between an answer and the
//! next request is a delay ([`Network`]). [`solve`] is exact mean value analysis of such networks,
//! and [`asymptotic`] is what no network of these demands exceeds.
//!
//! `docs/reference/utilisation.md` has the formulas, their sources and their assumptions.

#![forbid(unsafe_code)]

mod bounds;
mod mean_value;
mod network;

pub use bounds::{Bounds, asymptotic};
pub use mean_value::{Solution, StationUse, solve, throughput};
pub use network::{Network, Station};
