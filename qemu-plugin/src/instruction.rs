// SPDX-License-Identifier: GPL-2.0-or-later
//! Properties of an x86 instruction, from its bytes.

use corehop_wire::ring::NO_OP;
use qemu_plugin_sys::{qemu_plugin_insn, qemu_plugin_insn_data, qemu_plugin_insn_size};

/// The bytes of an instruction: at most 15 (Intel SDM volume 2, 2.3.11).
pub(crate) struct Bytes {
    bytes: [u8; 15],
    count: usize,
}

impl Bytes {
    pub(crate) fn of(instruction: *mut qemu_plugin_insn) -> Bytes {
        let mut bytes = [0; 15];
        // SAFETY: the handle is valid while the translation callback runs.
        let count = unsafe { qemu_plugin_insn_size(instruction) }.min(bytes.len());
        // SAFETY: QEMU's data has the reported size, and no more bytes than requested are copied.
        #[cfg(not(feature = "api-v4"))]
        unsafe {
            let data = qemu_plugin_insn_data(instruction).cast();
            std::ptr::copy_nonoverlapping(data, bytes.as_mut_ptr(), count);
        }
        // SAFETY: the bytes belong to this function, and their number is passed.
        #[cfg(feature = "api-v4")]
        let count = unsafe { qemu_plugin_insn_data(instruction, bytes.as_mut_ptr().cast(), count) };
        Bytes { bytes, count }
    }
}

impl std::ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.count]
    }
}

/// Returns the number of a no-op that marks a request (`runtime/include/corehop.h`).
pub(crate) fn no_op_number(bytes: &[u8]) -> Option<u16> {
    let [0x0f, 0x1f, 0x84, 0x00, low, high, upper @ ..] = bytes else {
        return None;
    };
    (*upper == NO_OP.to_le_bytes()).then(|| u16::from_le_bytes([*low, *high]))
}

/// Whether this is an atomic read-modify-write, which is recorded only as its store: with the LOCK
/// prefix, or XCHG with memory, which locks without it (Intel SDM volume 2, LOCK and XCHG).
pub(crate) fn is_atomic(bytes: &[u8]) -> bool {
    let (prefixes, rest) = at_opcode(bytes);
    prefixes.contains(&LOCK) || matches!(rest, [0x86 | 0x87, modrm, ..] if modrm >> 6 != 3)
}

/// Whether QEMU may run it with a helper that accesses memory: atomics, the x87, the state of all
/// registers (XSAVE and similar), CMPXCHG16B, far returns, masked moves and gathers, whichever of
/// its operands are in memory.
pub(crate) fn may_reach_memory_in_a_helper(bytes: &[u8]) -> bool {
    let is_far = |modrm: u8| matches!(modrm >> 3 & 7, 3 | 5);
    let by_mask = |opcode: u8| matches!(opcode, 0x2c..=0x2f | 0x8c | 0x8e | 0x90..=0x93);
    let by_opcode = match *at_opcode(bytes).1 {
        [0xff, modrm, ..] => is_far(modrm),
        // VEX: the second opcode map contains masked moves and gathers, the first VMASKMOVDQU.
        [0xc4, map, _, opcode, ..] if map & 31 == 2 => by_mask(opcode),
        [0xc4, _, _, opcode, ..] | [0xc5, _, opcode, ..] => opcode == 0xf7,
        [0xd8..=0xdf | 0xca | 0xcb | 0xcf, ..] => true,
        [0x0f, 0x00 | 0x01 | 0xae | 0xc7 | 0xf7, ..] => true,
        _ => false,
    };
    by_opcode || is_atomic(bytes)
}

const LOCK: u8 = 0xf0;

/// Splits the prefixes, including REX, from the rest.
fn at_opcode(bytes: &[u8]) -> (&[u8], &[u8]) {
    let legacy = [
        LOCK, 0xf2, 0xf3, 0x66, 0x67, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65,
    ];
    let is_prefix = |byte: &u8| legacy.contains(byte) || byte & 0xf0 == 0x40;
    let count = bytes.iter().take_while(|byte| is_prefix(byte)).count();
    bytes.split_at(count)
}
