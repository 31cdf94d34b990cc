//! The instructions of an execution as they are written: each with its located address.
//!
//! Of several processes, addresses have the number of their memory, those of code too. A trace says
//! so of fetches, of which a code block has one for each line.

use crate::{CodeBlock, Execution, Kind};

/// An instruction of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Located {
    /// As the trace's accesses have it.
    pub(super) pc: u64,
    pub(super) address: u64,
    pub(super) size_bytes: u8,
}

impl Located {
    /// Where the instruction behind it is.
    pub(super) fn end(self) -> u64 {
        self.address.wrapping_add(self.size_bytes.into())
    }
}

/// Those of an execution of this block, in order.
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
