// SPDX-License-Identifier: GPL-2.0-or-later
//! Selects the callback for an instruction's accesses, and its data, when code is translated.
//!
//! The accesses of a plain instruction are known except for their addresses
//! (`corehop_wire::elision`). So it needs no callback if these follow from others, and a fast one
//! if it makes one access. The first recorded access of a code block also records its execution, if
//! possible; then the block itself needs no callback.

use crate::instruction::is_atomic;
use crate::recorded::Recorded;
use crate::shared::plugin;
use crate::system::callbacks as machine;
use crate::vcpu;
use corehop_wire::elision::PlainAccess;
use corehop_wire::ring::word;
use qemu_plugin_sys::{
    qemu_plugin_cb_flags::QEMU_PLUGIN_CB_NO_REGS, qemu_plugin_insn,
    qemu_plugin_mem_rw::QEMU_PLUGIN_MEM_RW, qemu_plugin_meminfo_t,
    qemu_plugin_register_vcpu_mem_cb,
};
use std::ffi::{c_uint, c_void};

type OnAccess = unsafe extern "C" fn(c_uint, qemu_plugin_meminfo_t, u64, *mut c_void);

/// The callback for an instruction's accesses.
struct Callback {
    function: OnAccess,
    template: u64,
}

/// Privilege of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Privilege {
    User,
    Kernel,
}

/// Registers the callback for an instruction of a code block. `leads` is the word of the execution
/// that begins with its first access, if this is its instruction.
pub(crate) fn watch(
    recorded: &Recorded,
    instruction: *mut qemu_plugin_insn,
    place: usize,
    bytes: &[u8],
    leads: Option<u64>,
    privilege: Privilege,
) {
    let callback = match plugin().records_a_machine {
        true => Some(callback_of_machine(place, bytes, privilege)),
        false => callback(recorded, place, bytes, leads),
    };
    let Some(Callback { function, template }) = callback else {
        return;
    };
    // QEMU 7.2 filters kinds incorrectly (it tests `kinds & (kind + 1)`), so both are requested and
    // the callback distinguishes them.
    let (flags, kinds) = (QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW);
    let template = template as usize as *mut c_void;
    // SAFETY: the handle is valid while its block is translated; the callback matches the type and
    // uses the user data only as a number.
    unsafe {
        qemu_plugin_register_vcpu_mem_cb(instruction, Some(function), flags, kinds, template);
    }
}

fn callback(
    recorded: &Recorded,
    place: usize,
    bytes: &[u8],
    leads: Option<u64>,
) -> Option<Callback> {
    let of = |function, template| Some(Callback { function, template });
    let known = recorded.known(place);
    let mut seen = recorded.seen(place);
    match (known, seen.next(), seen.next()) {
        (0, _, _) if is_atomic(bytes) => of(vcpu::on_atomic_access, word::data_template(place)),
        (0, _, _) | (_, Some(_), Some(_)) => of(vcpu::on_access, word::data_template(place)),
        (_, None, _) => None,
        (1, Some(access), None) => match leads {
            Some(template) => of(vcpu::on_first_access, template),
            None => of(vcpu::on_plain_access, template_of(access)),
        },
        (_, Some(access), None) => match (leads, access.form.store) {
            (Some(template), false) => of(vcpu::on_first_load, template),
            (Some(template), true) => of(vcpu::on_first_store, template),
            (None, false) => of(vcpu::on_plain_load, template_of(access)),
            (None, true) => of(vcpu::on_plain_store, template_of(access)),
        },
    }
}

/// Selects the callback in a whole machine, where every access is recorded separately: each may
/// cause a page fault.
fn callback_of_machine(place: usize, bytes: &[u8], privilege: Privilege) -> Callback {
    let function: OnAccess = match (privilege, is_atomic(bytes)) {
        (Privilege::User, false) => machine::on_user_access,
        (Privilege::User, true) => machine::on_atomic_user_access,
        (Privilege::Kernel, false) => machine::on_kernel_access,
        (Privilege::Kernel, true) => machine::on_atomic_kernel_access,
    };
    let template = word::data_template(place);
    Callback { function, template }
}

/// Returns the word of an access without the address.
fn template_of(access: &PlainAccess) -> u64 {
    let form = access.form;
    let size_and_kind = word::size_and_kind(u32::from(form.size_shift), form.store);
    word::data_template(usize::from(form.instruction)) | size_and_kind
}
