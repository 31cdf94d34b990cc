// SPDX-License-Identifier: GPL-2.0-or-later
//! What is recorded of a code block: which of its accesses, and what shows its execution.

use corehop_wire::elision::{BlockAccesses, PlainAccess};
use corehop_wire::ring::word;

/// What is recorded of a code block.
pub(crate) struct Recorded {
    /// Its number.
    pub(crate) number: u32,
    accesses: BlockAccesses,
}

impl Recorded {
    pub(crate) fn new(number: u32, accesses: BlockAccesses) -> Recorded {
        Recorded { number, accesses }
    }

    /// If the block's first access shows its execution: the instruction of that access, and the
    /// constant part of the execution's word.
    pub(crate) fn execution_at(&self) -> Option<(usize, u64)> {
        let first = self.accesses.all.iter().find(|access| !access.is_elided());
        let first = first.filter(|_| self.accesses.none_before)?;
        let instruction = usize::from(first.form.instruction);
        // One callback sees all accesses of an instruction.
        let is_alone = self.seen(instruction).count() == 1;
        let template = word::execution_at_template(self.number)?;
        is_alone.then_some((instruction, template))
    }

    /// Returns the number of an instruction's accesses that are known except for their addresses.
    pub(crate) fn known(&self, instruction: usize) -> usize {
        self.accesses.of_instruction(instruction).count()
    }

    /// Returns those of them that are recorded.
    pub(crate) fn seen(&self, instruction: usize) -> impl Iterator<Item = &PlainAccess> {
        let accesses = self.accesses.of_instruction(instruction);
        accesses.filter(|access| !access.is_elided())
    }
}
