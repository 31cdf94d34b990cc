//! The mode of code, user or kernel, determined by its address.

use corehop_traces::Trace;

/// A mode of the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// User mode.
    User = 0,
    /// Kernel mode.
    Kernel = 1,
}

impl Mode {
    /// Returns the mode of the code at an address: the upper half belongs to the kernel.
    pub fn of(address: u64) -> Mode {
        match address >> 63 {
            0 => Mode::User,
            _ => Mode::Kernel,
        }
    }

    /// Returns whether a trace has code of this mode.
    pub fn is_in(self, trace: &Trace) -> bool {
        let mut blocks = trace.code_blocks().iter();
        blocks.any(|block| Mode::of(block.start) == self)
    }
}
