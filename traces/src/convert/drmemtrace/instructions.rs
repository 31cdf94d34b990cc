//! The instructions of an execution for export, with located addresses.
//!
//! With several processes, addresses contain the number of their memory, including those of code. A
//! trace has this for fetches, and a code block has one fetch per line.

use crate::{CodeBlock, Execution, Kind};

/// An instruction of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Located {
    /// Virtual address, as in the trace's accesses.
    pub(super) pc: u64,
    pub(super) address: u64,
    pub(super) size_bytes: u8,
}

impl Located {
    /// Returns the address after the instruction.
    pub(super) fn end(self) -> u64 {
        self.address.wrapping_add(self.size_bytes.into())
    }
}

/// Returns the instructions of an execution of this block, in order.
pub(super) fn located<'e>(
    block: &'e CodeBlock,
    execution: &'e Execution<'_>,
) -> impl Iterator<Item = Located> {
    let fetches = execution.accesses.iter();
    let mut fetches = fetches.filter(|of| of.kind == Kind::Fetch).peekable();
    let mut distance = 0_u64;
    block.instructions.iter().map(move |instruction| {
        let pc = block.start + u64::from(instruction.offset);
        while let Some(fetch) = fetches.next_if(|fetch| fetch.pc <= pc) {
            distance = fetch.address.wrapping_sub(fetch.pc);
        }
        Located {
            pc,
            address: pc.wrapping_add(distance),
            size_bytes: instruction.size_bytes,
        }
    })
}
