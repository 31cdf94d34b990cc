//! Simulates the effect on caches of making system calls on another core, or in batches.
//!
//! In Soares and Stumm's FlexSC, programs write calls to a page of memory. Kernel threads on
//! another core execute them, or on the same one a batch at a time ("Operating System Techniques
//! for Reducing Processor State Pollution", thesis, Toronto 2012, chapters 4 and 5). Here the
//! kernel's work in a posted call is replayed elsewhere: immediately on another core, or one after
//! the other once a batch of calls waits. The program continues as recorded, as if it always had
//! other work. The result is therefore the maximum that batches can save.
//!
//! A call is a thread's work in the kernel from its entry until it returns to user code, including
//! interrupts during it. The cost of posting is not included.

use super::analysis::play;
use super::doors::Reason;
use super::mode::Mode;
use super::sums::Sums;
use super::visits::{Visit, Visits};
use crate::error::Error;
use crate::ids::{CoreId, LineId};
use crate::machine::Machine;
use crate::options::ReplayOptions;
use crate::report::counters::Counters;
use crate::report::observer::{CacheLevel, Cause, Observer};
use crate::sequential::Replayer;
use crate::threads::split::Split;
use crate::threads::thread_placement::delegated_calls;
use corehop_traces::{Access, Execution, Kind, ThreadId, Trace};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

/// Selects the system calls to post, and where and when they are made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Posting {
    /// Names of the calls, as in [`Visit::name`].
    pub calls: BTreeSet<String>,
    /// The core that makes them; `None` for the thread's current core.
    pub core: Option<CoreId>,
    /// Number of calls that wait and are made together; `None` makes each call immediately.
    pub batch: Option<NonZeroUsize>,
}

/// Cache counters with posted calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    /// Number of calls that were posted.
    pub calls: u64,
    /// Number of batches that were made; 0 without batches.
    pub batches: u64,
    /// Counters of each core.
    pub cores: Vec<PostedCore>,
}

/// Cache counters of a core. Cycles are those of the accesses, and of a split's hops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PostedCore {
    /// Counters of user code.
    pub user: Counters,
    /// Counters of the kernel, including posted calls.
    pub kernel: Counters,
}

/// The system calls of a trace's requests, by name. A call's name is known only once its handler
/// runs, so one pass finds them before any is posted.
#[derive(Clone, Debug)]
pub struct SystemCalls {
    /// All visits of the kernel, in trace order.
    visits: Vec<Visit>,
}

impl SystemCalls {
    /// Finds the calls of the requests that these options select.
    ///
    /// # Errors
    /// Those of [`crate::replay()`].
    pub fn of(trace: &Trace, options: &ReplayOptions<'_>) -> Result<SystemCalls, Error> {
        let mut visits = Visits::of(trace);
        play(
            trace,
            options,
            &mut visits,
            |_| {},
            |visits, execution| {
                visits.execution(execution);
            },
        )?;
        Ok(SystemCalls {
            visits: visits.all().to_vec(),
        })
    }

    /// Returns the number of calls by name; calls without a named handler in the trace are left
    /// out.
    pub fn made(&self) -> BTreeMap<String, u64> {
        let mut made = BTreeMap::new();
        let is_named =
            |visit: &&Visit| visit.reason == Reason::SystemCall && !visit.name.is_empty();
        for visit in self.visits.iter().filter(is_named) {
            *made.entry(visit.name.clone()).or_default() += 1;
        }
        made
    }

    /// Replays the trace with the same options and with calls posted; [`super::replay_by_mode`] is
    /// the equivalent without posting.
    ///
    /// # Errors
    /// Those of [`crate::replay()`]; [`Error::TooManyCores`] also if the machine does not have the
    /// core that makes calls.
    pub fn replay_posted(
        &self,
        trace: &Trace,
        (machine, split): (&Machine, &Split),
        options: &ReplayOptions<'_>,
        posting: &Posting,
    ) -> Result<Posted, Error> {
        let is_posted = |visit: &Visit| {
            visit.reason == Reason::SystemCall && posting.calls.contains(&visit.name)
        };
        let calls = delegated_calls(trace, [split])?;
        let wanted = posting.core.map_or(0, |core| core.0 + 1);
        let cores = split.cores().max(wanted);
        let mut replay = Replaying {
            posting,
            posted: self.visits.iter().map(is_posted).collect(),
            visits: Visits::of(trace),
            replayer: Replayer::on_cores(machine, split, cores)?.with_calls(calls.as_ref()),
            collector: Collector::on(cores as usize),
            open: vec![None; trace.threads().len()],
            waiting: vec![Vec::new(); cores as usize],
            is_counting: options.warm_up_requests == 0,
        };
        play(
            trace,
            options,
            &mut replay,
            |replay| {
                replay.collector = Collector::on(cores as usize);
                replay.is_counting = true;
            },
            |replay, execution| replay.take(trace, execution),
        )?;
        Ok(replay.finish(machine))
    }
}

/// A posted call that has not been made yet.
#[derive(Clone)]
struct Call {
    visit: usize,
    core: CoreId,
    executions: Vec<PutAside>,
}

