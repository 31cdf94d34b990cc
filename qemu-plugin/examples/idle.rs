// SPDX-License-Identifier: GPL-2.0-or-later
//! A QEMU plugin that registers the callbacks of a recorder and returns from each at once.
//!
//! A server's time under it is a lower bound for any recorder with a callback for every access.
//! `make bench-record` shows it next to recording.

use qemu_plugin_sys::{
    QEMU_PLUGIN_VERSION, qemu_info_t, qemu_plugin_cb_flags::QEMU_PLUGIN_CB_NO_REGS,
    qemu_plugin_id_t, qemu_plugin_mem_rw::QEMU_PLUGIN_MEM_RW, qemu_plugin_meminfo_t,
    qemu_plugin_register_vcpu_mem_cb, qemu_plugin_register_vcpu_tb_exec_cb,
    qemu_plugin_register_vcpu_tb_trans_cb, qemu_plugin_tb, qemu_plugin_tb_get_insn,
    qemu_plugin_tb_n_insns,
};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;

/// The plugin API this library is built for; QEMU refuses to load it without this API.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = QEMU_PLUGIN_VERSION as c_int;

unsafe extern "C" fn on_execution(_index: c_uint, _data: *mut c_void) {}

unsafe extern "C" fn on_access(
    _index: c_uint,
    _info: qemu_plugin_meminfo_t,
    _address: u64,
    _data: *mut c_void,
) {
}

unsafe extern "C" fn on_translation(_id: qemu_plugin_id_t, tb: *mut qemu_plugin_tb) {
    let flags = QEMU_PLUGIN_CB_NO_REGS;
    // SAFETY: QEMU passed `tb` to this callback, each place is below its instruction count, and the
    // callbacks live as long as the process.
    unsafe {
        qemu_plugin_register_vcpu_tb_exec_cb(tb, Some(on_execution), flags, null_mut());
        for place in 0..qemu_plugin_tb_n_insns(tb) {
            let instruction = qemu_plugin_tb_get_insn(tb, place);
            let (access, kinds) = (Some(on_access as _), QEMU_PLUGIN_MEM_RW);
            qemu_plugin_register_vcpu_mem_cb(instruction, access, flags, kinds, null_mut());
        }
    }
}

/// Entry point.
///
/// # Safety
/// QEMU calls this once, with its identifier of this plugin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: qemu_plugin_id_t,
    _info: *const qemu_info_t,
    _argc: c_int,
    _argv: *mut *mut c_char,
) -> c_int {
    // SAFETY: the identifier is from QEMU, and the callback lives as long as the process.
    unsafe { qemu_plugin_register_vcpu_tb_trans_cb(id, Some(on_translation)) };
    0
}
