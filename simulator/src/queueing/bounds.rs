//! What throughput a network has at least and at most, whatever the times of service vary like.
//!
//! Asymptotic bounds need no assumption but that a round's demands do not depend on who else is
//! there: nobody waits, or everybody waits for everybody else (Denning and Buzen, "The operational
//! analysis of queueing network models", Computing Surveys 10, 1978; Muntz and Wong, 1974).
//! Balanced job bounds are tighter and hold for what mean value analysis solves exactly: of all
//! networks with the same demand in sum and the same largest one, those with equal demands are
//! fastest and those with as many largest ones as fit are slowest (Zahorjan, Sevcik, Eager and
//! Galler, "Balanced job bound analysis of queueing networks", Communications of the ACM 25, 1982;
//! with think time as in Lazowska, Zahorjan, Graham and Sevcik, "Quantitative System Performance",
//! 1984, chapter 5).

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
    let capacities = asked(network).map(Station::capacity);
    Bounds {
        least: number / (number * demand + think_time),
        most: capacities.fold(number / (demand + think_time), f64::min),
    }
}

/// Tighter bounds, for networks of stations with one server that [`crate::queueing::solve`] solves;
/// `None` where a station has more, or a round asks nothing of any.
pub fn balanced_jobs(network: &Network, customers: u32) -> Option<Bounds> {
    if asked(network).any(|station| station.servers > 1) || asked(network).next().is_none() {
        return None;
    }
    let number = f64::from(customers);
    let others = number - 1.0;
    let (demand, think_time) = (network.demand(), network.think_time);
    let largest = asked(network).map(|station| station.demand);
    let largest = largest.fold(0.0, f64::max);
    let mean = demand / asked(network).count() as f64;
    let at_stations = demand + think_time;
    let slowest = others * largest / (1.0 + think_time / (number * demand));
    let fastest = others * mean / (1.0 + think_time / demand);
    Some(Bounds {
        least: number / (at_stations + slowest),
        most: (number / (at_stations + fastest)).min(1.0 / largest),
    })
}

/// The stations that a round asks something of.
fn asked(network: &Network) -> impl Iterator<Item = &Station> {
    network
        .stations
        .iter()
        .filter(|station| station.demand > 0.0)
}
