//! The activity of each core of a split: its code, the lines it references, the lines it shares
//! with other cores, and lines lost to stores of other cores.
//!
//! A split gains when the lines that a request references on each core stay in that core's L2.
//! Working sets are therefore collected for each core and request. A line that two cores reference
//! is cached twice, and one that any of them stores to keeps moving between them; a bit mask of
//! cores is kept for each line.

use super::attribution::{Attribution, CodeOwner};
use super::working_set::{WorkingSet, WorkingSets};
use crate::ids::{CoreId, LineId};
use corehop_traces::{Execution, Kind, RequestId, ThreadId};
use std::cmp::Reverse;

/// The activity of one core.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoreUse {
    /// For each request, in order: its references on this core. Requests that did not run here are
    /// left out, and so are those truncated by the end of the recording.
    pub working_sets: Vec<WorkingSet>,
    /// Number of distinct lines that the core referenced.
    pub lines: u64,
    /// Lines that other cores also referenced.
    pub shared_lines: u64,
    /// Shared lines that any core stored to.
    pub contended_lines: u64,
    /// For each core: the number of lines that its stores removed from this core's L2, or from the
    /// L1s above it. If cores share an L2, the loss is counted for the first of them.
    pub lost_lines_to: Vec<u64>,
    /// The code that ran here, most accesses first.
    pub code: Vec<CodeUse>,
}

/// The activity of some code on one core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeUse {
    /// The owner of the code.
    pub owner: CodeOwner,
    /// Number of line references.
    pub accesses: u64,
}

/// Bit masks of cores.
#[derive(Clone, Copy, Default)]
struct CoresOfLine {
    by: u64,
    stored_by: u64,
}

/// Collects [`CoreUse`] from events. The caller numbers lines densely from 0.
pub struct CoreUses {
    /// Indexed by line.
    referenced: Vec<CoresOfLine>,
    cores: Vec<Collected>,
    serving: (ThreadId, Option<RequestId>),
    owner: usize,
}

struct Collected {
    working_sets: WorkingSets,
    lost_lines_to: Vec<u64>,
    /// Indexed by owner.
    accesses: Vec<u64>,
}

impl CoreUses {
    /// Creates a collector for `cores` cores, at most 64, and code of `owners` owners.
    pub fn new(cores: usize, owners: usize) -> CoreUses {
        let collected = || Collected {
            working_sets: WorkingSets::default(),
            lost_lines_to: vec![0; cores],
            accesses: vec![0; owners],
        };
        CoreUses {
            referenced: Vec::new(),
            cores: (0..cores).map(|_| collected()).collect(),
            serving: (ThreadId(0), None),
            owner: 0,
        }
    }

    /// Begins an execution whose code has this owner; the next events belong to it.
    pub fn begin(&mut self, execution: &Execution, owner: usize) {
        self.serving = (execution.thread, execution.request);
        self.owner = owner;
    }

    /// Records an access of `core` to `line`.
    #[inline]
    pub fn reference(&mut self, core: CoreId, kind: Kind, line: LineId) {
        if line.index() >= self.referenced.len() {
            self.referenced
                .resize(line.index() + 1, CoresOfLine::default());
        }
        let referenced = &mut self.referenced[line.index()];
        referenced.by |= 1 << core.0;
        if kind == Kind::Store {
            referenced.stored_by |= 1 << core.0;
        }
        let (thread, request) = self.serving;
        let collected = &mut self.cores[core.index()];
        collected.working_sets.serve(thread, request);
        collected.working_sets.reference(kind, line);
        collected.accesses[self.owner] += 1;
    }

    /// Records that a store of `by` removed a line from `core`.
    pub fn lose(&mut self, core: CoreId, by: CoreId) {
        self.cores[core.index()].lost_lines_to[by.index()] += 1;
    }

    /// Resets the counts.
    pub fn start_counting(&mut self) {
        self.referenced.fill(CoresOfLine::default());
        for core in &mut self.cores {
            core.lost_lines_to.fill(0);
            core.accesses.fill(0);
        }
    }

    /// Returns the counts of each core, with the working sets of all requests.
    pub fn finish(self, attribution: &Attribution) -> Vec<CoreUse> {
        let mut uses: Vec<CoreUse> = Vec::new();
        for (core, collected) in self.cores.into_iter().enumerate() {
            let mine = self
                .referenced
                .iter()
                .filter(|line| line.by >> core & 1 == 1);
            let shared = mine.clone().filter(|line| line.by.count_ones() > 1);
            let owners = collected.accesses.iter().enumerate();
            let ran = owners.filter(|&(_, &accesses)| accesses > 0);
            let mut code: Vec<CodeUse> = ran
                .map(|(owner, &accesses)| CodeUse {
                    owner: attribution.owner(owner),
                    accesses,
                })
                .collect();
            code.sort_by_key(|code| Reverse(code.accesses));
            uses.push(CoreUse {
                lines: mine.count() as u64,
                shared_lines: shared.clone().count() as u64,
                contended_lines: shared.filter(|line| line.stored_by != 0).count() as u64,
                working_sets: collected.working_sets.finish(),
                lost_lines_to: collected.lost_lines_to,
                code,
            });
        }
        uses
    }
}
