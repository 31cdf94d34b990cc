//! What user code and what the kernel did to the caches, and who took whose lines out of them.
//!
//! Soares calls the second *pollution* ("Operating System Techniques for Reducing Processor State
//! Pollution", thesis, Toronto 2012, section 4.2): lines of one mode replaced by accesses of the
//! other. Code tells the mode, by its address. A line is no mode's by its address, since the kernel
//! copies to a program's memory and the other way round: it belongs to the mode that referenced it
//! last. Every reference has to be seen for that, so a replay of its own is followed, which traces
//! without a kernel do not take.

use super::analysis::{AnalysisTool, CountedRequests, follow};
use super::mode::Mode;
use super::sums::Sums;
use super::visited::{VisitKind, Visited};
use super::working_set::{WorkingSet, WorkingSets};
use crate::error::Error;
use crate::ids::{CoreId, LineId};
use crate::machine::Machine;
use crate::options::ReplayOptions;
use crate::report::counters::Counters;
use crate::report::observer::{CacheLevel, Cause, Observer};
use crate::threads::split::Split;
use crate::threads::thread_placement::delegated_calls;
use corehop_traces::{Execution, Kind, Trace};
use serde::Serialize;

/// What each mode did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modes {
    /// User code.
    pub user: ModeUse,
    /// The kernel's.
    pub kernel: ModeUse,
    /// Whose lines each replaced.
    pub replaced: Replacements,
    /// What visits of the kernel referenced and replaced, by kind: those that began when counting
    /// had.
    pub visits: Vec<VisitKind>,
}

/// What the code of one mode did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeUse {
    /// Its accesses and what became of them. Invalidated lines are those that its stores took from
    /// other cores; cycles include the hops that its entries made.
    pub counters: Counters,
    /// By request, in order: what it referenced. Requests in which it did not run are left out, and
    /// so are those that the end of the recording cut short.
    pub working_sets: Vec<WorkingSet>,
}

/// Lines replaced for want of room, at each level: all caches of it together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Replacements {
    /// In L1Is.
    pub l1i: Replaced,
    /// In L1Ds.
    pub l1d: Replaced,
    /// In L2s.
    pub l2: Replaced,
    /// In the L3.
    pub l3: Replaced,
}

/// Lines replaced, by who replaced them and who had referenced them last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Replaced {
    /// User code, its own.
    pub user_by_user: u64,
    /// User code, the kernel's.
    pub kernel_by_user: u64,
    /// The kernel, user code's.
    pub user_by_kernel: u64,
    /// The kernel, its own.
    pub kernel_by_kernel: u64,
}

impl Replaced {
    fn count(&mut self, whose: Mode, by: Mode) {
        *match (whose, by) {
            (Mode::User, Mode::User) => &mut self.user_by_user,
            (Mode::Kernel, Mode::User) => &mut self.kernel_by_user,
            (Mode::User, Mode::Kernel) => &mut self.user_by_kernel,
            (Mode::Kernel, Mode::Kernel) => &mut self.kernel_by_kernel,
        } += 1;
    }

    /// All of them.
    pub fn all(&self) -> u64 {
        let by_user = self.user_by_user + self.kernel_by_user;
        by_user + self.user_by_kernel + self.kernel_by_kernel
    }
}

/// Replays `trace` as [`crate::replay()`] does, and tells what user code and what the kernel did;
/// `None` for a trace in which no kernel is.
///
/// # Errors
/// Those of [`crate::replay()`].
pub fn replay_by_mode(
    trace: &Trace,
    machine: &Machine,
    split: &Split,
    options: &ReplayOptions<'_>,
) -> Result<Option<Modes>, Error> {
    if !Mode::Kernel.is_in(trace) {
        return Ok(None);
    }
    let calls = delegated_calls(trace, [split])?;
    let mut collector = Collector::new(trace);
    let on = (machine, split);
    let (_, counted) = follow(trace, on, calls.as_ref(), options, &mut collector)?;
    Ok(Some(collector.finish(trace, machine, &counted)))
}