/// An execution of such a call. It counts if it would count where it was recorded, so that all ways
/// of posting count the same accesses.
#[derive(Clone)]
struct PutAside {
    mode: Mode,
    counts: bool,
    accesses: Vec<Access>,
}

struct Replaying<'t> {
    posting: &'t Posting,
    /// Indexed by the number of the visit with which a thread entered the kernel.
    posted: Vec<bool>,
    visits: Visits<'t>,
    replayer: Replayer<'t>,
    collector: Collector,
    /// For each thread: its current call, if that call will wait in a batch.
    open: Vec<Option<Call>>,
    /// Indexed by the core that makes them.
    waiting: Vec<Vec<Call>>,
    is_counting: bool,
}

impl Replaying<'_> {
    fn take(&mut self, trace: &Trace, execution: &Execution<'_>) {
        let thread = execution.thread;
        let begun = self.visits.all().len();
        self.visits.execution(execution);
        let visit = self.visits.outermost(thread);
        let visit = visit.filter(|&visit| self.posted[visit]);
        let open = &self.open[thread.index()];
        if open.as_ref().is_some_and(|call| Some(call.visit) != visit) {
            self.leave(thread);
        }
        let mode = Mode::of(trace.code_blocks()[execution.code_block as usize].start);
        let Some(visit) = visit else {
            return self.in_place(mode, execution);
        };
        let core = self.posting.core;
        let core = core.unwrap_or_else(|| self.replayer.core_of(thread));
        self.collector.calls += u64::from(visit >= begun);
        if self.posting.batch.is_none() {
            self.collector.mode = mode;
            let observer = &mut self.collector;
            return self.replayer.reference(core, execution.accesses, observer);
        }
        let call = self.open[thread.index()].get_or_insert(Call {
            visit,
            core,
            executions: Vec::new(),
        });
        call.executions.push(PutAside {
            mode,
            counts: self.is_counting,
            accesses: execution.accesses.to_vec(),
        });
    }

    fn in_place(&mut self, mode: Mode, execution: &Execution<'_>) {
        self.collector.mode = mode;
        let before = self.replayer.core_of(execution.thread);
        let core = self
            .replayer
            .execute_observed(execution, &mut self.collector);
        self.collector.cores[core.index()][mode as usize].hops += u64::from(core != before);
    }

    /// Ends the thread's call, which now waits for others.
    fn leave(&mut self, thread: ThreadId) {
        let Some(call) = self.open[thread.index()].take() else {
            return;
        };
        let core = call.core;
        let waiting = &mut self.waiting[core.index()];
        waiting.push(call);
        if Some(waiting.len()) == self.posting.batch.map(NonZeroUsize::get) {
            self.make_waiting(core);
        }
    }

    fn make_waiting(&mut self, core: CoreId) {
        let calls = std::mem::take(&mut self.waiting[core.index()]);
        self.collector.batches += u64::from(!calls.is_empty());
        for made in calls.iter().flat_map(|call| &call.executions) {
            self.collector.mode = made.mode;
            match made.counts || !self.is_counting {
                true => self
                    .replayer
                    .reference(core, &made.accesses, &mut self.collector),
                false => self.replayer.reference(core, &made.accesses, &mut ()),
            }
        }
    }

    fn finish(mut self, machine: &Machine) -> Posted {
        (0..self.open.len()).for_each(|thread| self.leave(ThreadId::from_index(thread)));
        (0..self.waiting.len()).for_each(|core| self.make_waiting(CoreId::from_index(core)));
        let cores = self.collector.cores.iter();
        let of_core = |[user, kernel]: &[Sums; 2]| PostedCore {
            user: user.counters(machine),
            kernel: kernel.counters(machine),
        };
        Posted {
            calls: self.collector.calls,
            batches: self.collector.batches,
            cores: cores.map(of_core).collect(),
        }
    }
}

/// Counters by core and mode.
struct Collector {
    mode: Mode,
    cores: Vec<[Sums; 2]>,
    calls: u64,
    batches: u64,
}

impl Collector {
    fn on(cores: usize) -> Collector {
        Collector {
            mode: Mode::User,
            cores: vec![Default::default(); cores],
            calls: 0,
            batches: 0,
        }
    }

    fn sums(&mut self, core: CoreId) -> &mut Sums {
        &mut self.cores[core.index()][self.mode as usize]
    }
}

impl Observer for Collector {
    #[inline]
    fn accessed(&mut self, core: CoreId, kind: Kind, _line: LineId) {
        self.sums(core).accesses[kind as usize] += 1;
    }

    fn missed(&mut self, level: CacheLevel, core: CoreId, kind: Kind, cause: Cause, _: LineId) {
        self.sums(core).tally.count(level, kind, cause);
    }

    fn transferred(&mut self, core: CoreId, kind: Kind, _line: LineId) {
        self.sums(core).tally.transfers[kind as usize] += 1;
    }

    fn hit_modified(&mut self, core: CoreId, kind: Kind, _line: LineId) {
        self.sums(core).tally.hit_modified[kind as usize] += 1;
    }

    fn invalidated(&mut self, _cluster: usize, core: CoreId, _line: LineId) {
        self.sums(core).tally.invalidated_lines += 1;
    }
}
