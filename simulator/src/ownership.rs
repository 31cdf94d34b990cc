//! Remembers lines that one core has to itself, so that most stores need not ask the directory.
//!
//! Programs store to the same few lines again and again, and only the first of these stores can
//! remove anything from other cores. This is the exclusive state of MESI, kept beside the caches:
//! in them it would cost every L1 hit a look at one more bit. It forgets freely and is never wrong.

/// Some of the lines that only this core holds.
pub(crate) struct OwnedLines {
    lines: Box<[u64]>,
}

/// Lines remembered at a time: enough for the stack frames and the log a request writes.
const PLACES: usize = 1024;

/// No line: line numbers are addresses divided by 64.
const NONE: u64 = u64::MAX;

impl OwnedLines {
    pub(crate) fn new() -> Self {
        OwnedLines {
            lines: vec![NONE; PLACES].into(),
        }
    }

    /// True only when no other core holds `line`, provided that this core does.
    #[inline]
    pub(crate) fn contains(&self, line: u64) -> bool {
        self.lines[line as usize % PLACES] == line
    }

    /// This core just removed `line` from all others.
    pub(crate) fn add(&mut self, line: u64) {
        self.lines[line as usize % PLACES] = line;
    }

    /// Some core is about to bring in `line`.
    pub(crate) fn forget(&mut self, line: u64) {
        let place = &mut self.lines[line as usize % PLACES];
        if *place == line {
            *place = NONE;
        }
    }
}
