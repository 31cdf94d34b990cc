// SPDX-License-Identifier: GPL-2.0-or-later
//! Which callback sees an instruction's accesses, and what it is told when the code is translated.
//!
//! Those of a plain instruction are known but for their addresses (`corehop_elision`), so it needs
//! no callback where these follow from others, and a quick one where it makes one access. The first
//! access to be recorded of a code block says that the block runs, where it can: then the block
//! itself needs no callback.

use crate::instruction::is_atomic;
use crate::vcpu;
use corehop_elision::{BlockAccesses, PlainAccess};
use corehop_ring::word;
use qemu_plugin_sys::{
    qemu_plugin_cb_flags::QEMU_PLUGIN_CB_NO_REGS, qemu_plugin_insn,
    qemu_plugin_mem_rw::QEMU_PLUGIN_MEM_RW, qemu_plugin_meminfo_t,
    qemu_plugin_register_vcpu_mem_cb,
};
use std::ffi::{c_uint, c_void};

type OnAccess = unsafe extern "C" fn(c_uint, qemu_plugin_meminfo_t, u64, *mut c_void);

/// What is recorded of a code block.
pub(crate) struct Recorded {
    /// The number it was defined with.
    pub(crate) number: u32,
    accesses: BlockAccesses,
}

/// What sees an instruction's accesses.
struct Callback {
    function: OnAccess,
    template: u64,
}

impl Recorded {
    pub(crate) fn new(number: u32, accesses: BlockAccesses) -> Recorded {
        Recorded { number, accesses }
    }

    /// The part of an execution's word that is known, if the first access of the block says that
    /// it runs, and that access's instruction.
    pub(crate) fn execution_at(&self) -> Option<(usize, u64)> {
        let first = self.accesses.all.iter().find(|access| !access.is_elided());
        let first = first.filter(|_| self.accesses.none_before)?;
        let instruction = usize::from(first.form.instruction);
        // One callback sees all accesses of an instruction.
        let is_alone = self.seen(instruction).count() == 1;
        let template = word::execution_at_template(self.number)?;
        is_alone.then_some((instruction, template))
    }

    /// Has the accesses of an instruction recorded. `leads` is the word of an execution that the
    /// first one begins, if this is its instruction.
    pub(crate) fn watch(
        &self,
        instruction: *mut qemu_plugin_insn,
        place: usize,
        bytes: &[u8],
        leads: Option<u64>,
    ) {
        let Some(Callback { function, template }) = self.callback(place, bytes, leads) else {
            return;
        };
        // QEMU 7.2 mistakes the kinds asked for (it tests `kinds & (kind + 1)`), so both are asked
        // for and the callback sorts them.
        let (flags, kinds) = (QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW);
        let template = template as usize as *mut c_void;
        // SAFETY: the handle is valid while its block is translated; the callback matches the type
        // and treats the user data as the number it is.
        unsafe {
            qemu_plugin_register_vcpu_mem_cb(instruction, Some(function), flags, kinds, template);
        }
    }

    fn callback(&self, place: usize, bytes: &[u8], leads: Option<u64>) -> Option<Callback> {
        let of = |function, template| Some(Callback { function, template });
        let known = self.accesses.of_instruction(place).count();
        let mut seen = self.seen(place);
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

    /// Accesses of a plain instruction that are recorded.
    fn seen(&self, place: usize) -> impl Iterator<Item = &PlainAccess> {
        let accesses = self.accesses.of_instruction(place);
        accesses.filter(|access| !access.is_elided())
    }
}

/// All of an access's word but the address.
fn template_of(access: &PlainAccess) -> u64 {
    let form = access.form;
    let size_and_kind = word::size_and_kind(u32::from(form.size_shift), form.store);
    word::data_template(usize::from(form.instruction)) | size_and_kind
}
