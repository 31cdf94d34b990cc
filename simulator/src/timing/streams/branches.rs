//! The branches of threads, inferred from the code blocks that they execute one after the other.
//!
//! A branch is the last instruction of an execution whose thread's next execution is in the replay,
//! too. How it branches ([`Way`]) follows from all places at which threads continue after it:
//!
//! - A call is an instruction whose store of 8 bytes is the last access of the execution, and a
//!   return is one of one byte that loads 8 bytes there, if the thread continues neither at the
//!   instruction nor behind it. (`Calls` of the trace reader has these rules, too.)
//! - An instruction that the thread continues at repeats itself, which is no branch.
//! - An instruction after which threads always continue at one place is fixed. With two places, of
//!   which one is behind it, it is conditional; otherwise indirect.
//!
//! A branch depends on the last load of its execution, if there is one: most compare what was just
//! loaded. The start of a signal handler seems to be a branch, too; there are few.

use crate::branches::{Branch, Way};
use corehop_traces::{Access, Execution, Kind, Trace};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

pub(crate) struct Branching {
    /// Indexed by thread: its last execution, if that is in a stream.
    last: Vec<Option<Last>>,
    /// Branches and where they led. Of returns the way is known, others are [`Way::Fixed`].
    branches: Vec<Branch>,
    /// Their indices, by their addresses, their targets, and whether they call or return.
    known: HashMap<(u64, u64, Event), u32>,
}

/// An execution whose thread continues somewhere.
#[derive(Clone, Copy)]
struct Last {
    number: u64,
    pc: u64,
    behind: u64,
    event: Event,
    loads: bool,
}

/// What the last instruction of an execution does unless the thread continues behind it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Event {
    Call,
    Return,
    Jump,
}

impl Branching {
    /// Creates the state of this many threads.
    pub fn new(threads: usize) -> Branching {
        Branching {
            last: vec![None; threads],
            branches: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// Ends an execution that is in a stream.
    pub fn end(&mut self, trace: &Trace, execution: &Execution<'_>) {
        let block = &trace.code_blocks()[execution.code_block as usize];
        let Some(last) = block.instructions.last() else {
            return;
        };
        let pc = block.start + u64::from(last.offset);
        let is_last = |access: &&Access| access.pc == pc && access.size_bytes == 8;
        let access = execution.accesses.last().filter(is_last);
        let event = match access.map(|access| access.kind) {
            Some(Kind::Store) => Event::Call,
            Some(Kind::Load) if last.size_bytes == 1 => Event::Return,
            _ => Event::Jump,
        };
        let mut kinds = execution.accesses.iter().map(|access| access.kind);
        self.last[execution.thread.index()] = Some(Last {
            number: execution.number,
            pc,
            behind: pc + u64::from(last.size_bytes),
            event,
            loads: kinds.any(|kind| kind == Kind::Load),
        });
    }

    /// Returns the index of the branch by which the thread came to this execution from one that is
    /// in a stream, and the load that the branch depends on: as
    /// [`crate::core_model::Reference::address_from`].
    pub fn come(&mut self, trace: &Trace, execution: &Execution<'_>) -> Option<(u32, u8)> {
        let last = self.last[execution.thread.index()].take()?;
        let target = trace.code_blocks()[execution.code_block as usize].start;
        if last.number + 1 != execution.number || target == last.pc {
            return None;
        }
        let event = match target == last.behind {
            true => Event::Jump,
            false => last.event,
        };
        let index = match self.known.entry((last.pc, target, event)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                self.branches.push(Branch {
                    way: match event {
                        Event::Return => Way::Return,
                        Event::Call | Event::Jump => Way::Fixed,
                    },
                    pc: last.pc,
                    behind: last.behind,
                    target,
                    calls: event == Event::Call,
                });
                *new.insert(self.branches.len() as u32 - 1)
            }
        };
        Some((index, u8::from(last.loads)))
    }

    /// Returns all branches, with the ways that their targets show.
    pub fn finish(mut self) -> Vec<Branch> {
        let mut targets: HashMap<u64, Vec<u64>> = HashMap::new();
        for branch in &self.branches {
            let targets = targets.entry(branch.pc).or_default();
            if !targets.contains(&branch.target) {
                targets.push(branch.target);
            }
        }
        for branch in &mut self.branches {
            let targets = &targets[&branch.pc];
            if branch.way == Way::Fixed {
                branch.way = match targets.len() {
                    1 => Way::Fixed,
                    2 if targets.contains(&branch.behind) => Way::Conditional,
                    _ => Way::Indirect,
                };
            }
        }
        self.branches
    }
}
