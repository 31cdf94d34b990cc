//! Code that jumps from line to line, to measure fetches with one instruction per line.
//!
//! The code is written into its own mapping, made executable, and called. Each line holds one jump
//! to the next line, and the last line a return. The other bytes are one-byte traps, which are
//! never reached.

use super::mapping::{Mapping, Pages};
use std::io;

/// Bytes in a line.
const LINE_BYTES: usize = 64;
/// Bytes of a jump with a 32-bit displacement.
const JUMP_BYTES: usize = 5;
const JUMP: u8 = 0xe9;
const RETURN: u8 = 0xc3;
const TRAP: u8 = 0xcc;

/// A chain of jumps through lines of code.
pub struct Jumps {
    mapping: Mapping,
    entry: usize,
}

impl Jumps {
    /// Creates a chain that visits each line once, from line 0 to `next[0]` and so on. The jump of
    /// a line is at `offset(line)` in it, so that jumps differ for a branch predictor.
    ///
    /// # Errors
    /// The system error if programs may not create code.
    ///
    /// # Panics
    /// If `next` is not a cycle through its lines, or a jump does not fit into its line.
    pub fn new(next: &[u32], offset: impl Fn(usize) -> usize) -> io::Result<Jumps> {
        let size = next.len() * LINE_BYTES;
        let mut mapping = Mapping::new(size, Pages::Huge)?;
        mapping.write(0, &vec![TRAP; size]);
        let place = |line: usize| {
            assert!(offset(line) + JUMP_BYTES <= LINE_BYTES);
            line * LINE_BYTES + offset(line)
        };
        let (mut line, mut steps) = (0, 1);
        while next[line] != 0 {
            let (from, to) = (place(line), place(next[line] as usize));
            let displacement = to as i64 - (from + JUMP_BYTES) as i64;
            let displacement = i32::try_from(displacement).expect("a chain below 2 GiB");
            mapping.write(from, &[JUMP]);
            mapping.write(from + 1, &displacement.to_le_bytes());
            line = next[line] as usize;
            steps += 1;
            assert!(steps <= next.len(), "a cycle that leaves line 0 out");
        }
        assert_eq!(steps, next.len(), "more than one cycle");
        mapping.write(place(line), &[RETURN]);
        mapping.make_executable()?;
        let entry = place(0);
        Ok(Jumps { mapping, entry })
    }

    /// Runs through all lines once.
    pub fn run(&self) {
        let entry = self.mapping.start().wrapping_add(self.entry);
        // SAFETY: `new` wrote whole instructions from there to a return. None of them uses a
        // register or the stack, so any calling convention is kept.
        unsafe {
            let function = std::mem::transmute::<*const u8, extern "C" fn()>(entry);
            function();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_made_here_runs_and_returns() {
        let next: Vec<u32> = (0..300).map(|line| (line + 7) % 300).collect();
        let jumps = Jumps::new(&next, |line| line % 59).unwrap();
        jumps.run();
        jumps.run();
        Jumps::new(&[0], |_| 0).unwrap().run();
    }

    #[test]
    #[should_panic(expected = "more than one cycle")]
    fn lines_that_no_jump_reaches_are_refused() {
        let _ = Jumps::new(&[1, 0, 2], |_| 0);
    }
}
