//! One setting of a timed replay: the machine, who sends requests, and who says where they run.

use crate::timing::error::Error;
use crate::timing::load::Load;
use crate::timing::prefetchers::registry::PrefetcherName;
use crate::timing::schedulers::choice::Choice;
use crate::{Machine, Split};

/// Most connections: a matrix says what each evicts of each.
pub const MOST_CONNECTIONS: usize = 1024;

/// The quantum where nobody says another: a hundred L2 hits or so, far less than a request.
pub const QUANTUM_CYCLES: u64 = 1000;

/// What to simulate.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// With the cost of a hop.
    pub machine: &'a Machine,
    /// How many of the machine's cores are used, from core 0 on.
    pub cores: u32,
    /// How many connections send requests.
    pub connections: usize,
    /// Whether connections beyond those of the trace repeat them.
    pub repeat_connections: bool,
    /// What the scheduler may go by.
    pub split: Option<&'a Split>,
    /// Where threads run.
    pub scheduler: Choice,
    /// What the cores' L2s are brought before it is referenced.
    pub prefetcher: PrefetcherName,
    /// When requests come.
    pub load: Load,
    /// Of all random numbers.
    pub seed: u64,
    /// How far a core goes on before the one that is behind comes.
    pub quantum_cycles: u64,
    /// Requests that end before counting starts.
    pub warm_up: u64,
    /// Requests that are counted.
    pub requests: u64,
}

impl Setting<'_> {
    /// Whether it can be simulated, given a trace of so many connections.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn check(&self, available: usize) -> Result<(), Error> {
        if self.cores == 0 || self.cores > self.machine.cores {
            return Err(Error::Cores {
                asked: self.cores,
                machine: self.machine.name.clone(),
                machine_cores: self.machine.cores,
            });
        }
        let asked = self.connections;
        if asked == 0 || asked > MOST_CONNECTIONS {
            let most = MOST_CONNECTIONS;
            return Err(Error::NumberOfConnections { asked, most });
        }
        if asked > available && !self.repeat_connections {
            return Err(Error::TooFewConnections { available, asked });
        }
        self.check_split()?;
        match self.load {
            Load::Open {
                requests_per_million_cycles: rate,
            } if !(rate > 0.0 && rate <= 1e6) => Err(Error::Rate {
                requests_per_million_cycles: rate,
            }),
            _ if self.requests == 0 => Err(Error::NothingToCount),
            _ if self.quantum_cycles == 0 => Err(Error::NoQuantum),
            _ => Ok(()),
        }
    }

    fn check_split(&self) -> Result<(), Error> {
        if !self.scheduler.entry.goes_by_plan {
            return Ok(());
        }
        let split = self.split.ok_or_else(|| Error::NeedsPlan {
            scheduler: self.scheduler.to_string(),
        })?;
        if split.cores() > self.cores {
            return Err(Error::TooManyCores {
                cores: split.cores(),
                used: self.cores,
            });
        }
        Ok(())
    }
}
