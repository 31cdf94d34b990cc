//! What throughput a network has at least and at most, whatever the times of service vary like.
//!
//! Asymptotic bounds need no assumption but that a round's demands do not depend on who else is
//! there: nobody waits, or everybody waits for everybody else (Denning and Buzen, "The operational
//! analysis of queueing network models", Computing Surveys 10, 1978; Muntz and Wong, 1974).

use crate::queueing::network::{Network, Station};

/// What throughput lies between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// At least so many rounds per unit of time.
    pub least: f64,
    /// At most so many.
    pub most: f64,
}

/// Bounds that hold for every distribution of times. Steady rounds through stations that serve in
/// order of arrival reach the upper one.
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
