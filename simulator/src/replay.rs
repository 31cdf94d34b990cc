//! Replays a trace: every access in recorded order, each on the core its thread is then on.
//!
//! A thread starts on core 0 and moves when it enters a function of the split, before that entry's
//! own accesses. Where nothing moves a thread it stays, also from one request to the next, as a
//! patched server's thread does. One loop over the executions is the whole replay.

use crate::Error;
use crate::counters::Counters;
use crate::hierarchy::Hierarchy;
use crate::machine::Machine;
use crate::split::Split;
use corehop_traces::{Execution, Trace};

/// What to replay of a trace; the default is all of it.
#[derive(Clone, Default)]
pub struct ReplayOptions<'a> {
    /// Only these requests (indices into the trace's, in any order), as if nothing else had been
    /// recorded; `None` for everything, also what belongs to no request.
    pub requests: Option<Vec<u32>>,
    /// The first so many of them run uncounted: counting starts when the first of the others does.
    pub warm_up_requests: usize,
    /// Told now and then how many executions were replayed since it was last told.
    pub progress: Option<&'a (dyn Fn(u64) + Sync)>,
}

/// What a replay counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// All cores together. Cycles include hops.
    pub counters: Counters,
    /// Each core used, from 0. Cycles include the hops that ended on that core.
    pub per_core: Vec<Counters>,
    /// Times a thread moved to another core.
    pub hops: u64,
    /// Lines touched by fetches, loads and stores.
    pub accesses: u64,
    /// Requests counted: those chosen, without those that warm up.
    pub requests: u64,
}

/// Replays `trace` on `machine`, split over cores by `split`.
///
/// # Errors
/// [`Error::TooManyCores`] for a split that the machine is too small for; [`Error::NoRequests`],
/// [`Error::UnknownRequest`] and [`Error::NothingToCount`] for options that do not fit the trace;
/// [`Error::Trace`] for a trace that cannot be read.
pub fn replay(
    trace: &Trace,
    machine: &Machine,
    split: &Split,
    options: &ReplayOptions,
) -> Result<Replay, Error> {
    let chosen = chosen_requests(options, trace.requests().len())?;
    let first_counted = chosen.get(options.warm_up_requests).copied();
    let mut replayer = Replayer::new(machine, split)?;
    let mut counting = options.warm_up_requests == 0;
    let mut executions = match options.requests {
        Some(_) => trace.executions_of(&chosen),
        None => trace.executions(),
    };
    let mut untold = 0;
    let tell = |executions| options.progress.iter().for_each(|told| told(executions));
    while let Some(execution) = executions.next()? {
        if !counting && execution.request >= first_counted {
            counting = true;
            replayer.start_counting();
        }
        replayer.execute(&execution);
        untold += 1;
        if untold == EXECUTIONS_PER_REPORT {
            tell(std::mem::take(&mut untold));
        }
    }
    tell(untold);
    if !counting {
        replayer.start_counting();
    }
    let mut replay = replayer.finish();
    replay.requests = (chosen.len() - options.warm_up_requests) as u64;
    Ok(replay)
}

/// How often progress is told: some hundred times a second.
const EXECUTIONS_PER_REPORT: u64 = 1 << 16;

/// The requests to replay, in the trace's order, once it is sure that they make sense.
fn chosen_requests(options: &ReplayOptions, requests: usize) -> Result<Vec<u32>, Error> {
    let warm_up = options.warm_up_requests;
    if requests == 0 && (warm_up > 0 || options.requests.is_some()) {
        return Err(Error::NoRequests);
    }
    let mut chosen = match &options.requests {
        Some(chosen) => chosen.clone(),
        None => (0..requests as u32).collect(),
    };
    chosen.sort_unstable();
    chosen.dedup();
    if let Some(&request) = chosen.last().filter(|&&last| last as usize >= requests) {
        return Err(Error::UnknownRequest { request, requests });
    }
    if warm_up > 0 && warm_up >= chosen.len() {
        return Err(Error::NothingToCount {
            warm_up,
            chosen: chosen.len(),
        });
    }
    Ok(chosen)
}

/// A replay under way, fed one execution after the other: what [`replay`] does with a whole trace.
pub struct Replayer<'a> {
    machine: &'a Machine,
    split: &'a Split,
    hierarchy: Hierarchy,
    /// By thread; threads beyond its end are still on core 0.
    cores_of_threads: Vec<u32>,
    /// Hops that ended on each core.
    hops: Vec<u64>,
}

impl<'a> Replayer<'a> {
    /// Empty caches, every thread on core 0.
    ///
    /// # Errors
    /// [`Error::TooManyCores`] for a split that the machine is too small for.
    pub fn new(machine: &'a Machine, split: &'a Split) -> Result<Self, Error> {
        let cores = split.cores();
        if cores > machine.cores {
            return Err(Error::TooManyCores {
                cores,
                machine: machine.name.clone(),
                machine_cores: machine.cores,
            });
        }
        Ok(Replayer {
            machine,
            split,
            hierarchy: Hierarchy::new(machine, cores),
            cores_of_threads: Vec::new(),
            hops: vec![0; cores as usize],
        })
    }

    /// Replays one execution; returns the core it ran on.
    pub fn execute(&mut self, execution: &Execution) -> u32 {
        let thread = execution.thread as usize;
        if self.cores_of_threads.len() <= thread {
            self.cores_of_threads.resize(thread + 1, 0);
        }
        let current = &mut self.cores_of_threads[thread];
        if let Some(core) = execution.entry.and_then(|entry| self.split.core_of(entry)) {
            self.hops[core as usize] += u64::from(core != *current);
            *current = core;
        }
        let core = *current;
        for access in execution.accesses {
            for line in access.lines() {
                self.hierarchy.access(core as usize, access.kind, line);
            }
        }
        core
    }

    /// Starts counting afresh; caches and threads stay as they are.
    pub fn start_counting(&mut self) {
        self.hierarchy.start_counting();
        self.hops.fill(0);
    }

    /// What was counted. The number of requests is zero: only the caller knows which there were.
    pub fn finish(self) -> Replay {
        let mut per_core = self.hierarchy.counters();
        for (counters, &hops) in per_core.iter_mut().zip(&self.hops) {
            counters.cycles = counters.cycles_on(self.machine, hops);
        }
        let counters: Counters = per_core.iter().copied().sum();
        Replay {
            counters,
            per_core,
            hops: self.hops.iter().sum(),
            accesses: counters.accesses(),
            requests: 0,
        }
    }
}
