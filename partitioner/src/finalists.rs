//! The finalists of a search for throughput, each replayed with clocks.
//!
//! By formulas ([`crate::objective`]) a core is a station whose demand does not depend on who else
//! is there. A timed replay has what they leave out: connections evict each other's lines in the
//! order in which cores get to them, and a thread waits for the core that its request ended on. It
//! takes a hundred times as long, so the formulas order all splits that are replayed in full, and
//! the best few of these are replayed with clocks. The one with the most throughput is taken.
//!
//! Each connection always has a request, the scheduler does as the plan says (`split` of
//! docs/reference/timed.md), and references cost what the objective has them cost, one after the
//! other. What is replayed are the requests that do not judge the result, once to warm up and once
//! counted: those searched alone are so few that most connections would have one or none.

use crate::Error;
use crate::weights::{ONE, Weighted};
use corehop_simulator::core_model::InOrder;
use corehop_simulator::timing::{
    Load, MOST_CONNECTIONS, PrefetcherName, QUANTUM_CYCLES, Setting, Streams, simulate,
};
use corehop_simulator::{CoreId, Machine, Split};
use corehop_traces::{Executions, FunctionId, Trace};
use rayon::prelude::*;

/// Most splits that are replayed with clocks.
pub const MOST_FINALISTS: usize = 8;

/// What a search makes of clocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finals {
    /// Nothing: its objective has none.
    NotAsked,
    /// Nothing: the requests that do not judge are of fewer connections, and may not be repeated.
    TooFewConnections {
        /// So many.
        available: usize,
    },
    /// Nothing: a timed replay has no more connections than that.
    TooManyConnections {
        /// The most it has.
        most: usize,
    },
    /// The finalists are replayed.
    Replayed {
        /// Connections of the requests that do not judge.
        available: usize,
        /// Requests counted, of each finalist.
        requests: u64,
        /// By machine, what they take without a split, on as many cores that any may use.
        baseline_cycles: Vec<u64>,
    },
}

/// What a finalist takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timed {
    /// By machine, cycles until all requests counted have ended.
    pub elapsed_cycles: Vec<u64>,
    /// What the finalists are ordered by: these cycles, or of several machines the mean share of
    /// what they take without a split, in units of 1 / [`ONE`].
    pub value: u64,
}

/// What finalists are replayed with.
pub(crate) struct TimedReplay<'a> {
    streams: Streams,
    machines: &'a [Weighted],
    connections: usize,
}

/// Asks for finals, for so many connections.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub trace: &'a Trace,
    pub machines: &'a [Weighted],
    /// All functions at which a split may move threads.
    pub functions: &'a [FunctionId],
    pub connections: u32,
    pub repeat_connections: bool,
}

impl<'a> TimedReplay<'a> {
    /// The replay, or why there is none.
    ///
    /// # Errors
    /// What reading the trace says.
    pub fn new(
        executions: Executions<'_>,
        wanted: Wanted<'a>,
    ) -> Result<Result<TimedReplay<'a>, Finals>, Error> {
        let most = MOST_CONNECTIONS;
        let connections = wanted.connections as usize;
        if connections > most {
            return Ok(Err(Finals::TooManyConnections { most }));
        }
        let functions = wanted.functions.iter().copied();
        let anywhere = Split::new(functions.map(|function| (function, CoreId(0))));
        let streams = Streams::of_executions(wanted.trace, executions, &[&anywhere])?;
        let available = streams.connections();
        if connections > available && !wanted.repeat_connections {
            return Ok(Err(Finals::TooFewConnections { available }));
        }
        Ok(Ok(TimedReplay {
            streams,
            machines: wanted.machines,
            connections,
        }))
    }

    /// What splits over so many cores are told beside.
    ///
    /// # Errors
    /// What the timed replay says of its setting.
    pub fn finals(&self, cores: u32) -> Result<Finals, Error> {
        Ok(Finals::Replayed {
            available: self.streams.connections(),
            requests: self.streams.requests(self.connections),
            baseline_cycles: self.elapsed_cycles(cores, None)?,
        })
    }

    /// What `split` takes, beside these finals.
    ///
    /// # Errors
    /// As [`TimedReplay::finals`].
    pub fn of(&self, split: &Split, finals: &Finals) -> Result<Timed, Error> {
        let elapsed_cycles = self.elapsed_cycles(split.cores(), Some(split))?;
        let value = match (&elapsed_cycles[..], finals) {
            (
                several @ [_, _, ..],
                Finals::Replayed {
                    baseline_cycles, ..
                },
            ) => self.share(several, baseline_cycles),
            (one, _) => one[0],
        };
        Ok(Timed {
            elapsed_cycles,
            value,
        })
    }

    /// The mean of these as shares of those without a split, by the machines' weights.
    fn share(&self, elapsed: &[u64], baseline: &[u64]) -> u64 {
        let total: f64 = self.machines.iter().map(|of| of.weight).sum();
        let pairs = elapsed.iter().zip(baseline).zip(self.machines);
        let shares = pairs.map(|((&elapsed, &baseline), of)| {
            of.weight / total * elapsed as f64 / baseline.max(1) as f64
        });
        (ONE as f64 * shares.sum::<f64>()).round() as u64
    }

    /// By machine.
    fn elapsed_cycles(&self, cores: u32, split: Option<&Split>) -> Result<Vec<u64>, Error> {
        let machines = self.machines.par_iter();
        let on = |of: &Weighted| self.elapsed_on(&of.machine, cores, split);
        machines.map(on).collect()
    }

    fn elapsed_on(
        &self,
        machine: &Machine,
        cores: u32,
        split: Option<&Split>,
    ) -> Result<u64, Error> {
        let requests = self.streams.requests(self.connections);
        let scheduler = match split {
            Some(_) => "split",
            None => "free",
        };
        let setting = Setting {
            machine,
            cores,
            connections: self.connections,
            repeat_connections: true,
            split,
            scheduler: scheduler.parse().expect("the name of a scheduler"),
            prefetcher: PrefetcherName::None,
            load: Load::Closed {
                think_cycles: 0,
                exponential: false,
            },
            seed: 0,
            quantum_cycles: QUANTUM_CYCLES,
            warm_up: requests,
            requests,
        };
        Ok(simulate(&self.streams, &setting, InOrder::new)?.elapsed_cycles)
    }
}
