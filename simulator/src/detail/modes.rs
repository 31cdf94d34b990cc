//! Cache counters of user code and of the kernel, and the lines that they replace of each other.
//!
//! Soares calls the latter *pollution* ("Operating System Techniques for Reducing Processor State
//! Pollution", thesis, Toronto 2012, section 4.2): lines of one mode replaced by accesses of the
//! other. The address of code determines its mode. The address of a line does not, because the
//! kernel copies to a program's memory and vice versa. A line belongs to the mode that referenced
//! it last. This needs every reference, so it is a separate replay, which is skipped for traces
//! without a kernel.

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

/// Cache counters of each mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modes {
    /// User code.
    pub user: ModeUse,
    /// The kernel's.
    pub kernel: ModeUse,
    /// Replaced lines by owner.
    pub replaced: Replacements,
    /// References and replacements of kernel visits, by kind; only visits that began after counting
    /// did.
    pub visits: Vec<VisitKind>,
}

/// Cache counters of the code of one mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeUse {
    /// Its accesses and misses. Invalidated lines are those that its stores removed from other
    /// cores; cycles include the hops at its entries.
    pub counters: Counters,
    /// For each request, in order: its references. Requests in which the mode did not run are left
    /// out, and so are those truncated by the end of the recording.
    pub working_sets: Vec<WorkingSet>,
}

/// Lines replaced for lack of capacity, for each level as a sum over all its caches.
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

/// Replaced lines, by the mode that replaced them and the mode that referenced them last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Replaced {
    /// User code replaced its own lines.
    pub user_by_user: u64,
    /// User code replaced the kernel's lines.
    pub kernel_by_user: u64,
    /// The kernel replaced user code's lines.
    pub user_by_kernel: u64,
    /// The kernel replaced its own lines.
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

    /// Returns the sum.
    pub fn all(&self) -> u64 {
        let by_user = self.user_by_user + self.kernel_by_user;
        by_user + self.user_by_kernel + self.kernel_by_kernel
    }
}

/// Replays `trace` like [`crate::replay()`], and counts separately for user code and the kernel;
/// `None` for a trace without kernel code.
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
    /// The mode of the current execution.
    mode: Mode,
    sums: [Sums; 2],
    working_sets: [WorkingSets; 2],
    /// For each line, the mode that last referenced it.
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
