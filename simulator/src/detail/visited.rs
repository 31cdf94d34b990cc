//! References and replacements of kernel visits, by kind: the footprint of a system call.
//!
//! Soares measured this on a processor (thesis, table 4.2) as the number of entries of each cache
//! that differ after a call. Here each replaced line is observed, with the mode that owned it.

use super::doors::Reason;
use super::mode::Mode;
use super::visits::Visits;
use crate::ids::LineId;
use crate::report::observer::CacheLevel;
use corehop_traces::{Execution, Kind, Trace};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::ops::AddAssign;

/// The sum over all visits of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisitKind {
    /// Why the kernel ran.
    pub reason: Reason,
    /// The name, as in [`super::Visit::name`].
    pub name: String,
    /// Number of visits.
    pub visits: u64,
    /// Their footprint.
    pub footprint: Footprint,
}

/// Sums over visits. A line counts once for each visit that references it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Footprint {
    /// Number of lines fetched.
    pub code_lines: u64,
    /// Number of lines loaded or stored.
    pub data_lines: u64,
    /// Number of lines of either kind; a line of both kinds counts once.
    pub lines: u64,
    /// Lines replaced in L1Is.
    pub l1i: ReplacedBy,
    /// Lines replaced in L1Ds.
    pub l1d: ReplacedBy,
    /// Lines replaced in L2s.
    pub l2: ReplacedBy,
    /// Lines replaced in the L3.
    pub l3: ReplacedBy,
}

/// Number of lines that visits replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReplacedBy {
    /// Lines last referenced by user code.
    pub user: u64,
    /// All lines.
    pub all: u64,
}

impl AddAssign for ReplacedBy {
    fn add_assign(&mut self, other: ReplacedBy) {
        self.user += other.user;
        self.all += other.all;
    }
}

impl AddAssign for Footprint {
    fn add_assign(&mut self, other: Footprint) {
        self.code_lines += other.code_lines;
        self.data_lines += other.data_lines;
        self.lines += other.lines;
        self.l1i += other.l1i;
        self.l1d += other.l1d;
        self.l2 += other.l2;
        self.l3 += other.l3;
    }
}

/// A visit that may continue, and how it has referenced each line.
struct Open {
    visit: usize,
    lines: HashMap<LineId, u8>,
}

const CODE: u8 = 1;
const DATA: u8 = 2;

/// Collects footprints from events.
pub(super) struct Visited<'t> {
    visits: Visits<'t>,
    /// Indexed by visit.
    footprints: Vec<Footprint>,
    /// Open visits of each thread, the innermost last.
    open: Vec<Vec<Open>>,
    /// Thread and visit of the current execution, if it is in the kernel.
    current: Option<(usize, usize)>,
    first_counted: usize,
}

impl<'t> Visited<'t> {
    pub fn of(trace: &'t Trace) -> Visited<'t> {
        Visited {
            visits: Visits::of(trace),
            footprints: Vec::new(),
            open: trace.threads().iter().map(|_| Vec::new()).collect(),
            current: None,
            first_counted: 0,
        }
    }

    /// Begins an execution; the next events belong to it.
    pub fn begin(&mut self, execution: &Execution<'_>) {
        let thread = execution.thread.index();
        let visit = self.visits.execution(execution);
        self.current = visit.map(|visit| (thread, visit));
        let has_ended = |open: &Open| visit.is_none_or(|visit| open.visit > visit);
        while self.open[thread].last().is_some_and(has_ended) {
            self.open[thread].pop();
        }
        let Some(visit) = visit else { return };
        self.footprints
            .resize(self.visits.all().len(), Footprint::default());
        if self.open[thread]
            .last()
            .is_none_or(|open| open.visit < visit)
        {
            let lines = HashMap::new();
            self.open[thread].push(Open { visit, lines });
        }
    }

    pub fn reference(&mut self, kind: Kind, line: LineId) {
        let Some((thread, visit)) = self.current else {
            return;
        };
        let Some(open) = self.open[thread].last_mut() else {
            return;
        };
        let how = open.lines.entry(line).or_default();
        let now = if kind == Kind::Fetch { CODE } else { DATA };
        let footprint = &mut self.footprints[visit];
        footprint.lines += u64::from(*how == 0);
        if *how & now == 0 {
            *match kind {
                Kind::Fetch => &mut footprint.code_lines,
                Kind::Load | Kind::Store => &mut footprint.data_lines,
            } += 1;
        }
        *how |= now;
    }

    /// Records that the current access replaced a line that mode `whose` referenced last.
    pub fn replace(&mut self, level: CacheLevel, whose: Mode) {
        let Some((_, visit)) = self.current else {
            return;
        };
        let footprint = &mut self.footprints[visit];
        *match level {
            CacheLevel::L1I => &mut footprint.l1i,
            CacheLevel::L1D => &mut footprint.l1d,
            CacheLevel::L2 => &mut footprint.l2,
            CacheLevel::L3 => &mut footprint.l3,
        } += ReplacedBy {
            user: u64::from(whose == Mode::User),
            all: 1,
        };
    }

    /// Excludes visits that have already begun.
    pub fn start_counting(&mut self) {
        self.first_counted = self.visits.all().len();
    }

    /// Returns the kinds, sorted by reason, then by descending number of visits.
    pub fn finish(self) -> Vec<VisitKind> {
        let mut kinds: BTreeMap<(Reason, &str), (u64, Footprint)> = BTreeMap::new();
        let all = self.visits.all().iter().zip(self.footprints);
        for (visit, footprint) in all.skip(self.first_counted) {
            let (visits, sum) = kinds.entry((visit.reason, &visit.name)).or_default();
            *visits += 1;
            *sum += footprint;
        }
        let kinds = kinds.into_iter();
        let mut kinds: Vec<VisitKind> = kinds
            .map(|((reason, name), (visits, footprint))| VisitKind {
                reason,
                name: name.to_owned(),
                visits,
                footprint,
            })
            .collect();
        kinds.sort_by_key(|kind| (kind.reason, std::cmp::Reverse(kind.visits)));
        kinds
    }
}
