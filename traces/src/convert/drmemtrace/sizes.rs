//! Accesses whose size is not in the trace.
//!
//! The processor determines how much `xsave` and similar instructions store, and how much `xrstor`
//! loads. Many versions of DynamoRIO therefore write a size of 0. The instruction is recognized by
//! its encoding. In traces without encodings, it must be long enough and its address must be
//! aligned as required.

use std::collections::HashSet;

/// Alignment of an `xsave` area.
const ALIGNMENT: u64 = 64;
/// Minimum size of these instructions.
const SHORTEST: u64 = 3;

/// Instructions whose access size is determined by the processor.
#[derive(Default)]
pub(super) struct Unsized {
    /// Those recognized by their encodings.
    known: HashSet<u64>,
}

impl Unsized {
    /// Records the encoding of the instruction at this address.
    pub(super) fn encoded(&mut self, address: u64, bytes: &[u8]) {
        if is_save_or_restore(bytes) {
            self.known.insert(address);
        } else if !self.known.is_empty() {
            self.known.remove(&address);
        }
    }

    /// Returns whether the access at `data` by the instruction at `address` may have an unknown
    /// size.
    pub(super) fn allows(&self, address: u64, size: u64, data: u64, has_encodings: bool) -> bool {
        match has_encodings {
            true => self.known.contains(&address),
            false => size >= SHORTEST && data.is_multiple_of(ALIGNMENT),
        }
    }
}

/// Returns whether the bytes are one of `fxsave`, `fxrstor`, `xsave`, `xrstor`, `xsaveopt`,
/// `xsavec`, `xsaves` and `xrstors`.
fn is_save_or_restore(bytes: &[u8]) -> bool {
    let is_prefix = |byte: &u8| {
        let is_segment = matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65);
        is_segment || matches!(byte, 0x40..=0x4f | 0x66 | 0x67 | 0xf0 | 0xf2 | 0xf3)
    };
    let prefixes = bytes.iter().take_while(|byte| is_prefix(byte)).count();
    let [0x0f, opcode, operands, ..] = bytes[prefixes..] else {
        return false;
    };
    let is_memory = operands >> 6 != 3;
    let extension = operands >> 3 & 7;
    is_memory
        && match opcode {
            0xae => matches!(extension, 0 | 1 | 4 | 5 | 6),
            0xc7 => matches!(extension, 3..=5),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_that_save_the_processors_state_are_known_by_their_bytes() {
        // xsavec [rsp+0x40], xrstor [rsp+0x40], xsave64 [rdi], fxsave [rax].
        let some: [&[u8]; 4] = [
            &[0x0f, 0xc7, 0x64, 0x24, 0x40],
            &[0x0f, 0xae, 0x6c, 0x24, 0x40],
            &[0x48, 0x0f, 0xae, 0x27],
            &[0x0f, 0xae, 0x00],
        ];
        assert!(some.iter().all(|bytes| is_save_or_restore(bytes)));
        // mfence, ldmxcsr [rax], cmpxchg8b [rax], nothing, half of one, only prefixes.
        let others: [&[u8]; 6] = [
            &[0x0f, 0xae, 0xf0],
            &[0x0f, 0xae, 0x10],
            &[0x0f, 0xc7, 0x08],
            &[],
            &[0x0f, 0xae],
            &[0xf3, 0x48],
        ];
        assert!(!others.iter().any(|bytes| is_save_or_restore(bytes)));
    }
}
