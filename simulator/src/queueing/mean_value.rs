//! Exact mean value analysis of closed networks, by adding one customer at a time.
//!
//! A customer that arrives at a station finds, on average, the state of the network with one
//! customer less (Reiser and Lavenberg, "Mean-value analysis of closed multichain queuing
//! networks", J. ACM 27, 1980). A round's time at a station thus follows from the network with one
//! customer less, and throughput from Little's law. A station of several servers also needs the
//! probabilities of having fewer customers than servers. The usual method computes the probability
//! of an empty station as the remainder to 1, which loses all digits if that is small. Here it
//! follows from the network without the station (Reiser, "Mean-value analysis and convolution
//! method for queue-dependent servers in closed queueing networks", Performance Evaluation 1,
//! 1981), without subtraction. This solves a network for each set of such stations.
//!
//! The analysis assumes exponential service times, or servers shared by all customers present; less
//! variable times wait less.

use crate::queueing::network::{Network, Station};

/// Long-term averages of a network with some number of customers.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Number of customers.
    pub customers: u32,
    /// Rounds per unit of time; infinite if a round demands no time at all.
    pub throughput: f64,
    /// Time of a round at the stations, including waiting.
    pub response: f64,
    /// Utilisation of each station, in the network's order.
    pub stations: Vec<StationUse>,
}

/// Utilisation of a station.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StationUse {
    /// Time of a round there, including waiting.
    pub residence: f64,
    /// Customers there, waiting or in service.
    pub customers: f64,
    /// Number of busy servers.
    pub busy: f64,
}

/// Solves the network with 1 to `customers` customers.
pub fn solve(network: &Network, customers: u32) -> Vec<Solution> {
    if network.demand() + network.think_time <= 0.0 {
        return (1..=customers)
            .map(|number| of_nothing(network, number))
            .collect();
    }
    let places = 0..network.stations.len();
    let mut states: Vec<State> = places
        .map(|place| State::without_customers(network, place, customers))
        .collect();
    let mut with_one_more = |number: u32| {
        let at = network.stations.iter().zip(&states);
        let residences: Vec<f64> = at
            .map(|(station, state)| state.residence(station))
            .collect();
        let response: f64 = residences.iter().sum();
        let throughput = f64::from(number) / (response + network.think_time);
        let at = network.stations.iter().zip(&mut states).zip(&residences);
        let used = at.map(|((station, state), &residence)| {
            state.come_to(station, throughput, throughput * residence, number);
            StationUse {
                residence,
                customers: throughput * residence,
                busy: throughput * station.demand,
            }
        });
        Solution {
            customers: number,
            throughput,
            response,
            stations: used.collect(),
        }
    };
    (1..=customers).map(&mut with_one_more).collect()
}

/// Returns rounds per unit of time with this many customers; 0 without customers, and if a round
/// demands no time at all, because the throughput is then undefined.
pub fn throughput(network: &Network, customers: u32) -> f64 {
    let last = solve(network, customers).pop();
    let throughput = last.map_or(0.0, |solution| solution.throughput);
    if throughput.is_finite() {
        throughput
    } else {
        0.0
    }
}

/// Returns the solution for rounds that take no time.
fn of_nothing(network: &Network, customers: u32) -> Solution {
    Solution {
        customers,
        throughput: f64::INFINITY,
        response: 0.0,
        stations: vec![StationUse::default(); network.stations.len()],
    }
}

/// A station in the network with some number of customers.
struct State {
    customers: f64,
    /// For several servers: the probabilities of 0, 1, ... customers, up to one less than servers.
    likely: Vec<f64>,
    /// For several servers: the throughput of the network without the station, from one customer
    /// on.
    rest: Vec<f64>,
}

impl State {
    fn without_customers(network: &Network, place: usize, customers: u32) -> State {
        let servers = network.stations[place].servers.max(1) as usize;
        if servers == 1 {
            return State {
                customers: 0.0,
                likely: Vec::new(),
                rest: Vec::new(),
            };
        }
        let mut likely = vec![0.0; servers];
        likely[0] = 1.0;
        let rest = solve(&network.without(place), customers);
        State {
            customers: 0.0,
            likely,
            rest: rest.iter().map(|solution| solution.throughput).collect(),
        }
    }

    /// Returns a round's time there if one customer is added.
    fn residence(&self, station: &Station) -> f64 {
        let servers = f64::from(station.servers.max(1));
        let free = (0..).zip(&self.likely).map(|(there, likely)| {
            // Servers that remain free when the customer arrives.
            (servers - 1.0 - f64::from(there)) * likely
        });
        station.demand / servers * (1.0 + self.customers + free.sum::<f64>())
    }

    /// Updates the state after adding one customer; the network now has `number`.
    fn come_to(&mut self, station: &Station, throughput: f64, customers: f64, number: u32) {
        self.customers = customers;
        for there in (1..self.likely.len()).rev() {
            let busy = station.demand * throughput / there as f64;
            self.likely[there] = busy * self.likely[there - 1];
        }
        if let Some(none) = self.likely.first_mut() {
            *none *= throughput / self.rest[number as usize - 1];
        }
    }
}
