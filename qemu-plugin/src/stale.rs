// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps QEMU 7.2 from calling what a reset has freed.
//!
//! There a thread that has run `ret` keeps pointing to that instruction's callbacks, and after a
//! reset, which frees them, the next instruction that reaches memory from a helper of QEMU calls
//! through it and crashes. An instruction with callbacks of its own sets the pointer first. So
//! where nothing is recorded, those that may use such helpers have one that does nothing. QEMU 8
//! clears the pointer.

use crate::translation::is_atomic;
use qemu_plugin_sys::{
    qemu_plugin_cb_flags::QEMU_PLUGIN_CB_NO_REGS, qemu_plugin_insn,
    qemu_plugin_mem_rw::QEMU_PLUGIN_MEM_RW, qemu_plugin_meminfo_t,
    qemu_plugin_register_vcpu_mem_cb,
};
use std::ffi::{c_uint, c_void};

/// Whether this library is for such a QEMU.
pub(crate) const MATTERS: bool = cfg!(not(feature = "api-v4"));

/// Gives an instruction that is being translated callbacks of its own, if it needs them.
pub(crate) fn guard(instruction: *mut qemu_plugin_insn, bytes: &[u8]) {
    if !may_reach_memory_in_a_helper(bytes) {
        return;
    }
    let (flags, kinds) = (QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW);
    let nothing = std::ptr::null_mut();
    // SAFETY: the handle is valid while its block is translated, and the callback always.
    unsafe {
        qemu_plugin_register_vcpu_mem_cb(instruction, Some(on_access), flags, kinds, nothing);
    }
}

unsafe extern "C" fn on_access(_: c_uint, _: qemu_plugin_meminfo_t, _: u64, _: *mut c_void) {}

/// Atomics, the x87, state of all registers (XSAVE and its kin), CMPXCHG16B, far returns, and what
/// moves by masks or gathers, whichever of its operands are in memory.
fn may_reach_memory_in_a_helper(bytes: &[u8]) -> bool {
    let is_prefix =
        |byte: &u8| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf2 | 0xf3);
    let legacy = bytes.iter().take_while(|byte| is_prefix(byte)).count();
    let rex = bytes[legacy..]
        .first()
        .is_some_and(|byte| byte & 0xf0 == 0x40);
    let opcode = &bytes[legacy + usize::from(rex)..];
    let is_far = |modrm: u8| matches!(modrm >> 3 & 7, 3 | 5);
    let by_mask = |opcode: u8| matches!(opcode, 0x2c..=0x2f | 0x8c | 0x8e | 0x90..=0x93);
    match *opcode {
        [0xff, modrm, ..] => is_far(modrm),
        // VEX: the second opcode map holds masked moves and gathers, the first VMASKMOVDQU.
        [0xc4, map, _, opcode, ..] if map & 31 == 2 => by_mask(opcode),
        [0xc4, _, _, opcode, ..] | [0xc5, _, opcode, ..] => opcode == 0xf7,
        [0xd8..=0xdf | 0xca | 0xcb | 0xcf, ..] => true,
        [0x0f, 0x00 | 0x01 | 0xae | 0xc7 | 0xf7, ..] => true,
        _ => is_atomic(bytes),
    }
}
