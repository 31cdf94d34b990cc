//! One setting of a timed replay: the machine, the load, and the scheduler.

use crate::branches::BranchPredictorName;
use crate::prefetchers::registry::PrefetcherName;
use crate::timing::error::Error;
use crate::timing::load::Load;
use crate::timing::schedulers::choice::Choice;
use crate::{Machine, PageSizes, Split};

/// Maximum number of connections; there is a matrix of evictions between them.
pub const MOST_CONNECTIONS: usize = 1024;

/// The default quantum: about a hundred L2 hits, far less than a request.
pub const QUANTUM_CYCLES: u64 = 1000;

/// Parameters of a timed replay.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The machine, including the cost of a hop.
    pub machine: &'a Machine,
    /// Number of the machine's cores that are used, from core 0 on.
    pub cores: u32,
    /// Number of connections that send requests.
    pub connections: usize,
    /// Whether connections beyond those of the trace repeat them.
    pub repeat_connections: bool,
    /// The split for schedulers that use one.
    pub split: Option<&'a Split>,
    /// The policy that decides where threads run.
    pub scheduler: Choice,
    /// The prefetcher of the cores' L2s.
    pub prefetcher: PrefetcherName,
    /// The predictor of the cores' branches.
    pub branch_predictor: BranchPredictorName,
    /// Translate addresses with pages of these sizes; `None` for no translation.
    pub page_sizes: Option<&'a PageSizes>,
    /// Place pages at random in the sets of each L2, with this seed ([`crate::PageMap::random`]);
    /// `None` for the sets of their addresses.
    pub random_pages: Option<u64>,
    /// The arrival process of requests.
    pub load: Load,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Number of cycles that a core may run ahead before the core that is behind continues.
    pub quantum_cycles: u64,
    /// Number of requests that end before counting starts.
    pub warm_up: u64,
    /// Number of requests that are counted.
    pub requests: u64,
}

impl<'a> Setting<'a> {
    /// Creates the setting in which these connections of the trace send requests without thinking,
    /// to one core without prefetchers, branch predictors and translation: a base for others.
    pub fn closed_loop(machine: &'a Machine, connections: usize, requests: u64) -> Setting<'a> {
        Setting {
            machine,
            cores: 1,
            connections,
            repeat_connections: false,
            split: None,
            scheduler: Choice::default(),
            prefetcher: PrefetcherName::None,
            branch_predictor: BranchPredictorName::None,
            page_sizes: None,
            random_pages: None,
            load: Load::Closed {
                think_cycles: 0,
                exponential: false,
            },
            seed: 1,
            quantum_cycles: QUANTUM_CYCLES,
            warm_up: requests,
            requests,
        }
    }

    /// Checks that the setting can be simulated, given a trace of `available` connections.
    ///
    /// # Errors
    /// The first problem found.
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
        if self.page_sizes.is_some() && self.machine.translation.is_none() {
            return Err(Error::NoTranslation {
                machine: self.machine.name.clone(),
            });
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
