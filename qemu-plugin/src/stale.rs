// SPDX-License-Identifier: GPL-2.0-or-later
//! Prevents QEMU 7.2 from calling callbacks that a reset has freed.
//!
//! In that version, a thread that has run `ret` keeps a pointer to that instruction's callbacks. A
//! reset frees them; the next instruction that accesses memory in a QEMU helper then calls through
//! the pointer and crashes. An instruction with its own callbacks sets the pointer first. So in
//! uninstrumented code, instructions that may use such helpers get a callback that does nothing.
//! QEMU 8 clears the pointer.

use crate::instruction::may_reach_memory_in_a_helper;
use qemu_plugin_sys::{
    qemu_plugin_cb_flags::QEMU_PLUGIN_CB_NO_REGS, qemu_plugin_insn,
    qemu_plugin_mem_rw::QEMU_PLUGIN_MEM_RW, qemu_plugin_meminfo_t,
    qemu_plugin_register_vcpu_mem_cb,
};
use std::ffi::{c_uint, c_void};

/// Whether this library is for such a QEMU.
pub(crate) const MATTERS: bool = cfg!(not(feature = "api-v4"));

/// Gives an instruction being translated its own callback, if it needs one.
pub(crate) fn guard(instruction: *mut qemu_plugin_insn, bytes: &[u8]) {
    if !may_reach_memory_in_a_helper(bytes) {
        return;
    }
    let (flags, kinds) = (QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW);
    let nothing = std::ptr::null_mut();
    // SAFETY: the handle is valid while its block is translated, and the callback always is.
    unsafe {
        qemu_plugin_register_vcpu_mem_cb(instruction, Some(on_access), flags, kinds, nothing);
    }
}

unsafe extern "C" fn on_access(_: c_uint, _: qemu_plugin_meminfo_t, _: u64, _: *mut c_void) {}
