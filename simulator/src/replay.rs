//! The plain replay: every access in recorded order, each on the core its thread is then on.
//!
//! A thread starts on the core its split says and moves when it enters a function of the split,
//! before that entry's own accesses, and back when a call ends that the split delegates. Where
//! nothing moves a thread it stays, also from one request to the next, as a patched server's thread
//! does. One loop over the executions is all of it.

use crate::Error;
use crate::counters::Counters;
use crate::geometry::Geometry;
use crate::lines::Lines;
use crate::machine::Machine;
use crate::split::Split;
use crate::watch::Watch;
use crate::whereabouts::Whereabouts;
use crate::world::World;
use corehop_traces::{Calls, Execution};

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

/// How often a sequential replay of a trace tells its progress: some hundred times a second.
pub(crate) const EXECUTIONS_PER_REPORT: u64 = 1 << 16;

/// The requests to replay, in the trace's order, once it is sure that they make sense.
pub(crate) fn chosen_requests(
    options: &ReplayOptions<'_>,
    requests: usize,
) -> Result<Vec<u32>, Error> {
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

/// Lines whose ids are found without hashing.
const RECENT_LINES: usize = 1 << 12;

/// A replay under way, fed one execution after the other. [`crate::replay()`] counts the same for a
/// whole trace, and faster; this one can be watched.
pub struct Replayer<'a> {
    machine: &'a Machine,
    world: World,
    lines: Lines,
    split: &'a Split,
    whereabouts: Whereabouts<'a>,
    /// By core.
    moves: Vec<Moves>,
}

/// What a core's caches do not count.
#[derive(Clone, Default)]
struct Moves {
    /// Lines touched, by kind.
    accesses: [u64; 3],
    /// Hops that ended here.
    hops: u64,
}

impl<'a> Replayer<'a> {
    /// Empty caches, every thread on the core the split starts it on.
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
            world: World::new(&Geometry::new(machine, cores, 1)),
            lines: Lines::new(RECENT_LINES),
            split,
            whereabouts: Whereabouts::new(split, None),
            moves: vec![Moves::default(); cores as usize],
        })
    }

    /// Lets calls end where `calls` says, as far as the split delegates them: without, they never
    /// do. Call it before the first execution.
    #[must_use]
    pub fn with_calls(mut self, calls: Option<&'a Calls>) -> Self {
        self.whereabouts = Whereabouts::new(self.split, calls);
        self
    }

    /// Replays one execution; returns the core it ran on.
    pub fn execute(&mut self, execution: &Execution) -> u32 {
        self.execute_watched(execution, &mut ())
    }

    /// Replays one execution and tells `watch` what happens in the caches; returns the core it ran
    /// on.
    pub fn execute_watched(&mut self, execution: &Execution, watch: &mut impl Watch) -> u32 {
        let Execution {
            thread,
            number,
            entry,
            ..
        } = *execution;
        let (left, core) = self.whereabouts.come(thread, number, entry);
        self.moves[core as usize].hops += u64::from(left != core);
        let (world, lines) = (&mut self.world, &mut self.lines);
        let accesses = &mut self.moves[core as usize].accesses;
        for access in execution.accesses {
            for line in access.lines() {
                let id = lines.id(line, |line| {
                    world.line(line);
                });
                accesses[access.kind as usize] += 1;
                world.access(core as usize, access.kind, id, watch);
            }
        }
        core
    }

    /// The core that `thread` is on.
    pub fn core_of(&self, thread: u32) -> u32 {
        self.whereabouts.core_of(thread)
    }

    /// The line number (an address divided by 64) of a line that a [`Watch`] was told of.
    ///
    /// # Panics
    /// When no line has that id.
    pub fn line_number(&self, id: u32) -> u64 {
        self.lines.numbers()[id as usize]
    }

    /// Starts counting afresh; caches and threads stay as they are.
    pub fn start_counting(&mut self) {
        self.world.start_counting();
        self.moves.fill(Moves::default());
    }

    /// What was counted. The number of requests is zero: only the caller knows which there were.
    pub fn finish(self) -> Replay {
        let of_core = self.world.tally().iter().zip(&self.moves);
        let per_core: Vec<Counters> = of_core
            .map(|(tally, moves)| tally.counters(moves.accesses, moves.hops, self.machine))
            .collect();
        let counters: Counters = per_core.iter().copied().sum();
        Replay {
            counters,
            per_core,
            hops: self.moves.iter().map(|moves| moves.hops).sum(),
            accesses: counters.accesses(),
            requests: 0,
        }
    }
}
