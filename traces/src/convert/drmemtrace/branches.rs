//! Infers which instructions are branches from the instructions executed after them.
//!
//! A trace does not contain opcodes. Readers of drmemtrace's records expect that only a branch is
//! followed by a non-adjacent instruction. So an instruction counts as a jump wherever it is
//! written, if any thread continued elsewhere after it. The jump is direct or indirect for one or
//! several targets, and conditional if the adjacent instruction also followed. Calls, returns and
//! interrupted instructions count as jumps too. This must be known before the first record, so a
//! trace is read twice.

use super::instructions::{Located, located};
use super::record::kind;
use crate::{Execution, ThreadId, Trace};
use std::collections::{HashMap, HashSet};

/// The instructions that followed one instruction.
#[derive(Clone, Copy, Default)]
struct After {
    /// The adjacent instruction.
    is_behind: bool,
    /// Another instruction.
    elsewhere: Option<u64>,
    /// More than one other instruction.
    has_several: bool,
}

/// The branches of a trace.
#[derive(Default)]
pub struct Branches {
    /// By located address, for instructions at the end of an execution.
    after: HashMap<u64, After>,
    /// For each thread: the addresses of its last instruction and of the adjacent one.
    last: HashMap<ThreadId, [u64; 2]>,
    /// The code blocks that were executed in one memory, by the distance between virtual and
    /// located addresses.
    executed: HashSet<(u32, u64)>,
}

impl Branches {
    /// Processes the next execution of the whole trace.
    pub fn see(&mut self, trace: &Trace, execution: &Execution<'_>) {
        let block = &trace.code_blocks()[execution.code_block as usize];
        let mut instructions = located(block, execution);
        let Some(first) = instructions.next() else {
            return;
        };
        if let Some([last, behind]) = self.last.get(&execution.thread).copied() {
            self.follow(last, behind, first.address);
        }
        let distance = |of: Located| of.address.wrapping_sub(of.pc);
        let (mut last, mut is_of_one_memory) = (first, true);
        for next in instructions {
            is_of_one_memory &= distance(next) == distance(first);
            last = next;
        }
        self.last
            .insert(execution.thread, [last.address, last.end()]);
        if is_of_one_memory {
            self.executed
                .insert((execution.code_block, distance(first)));
            return;
        }
        let mut before = first;
        for next in located(block, execution).skip(1) {
            self.follow(before.address, before.end(), next.address);
            before = next;
        }
    }

    fn follow(&mut self, instruction: u64, behind: u64, next: u64) {
        let after = self.after.entry(instruction).or_default();
        match after.elsewhere {
            _ if next == behind => after.is_behind = true,
            None => after.elsewhere = Some(next),
            Some(known) => after.has_several |= known != next,
        }
    }

    /// Marks instructions that were also executed within a block as followed by the adjacent one.
    pub(super) fn settle(&mut self, trace: &Trace) {
        for (block, distance) in std::mem::take(&mut self.executed) {
            let block = &trace.code_blocks()[block as usize];
            let within = block.instructions.split_last().map_or(&[][..], |all| all.1);
            for instruction in within {
                let pc = block.start + u64::from(instruction.offset);
                if let Some(after) = self.after.get_mut(&pc.wrapping_add(distance)) {
                    after.is_behind = true;
                }
            }
        }
        self.after.retain(|_, after| after.elsewhere.is_some());
    }

    /// Returns the record type of the instruction at this located address.
    pub(super) fn kind(&self, address: u64) -> u16 {
        match self.after.get(&address) {
            None => kind::INSTRUCTION,
            Some(after) if after.is_behind => kind::CONDITIONAL_JUMP,
            Some(after) if after.has_several => kind::INDIRECT_JUMP,
            Some(_) => kind::DIRECT_JUMP,
        }
    }
}
