//! Exact mean value analysis of closed networks, one customer more at a time.
//!
//! Who arrives at a station finds what the network with one customer less has there on average
//! (Reiser and Lavenberg, "Mean-value analysis of closed multichain queuing networks", J. ACM 27,
//! 1980). So a round's time at a station follows from the network with one customer less, and
//! throughput from Little's law. A station of several servers also needs to know how likely fewer
//! customers than servers are there. The usual way takes the probability that none is there as what
//! is left of 1, which loses all digits where that is small. Here it follows from the network
//! without the station (Reiser, "Mean-value analysis and convolution method for queue-dependent
//! servers in closed queueing networks", Performance Evaluation 1, 1981), and nothing is
//! subtracted; that solves a network for each set of such stations.
//!
//! Times at a station count as exponential, or its servers as shared by all who are there; steadier
//! times wait less.

use crate::queueing::network::{Network, Station};

/// A network with some number of customers, on average over a long time.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// How many customers go round.
    pub customers: u32,
    /// Rounds per unit of time; infinite where a round asks for no time at all.
    pub throughput: f64,
    /// Time that a round spends at the stations, waiting included.
    pub response: f64,
    /// What each station is used for, in the network's order.
    pub stations: Vec<StationUse>,
}

/// What a station is used for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StationUse {
    /// Time that a round spends there, waiting included.
    pub residence: f64,
    /// Customers there, waiting or served.
    pub customers: f64,
    /// Servers that are busy.
    pub busy: f64,
}

/// The network with 1 to `customers` customers.
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

/// Rounds per unit of time with so many customers; 0 where there is none, and where a round asks
/// for no time at all, of which nothing can be said.
pub fn throughput(network: &Network, customers: u32) -> f64 {
    let last = solve(network, customers).pop();
    let throughput = last.map_or(0.0, |solution| solution.throughput);
    if throughput.is_finite() {
        throughput
    } else {
        0.0
    }
}

/// Rounds that take no time.
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
    /// Of several servers: how likely 0, 1 and so on are there, up to one less than servers.
    likely: Vec<f64>,
    /// Of several servers: the throughput of the network without the station, from one customer on.
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

    /// A round's time there when one customer more comes.
    fn residence(&self, station: &Station) -> f64 {
        let servers = f64::from(station.servers.max(1));
        let free = (0..).zip(&self.likely).map(|(there, likely)| {
            // Servers that the one who comes leaves free.
            (servers - 1.0 - f64::from(there)) * likely
        });
        station.demand / servers * (1.0 + self.customers + free.sum::<f64>())
    }

    /// One customer more has come; there are `number` in the network.
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