struct Collector<'t> {
    trace: &'t Trace,
    /// That of the execution at hand.
    mode: Mode,
    sums: [Sums; 2],
    working_sets: [WorkingSets; 2],
    /// By line: who referenced it last.
    last: Vec<Mode>,
    replaced: Replacements,
    visited: Visited<'t>,
}

impl<'t> Collector<'t> {
    fn new(trace: &'t Trace) -> Collector<'t> {
        Collector {
            trace,
            mode: Mode::User,
            sums: Default::default(),
            working_sets: Default::default(),
            last: Vec::new(),
            replaced: Replacements::default(),
            visited: Visited::of(trace),
        }
    }

    fn sums(&mut self) -> &mut Sums {
        &mut self.sums[self.mode as usize]
    }

    #[inline]
    fn reference(&mut self, kind: Kind, line: LineId) {
        self.working_sets[self.mode as usize].reference(kind, line);
        self.visited.reference(kind, line);
        if line.index() >= self.last.len() {
            self.last.resize(line.index() + 1, Mode::User);
        }
        self.last[line.index()] = self.mode;
    }

    fn finish(self, trace: &Trace, machine: &Machine, counted: &CountedRequests) -> Modes {
        let [user, kernel] = self.sums.map(|sums| sums.counters(machine));
        let [of_user, of_kernel] = self.working_sets.map(|sets| {
            let mut sets = sets.finish();
            sets.retain(|set| set.lines > 0 && counted.have(trace, set.request));
            sets
        });
        let used = |counters, working_sets| ModeUse {
            counters,
            working_sets,
        };
        Modes {
            user: used(user, of_user),
            kernel: used(kernel, of_kernel),
            replaced: self.replaced,
            visits: self.visited.finish(),
        }
    }
}

impl AnalysisTool for Collector<'_> {
    fn begin(&mut self, execution: &Execution<'_>) {
        let block = &self.trace.code_blocks()[execution.code_block as usize];
        self.mode = Mode::of(block.start);
        self.visited.begin(execution);
        for sets in &mut self.working_sets {
            sets.serve(execution.thread, execution.request);
        }
    }

    fn end(&mut self, hopped: bool) {
        self.sums().hops += u64::from(hopped);
    }

    fn start_counting(&mut self) {
        self.sums = Default::default();
        self.replaced = Replacements::default();
        self.visited.start_counting();
    }
}

impl Observer for Collector<'_> {
    #[inline]
    fn accessed(&mut self, _core: CoreId, kind: Kind, line: LineId) {
        self.sums().accesses[kind as usize] += 1;
        self.reference(kind, line);
    }

    fn loads_from_l2(&mut self, _core: CoreId, line: LineId) {
        self.sums().tally.l2_loads += 1;
        self.reference(Kind::Load, line);
    }

    fn missed(&mut self, level: CacheLevel, _: CoreId, kind: Kind, cause: Cause, _: LineId) {
        self.sums().tally.count(level, kind, cause);
    }

    fn transferred(&mut self, _core: CoreId, kind: Kind, _line: LineId) {
        self.sums().tally.transfers[kind as usize] += 1;
    }

    fn hit_modified(&mut self, _core: CoreId, kind: Kind, _line: LineId) {
        self.sums().tally.hit_modified[kind as usize] += 1;
    }

    fn replaced(&mut self, level: CacheLevel, _instance: usize, _core: CoreId, line: LineId) {
        let (whose, by) = (self.last[line.index()], self.mode);
        self.visited.replace(level, whose);
        let replaced = match level {
            CacheLevel::L1I => &mut self.replaced.l1i,
            CacheLevel::L1D => &mut self.replaced.l1d,
            CacheLevel::L2 => &mut self.replaced.l2,
            CacheLevel::L3 => &mut self.replaced.l3,
        };
        replaced.count(whose, by);
    }

    fn invalidated(&mut self, _cluster: usize, _core: CoreId, _line: LineId) {
        self.sums().tally.invalidated_lines += 1;
    }
}
