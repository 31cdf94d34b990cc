//! Whose code runs: the program's or the kernel's. Its address tells.

use corehop_traces::Trace;

/// A mode of the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// The programs'.
    User = 0,
    /// The kernel's.
    Kernel = 1,
}

impl Mode {
    /// That of the code at an address: the upper half is the kernel's.
    pub fn of(address: u64) -> Mode {
        match address >> 63 {
            0 => Mode::User,
            _ => Mode::Kernel,
        }
    }

    /// Whether a trace has code of this mode.
    pub fn is_in(self, trace: &Trace) -> bool {
        let mut blocks = trace.code_blocks().iter();
        blocks.any(|block| Mode::of(block.start) == self)
    }
}
