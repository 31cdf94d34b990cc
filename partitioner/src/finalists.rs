//! Timed replays of the finalists of a search for throughput.
//!
//! In the formulas ([`crate::objective`]), a core is a station whose demand does not depend on the
//! other threads on it. A timed replay models what they omit. Connections evict each other's lines
//! in the order in which cores serve them, and a thread waits for the core that its request ended
//! on. It takes a hundred times as long. So the formulas order all fully replayed splits, and only
//! the best few get a timed replay. The one with the highest throughput is selected.
//!
//! Each connection always has a request. The scheduler follows the plan (`split` of
//! docs/reference/timed.md). Cores are of the window model, with TLBs if the machine has them, as
//! in [`crate::expected`]; pages have the sets of their addresses, because a random placement would
//! favor some splits by chance. The replayed requests are those not used for the evaluation: one
//! pass warms up and one is counted. The searched requests alone are so few that most connections
//! would have one or none.

use crate::Error;
use crate::expected::translating;
use crate::weights::{ONE, Weighted};
use corehop_simulator::core_model::{AddressSources, Window};
use corehop_simulator::timing::{MOST_CONNECTIONS, Needs, Setting, Streams, simulate};
use corehop_simulator::{CoreId, Machine, PageSizes, Split};
use corehop_traces::{Executions, FunctionId, Trace};
use rayon::prelude::*;

/// Maximum number of splits with a timed replay.
pub const MOST_FINALISTS: usize = 8;

/// Outcome of the timed replays of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finals {
    /// None: the objective needs no timed replay.
    NotAsked,
    /// None: the available requests have fewer connections, and may not be repeated.
    TooFewConnections {
        /// Number of available connections.
        available: usize,
    },
    /// None: a timed replay supports fewer connections.
    TooManyConnections {
        /// Maximum number of connections.
        most: usize,
    },
    /// The finalists are replayed.
    Replayed {
        /// Number of connections of the requests not used for the evaluation.
        available: usize,
        /// Number of requests counted for each finalist.
        requests: u64,
        /// By machine: cycles without a split, on the same number of cores, with any thread on any
        /// core.
        baseline_cycles: Vec<u64>,
    },
}

/// Result of a finalist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timed {
    /// By machine: cycles until all counted requests have ended.
    pub elapsed_cycles: Vec<u64>,
    /// The sort key of finalists: these cycles; with several machines, the mean share of the cycles
    /// without a split, in units of 1 / [`ONE`].
    pub value: u64,
}

/// Replays finalists with a clock.
pub(crate) struct TimedReplay<'a> {
    streams: Streams,
    machines: &'a [Weighted],
    trace: &'a Trace,
    page_sizes: PageSizes,
    connections: usize,
}

/// Input of a timed replay, for a number of connections.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub trace: &'a Trace,
    pub machines: &'a [Weighted],
    /// All functions at which a split may hop.
    pub functions: &'a [FunctionId],
    pub connections: u32,
    pub repeat_connections: bool,
}

impl<'a> TimedReplay<'a> {
    /// Returns the replay, or the reason why there is none.
    ///
    /// # Errors
    /// Fails if the trace cannot be read.
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
        let trace = wanted.trace;
        let sources = &mut AddressSources::new(trace);
        let of = (trace, executions);
        let streams = Streams::annotated(of, &[&anywhere], sources, Needs::default())?;
        let available = streams.connections();
        if connections > available && !wanted.repeat_connections {
            return Ok(Err(Finals::TooFewConnections { available }));
        }
        Ok(Ok(TimedReplay {
            streams,
            machines: wanted.machines,
            trace,
            page_sizes: PageSizes::default(),
            connections,
        }))
    }

    /// Measures the baseline of splits over `cores` cores.
    ///
    /// # Errors
    /// Fails if the timed replay rejects its setting.
    pub fn finals(&self, cores: u32) -> Result<Finals, Error> {
        Ok(Finals::Replayed {
            available: self.streams.connections(),
            requests: self.streams.requests(self.connections),
            baseline_cycles: self.elapsed_cycles(cores, None)?,
        })
    }

    /// Replays `split` and returns its result relative to `finals`.
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

    /// Returns the mean of these as shares of the baseline, by the machines' weights.
    fn share(&self, elapsed: &[u64], baseline: &[u64]) -> u64 {
        let total: f64 = self.machines.iter().map(|of| of.weight).sum();
        let pairs = elapsed.iter().zip(baseline).zip(self.machines);
        let shares = pairs.map(|((&elapsed, &baseline), of)| {
            of.weight / total * elapsed as f64 / baseline.max(1) as f64
        });
        (ONE as f64 * shares.sum::<f64>()).round() as u64
    }

    /// Returns the elapsed cycles by machine.
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
            cores,
            repeat_connections: true,
            split,
            scheduler: scheduler.parse().expect("the name of a scheduler"),
            page_sizes: translating(self.trace, machine, &self.page_sizes),
            ..Setting::closed_loop(machine, self.connections, requests)
        };
        Ok(simulate(&self.streams, &setting, Window::new)?.elapsed_cycles)
    }
}
