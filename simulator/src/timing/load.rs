//! Arrival of requests: from clients that wait for their answers, or at a given rate.
//!
//! In a closed loop each connection's client thinks, sends a request, waits for its end, and thinks
//! again. In an open loop requests arrive at a rate, independent of earlier requests. They are a
//! Poisson process in which each request is of any connection with equal probability, which equals
//! one Poisson process for each connection. All random numbers are from ChaCha (8 rounds) with the
//! replay's seed. The open loop uses stream 0. The think times of connection `c` use stream `c +
//! 1`, so they do not depend on the order of events.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How requests arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// A connection's next request arrives this many cycles after the end of the previous one.
    Closed {
        /// The think time, or its mean.
        think_cycles: u64,
        /// Whether each think time is sampled from an exponential distribution.
        exponential: bool,
    },
    /// Requests arrive in a Poisson process.
    Open {
        /// The rate over all connections.
        requests_per_million_cycles: f64,
    },
}

/// The future arrivals of requests.
pub(crate) struct Arrivals {
    load: Load,
    connections: u64,
    /// One generator for each connection in a closed loop, otherwise one.
    random: Vec<ChaCha8Rng>,
    /// Cycle and connection of each arrival.
    coming: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Arrivals {
    /// Creates the arrivals from cycle 0 on.
    pub fn new(load: Load, connections: usize, seed: u64) -> Arrivals {
        let generator = |stream| {
            let mut generator = ChaCha8Rng::seed_from_u64(seed);
            generator.set_stream(stream);
            generator
        };
        let random = match load {
            Load::Closed { .. } => (1..=connections as u64).map(generator).collect(),
            Load::Open { .. } => vec![generator(0)],
        };
        let mut arrivals = Arrivals {
            load,
            connections: connections as u64,
            random,
            coming: BinaryHeap::new(),
        };
        match load {
            Load::Closed { .. } => (0..connections).for_each(|c| arrivals.think(c, 0)),
            Load::Open { .. } => arrivals.draw_next(0),
        }
        arrivals
    }

    /// Returns when the next request arrives, if one is scheduled.
    pub fn next_cycle(&self) -> Option<u64> {
        self.coming.peek().map(|Reverse((cycle, _))| *cycle)
    }

    /// Removes the next request; returns its arrival cycle and its connection.
    pub fn take(&mut self) -> Option<(u64, usize)> {
        let Reverse((cycle, connection)) = self.coming.pop()?;
        if let Load::Open { .. } = self.load {
            self.draw_next(cycle);
        }
        Some((cycle, connection))
    }

    /// Records the end of a request of `connection`.
    pub fn ended(&mut self, connection: usize, cycle: u64) {
        if let Load::Closed { .. } = self.load {
            self.think(connection, cycle);
        }
    }

    fn think(&mut self, connection: usize, since: u64) {
        let Load::Closed {
            think_cycles,
            exponential,
        } = self.load
        else {
            return;
        };
        let cycles = match exponential {
            true => drawn(&mut self.random[connection], think_cycles as f64),
            false => think_cycles,
        };
        self.coming.push(Reverse((since + cycles, connection)));
    }

    fn draw_next(&mut self, since: u64) {
        let Load::Open {
            requests_per_million_cycles,
        } = self.load
        else {
            return;
        };
        let random = &mut self.random[0];
        let cycle = since + drawn(random, 1e6 / requests_per_million_cycles);
        let connection = random.random_range(0..self.connections) as usize;
        self.coming.push(Reverse((cycle, connection)));
    }
}

/// Samples cycles from an exponential distribution with this mean, by inversion, rounded.
fn drawn(random: &mut ChaCha8Rng, mean: f64) -> u64 {
    let uniform: f64 = random.random();
    (-(1.0 - uniform).ln() * mean).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of many gaps is within five standard errors of the parameter.
    #[test]
    fn requests_come_at_their_rate_and_clients_think_as_long_as_they_should() {
        let count = 20_000;
        let mut open = Arrivals::new(
            Load::Open {
                requests_per_million_cycles: 50.0,
            },
            3,
            7,
        );
        let mut last = 0;
        let mut of_connections = [0; 3];
        for _ in 0..count {
            let (cycle, connection) = open.take().unwrap();
            assert!(cycle >= last);
            last = cycle;
            of_connections[connection] += 1;
        }
        let within = |mean: f64, expected: f64| {
            let error = expected / f64::from(count).sqrt();
            assert!((mean - expected).abs() < 5.0 * error, "{mean} {expected}");
        };
        within(last as f64 / f64::from(count), 20_000.0);
        for count in of_connections {
            assert!((6_300..7_000).contains(&count), "{count}");
        }
        let mut closed = Arrivals::new(
            Load::Closed {
                think_cycles: 300,
                exponential: true,
            },
            1,
            7,
        );
        let mut thought = 0;
        for _ in 0..count {
            let (cycle, connection) = closed.take().unwrap();
            thought += cycle;
            closed.ended(connection, 0);
        }
        within(thought as f64 / f64::from(count), 300.0);
    }
}
