// SPDX-License-Identifier: GPL-2.0-or-later
//! Which callback sees an instruction's accesses, and what it is told when the code is translated.
//!
//! Those of a plain instruction are known but for their addresses (`corehop_wire::elision`), so it
//! needs no callback where these follow from others, and a quick one where it makes one access. The
//! first access to be recorded of a code block says that the block runs, where it can: then the
//! block itself needs no callback.

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

/// What sees an instruction's accesses.
struct Callback {
    function: OnAccess,
    template: u64,
}

/// Whose code it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Privilege {
    User,
    Kernel,
}

/// Has the accesses of an instruction of a code block recorded. `leads` is the word of an execution
/// that the first one begins, if this is its instruction.
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
    // QEMU 7.2 mistakes the kinds asked for (it tests `kinds & (kind + 1)`), so both are asked for
    // and the callback sorts them.
    let (flags, kinds) = (QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW);
    let template = template as usize as *mut c_void;
    // SAFETY: the handle is valid while its block is translated; the callback matches the type and
    // treats the user data as the number it is.
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

/// The same where a whole machine is recorded, every access by itself: a page may be missing at
/// any of them.
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

/// All of an access's word but the address.
fn template_of(access: &PlainAccess) -> u64 {
    let form = access.form;
    let size_and_kind = word::size_and_kind(u32::from(form.size_shift), form.store);
    word::data_template(usize::from(form.instruction)) | size_and_kind
}
