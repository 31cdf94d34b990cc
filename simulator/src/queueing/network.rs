//! A closed queueing network: stations, and a delay between two rounds through them.
//!
//! The number of customers is fixed. A round demands some service time at each station, over any
//! number of visits; nobody waits at the delay. All customers are alike.

/// One server, or several equal ones with one queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Station {
    /// Service time of a round, the sum over all visits.
    pub demand: f64,
    /// Number of customers it serves at a time, each at full speed; 0 counts as 1.
    pub servers: u32,
}

/// Stations and a delay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// The stations, where customers wait for each other.
    pub stations: Vec<Station>,
    /// Time of a round elsewhere, independent of the number of customers.
    pub think_time: f64,
}

impl Station {
    /// Creates a station with this many servers.
    pub fn new(demand: f64, servers: u32) -> Station {
        Station { demand, servers }
    }

    /// Returns the maximum number of rounds per unit of time.
    pub fn capacity(&self) -> f64 {
        f64::from(self.servers.max(1)) / self.demand
    }
}

impl Network {
    /// Creates a network in which each request visits all of these cores as stages; `demands` are
    /// the times of a request on each core.
    pub fn of_stages(demands: &[f64], think_time: f64) -> Network {
        Network {
            stations: demands.iter().map(|&time| Station::new(time, 1)).collect(),
            think_time,
        }
    }

    /// Creates a network in which each request stays on one of `cores` equal cores, any free one.
    pub fn of_equal_cores(demand: f64, cores: u32, think_time: f64) -> Network {
        Network {
            stations: vec![Station::new(demand, cores)],
            think_time,
        }
    }

    /// Returns the service time that a round demands at all stations.
    pub fn demand(&self) -> f64 {
        self.stations.iter().map(|station| station.demand).sum()
    }

    /// Returns the network without the station at `place`.
    pub(crate) fn without(&self, place: usize) -> Network {
        let mut rest = self.clone();
        rest.stations.remove(place);
        rest
    }
}
