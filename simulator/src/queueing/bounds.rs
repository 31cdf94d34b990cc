//! Lower and upper bounds on the throughput of a network, for any distribution of service times.
//!
//! Asymptotic bounds only assume that a round's demands do not depend on the other customers:
//! nobody waits, or everybody waits for everybody else (Denning and Buzen, "The operational
//! analysis of queueing network models", Computing Surveys 10, 1978; Muntz and Wong, 1974).

use crate::queueing::network::{Network, Station};

/// Bounds on the throughput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Lower bound in rounds per unit of time.
    pub least: f64,
    /// Upper bound in rounds per unit of time.
    pub most: f64,
}

/// Returns bounds that hold for every distribution of times. Constant times at stations that serve
/// in order of arrival reach the upper one.
pub fn asymptotic(network: &Network, customers: u32) -> Bounds {
    let number = f64::from(customers);
    let (demand, think_time) = (network.demand(), network.think_time);
    let asked = network
        .stations
        .iter()
        .filter(|station| station.demand > 0.0);
    let capacities = asked.map(Station::capacity);
    Bounds {
        least: number / (number * demand + think_time),
        most: capacities.fold(number / (demand + think_time), f64::min),
    }
}
