//! What each core of a split does: the code that runs there, the lines it references, those it
//! shares with other cores, and whose stores take lines from it.
//!
//! A split pays when what a request references on each core stays in that core's L2, so working
//! sets are by core and request. A line that two cores reference is held twice, and one that any of
//! them stores to moves between them for ever; which cores those are is kept as one bit each.

use super::attribution::{Attribution, CodeOwner};
use super::working_set::{WorkingSet, WorkingSets};
use crate::ids::{CoreId, LineId};
use corehop_traces::{Execution, Kind, RequestId, ThreadId};
use std::cmp::Reverse;

/// What one core did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoreUse {
    /// By request, in order: what it referenced on this core. Requests that did not come here are
    /// left out, and so are those that the end of the recording cut short.
    pub working_sets: Vec<WorkingSet>,
    /// Lines that the core referenced at all, each counted once.
    pub lines: u64,
    /// Those that other cores referenced too.
    pub shared_lines: u64,
    /// Those of the shared ones that any core stored to.
    pub contended_lines: u64,
    /// By core: how many lines its stores took from this core's L2, or from the L1s above it. Where
    /// cores share an L2, the first of them has lost the lines.
    pub lost_lines_to: Vec<u64>,
    /// The code that ran here, most accesses first.
    pub code: Vec<CodeUse>,
}

/// What some code did on one core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeUse {
    /// Whose code it is.
    pub owner: CodeOwner,
    /// Lines it referenced, each access counted.
    pub accesses: u64,
}

/// By core, one bit each.
#[derive(Clone, Copy, Default)]
struct CoresOfLine {
    by: u64,
    stored_by: u64,
}

/// Collects [`CoreUse`], event by event. Lines are numbered by the caller, densely from 0.
pub struct CoreUses {
    /// By line.
    referenced: Vec<CoresOfLine>,
    cores: Vec<Collected>,
    serving: (ThreadId, Option<RequestId>),
    owner: usize,
}

struct Collected {
    working_sets: WorkingSets,
    lost_lines_to: Vec<u64>,
    /// By owner.
    accesses: Vec<u64>,
}

impl CoreUses {
    /// For so many cores, 64 at most, and code of so many owners.
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

    /// What follows belongs to this execution, whose code has this owner.
    pub fn begin(&mut self, execution: &Execution, owner: usize) {
        self.serving = (execution.thread, execution.request);
        self.owner = owner;
    }

    /// `core` accesses `line`.
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

    /// A store of `by` takes a line from `core`.
    pub fn lose(&mut self, core: CoreId, by: CoreId) {
        self.cores[core.index()].lost_lines_to[by.index()] += 1;
    }

    /// Forgets what was counted.
    pub fn start_counting(&mut self) {
        self.referenced.fill(CoresOfLine::default());
        for core in &mut self.cores {
            core.lost_lines_to.fill(0);
            core.accesses.fill(0);
        }
    }

    /// What was counted, by core, with the working sets of all requests.
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
