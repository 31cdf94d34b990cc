// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps QEMU 7.2 from calling what a reset has freed.
//!
//! There a thread that has run `ret` keeps pointing to that instruction's callbacks, and after a
//! reset, which frees them, the next instruction that reaches memory from a helper of QEMU calls
//! through it and crashes. An instruction with callbacks of its own sets the pointer first. So
//! where nothing is recorded, those that may use such helpers have one that does nothing. QEMU 8
//! clears the pointer.

use crate::instruction::may_reach_memory_in_a_helper;
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
