//! A closed queueing network: stations, and a delay between two rounds through them.
//!
//! A fixed number of customers goes round. Of each station a round asks for some time of service,
//! in however many visits; at the delay nobody waits for anybody. All customers are alike.

/// One server, or several equal ones with one queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Station {
    /// Time of service that a round asks of it, all visits together.
    pub demand: f64,
    /// How many customers it serves at a time, each at full speed; 0 counts as 1.
    pub servers: u32,
}

/// Stations and a delay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// Where customers wait for each other.
    pub stations: Vec<Station>,
    /// Time that a round takes elsewhere, however many customers there are.
    pub think_time: f64,
}

impl Station {
    /// A station with so many servers.
    pub fn new(demand: f64, servers: u32) -> Station {
        Station { demand, servers }
    }

    /// The most rounds per unit of time that it can serve.
    pub fn capacity(&self) -> f64 {
        f64::from(self.servers.max(1)) / self.demand
    }
}

impl Network {
    /// Each request goes through all of these cores, which are stages of it: core by core, the
    /// time that a request spends there.
    pub fn of_stages(demands: &[f64], think_time: f64) -> Network {
        Network {
            stations: demands.iter().map(|&time| Station::new(time, 1)).collect(),
            think_time,
        }
    }

    /// Each request stays on one of so many equal cores, any that is free.
    pub fn of_equal_cores(demand: f64, cores: u32, think_time: f64) -> Network {
        Network {
            stations: vec![Station::new(demand, cores)],
            think_time,
        }
    }

    /// Time of service that a round asks of all stations together.
    pub fn demand(&self) -> f64 {
        self.stations.iter().map(|station| station.demand).sum()
    }

    /// The same network with one station less, and nothing in its place.
    pub(crate) fn without(&self, place: usize) -> Network {
        let mut rest = self.clone();
        rest.stations.remove(place);
        rest
    }
}
