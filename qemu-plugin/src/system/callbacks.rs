// SPDX-License-Identifier: GPL-2.0-or-later
//! The callbacks of a whole machine: those of `vcpu`, for the running thread.

use super::cpus;
use super::frames::{self, OfPage, Translated};
use super::half::is_kernel;
use super::tasks;
use crate::registers::{Registers, with_registers};
use crate::{phase, size_and_kind, vcpu};
use corehop_wire::ring::word;
use qemu_plugin_sys::qemu_plugin_meminfo_t;
use std::ffi::{c_uint, c_void};

with_registers!(on_execution, executes);
with_registers!(on_marked_execution, executes_marked);
with_registers!(on_counted_mark, counts_mark);
with_registers!(on_exit, exits);
with_registers!(on_cpu_start, starts_cpu);

/// A code block runs.
unsafe extern "C" fn executes(index: c_uint, translated: *mut c_void, registers: Registers) {
    let cpu = cpus::at_block(index as usize, registers);
    if tasks::begins_block(cpu) {
        let Translated { number, page } = *frames::translated(translated);
        let place = tasks::place(cpu);
        // SAFETY: one thread runs all virtual CPUs, so no other code uses any place at the same
        // time.
        unsafe {
            vcpu::on_execution(place as c_uint, number as usize as *mut c_void);
            vcpu::fetches(place, || page);
        }
    }
}

/// The code block at the request marker runs.
unsafe extern "C" fn executes_marked(index: c_uint, translated: *mut c_void, registers: Registers) {
    let cpu = cpus::at_block(index as usize, registers);
    tasks::serves(cpu);
    let Translated { number, page } = *frames::translated(translated);
    let place = tasks::place(cpu);
    // SAFETY: as in `executes`.
    unsafe {
        vcpu::on_marked_execution(place as c_uint, number as usize as *mut c_void);
        vcpu::fetches(place, || page);
    }
}

/// A request begins, and not everything is instrumented yet.
unsafe extern "C" fn counts_mark(index: c_uint, _: *mut c_void, registers: Registers) {
    let cpu = cpus::at_block(index as usize, registers);
    tasks::serves(cpu);
    // SAFETY: as in `executes`.
    unsafe { vcpu::counts_mark(tasks::place(cpu)) };
}

/// The kernel is entered or left, and not everything is instrumented yet.
pub(crate) unsafe extern "C" fn on_kernel_entry(_: c_uint, _: *mut c_void) {
    phase::arm_if_due();
}

/// The running thread ends.
unsafe extern "C" fn exits(index: c_uint, _: *mut c_void, registers: Registers) {
    let cpu = cpus::at_block(index as usize, registers);
    if tasks::begins_block(cpu) {
        // SAFETY: as in `executes`.
        unsafe { vcpu::ends(tasks::place(cpu)) };
    }
}

/// The kernel starts a CPU.
unsafe extern "C" fn starts_cpu(_: c_uint, _: *mut c_void, registers: Registers) {
    cpus::starts(registers);
}

/// An access by user code. Accesses in the kernel's half are the processor's own, for an interrupt.
pub(crate) unsafe extern "C" fn on_user_access(
    index: c_uint,
    info: qemu_plugin_meminfo_t,
    address: u64,
    template: *mut c_void,
) {
    let cpu = cpus::at_access(index as usize);
    let place = tasks::place(cpu);
    if place != 0 && !is_kernel(address) {
        let word = template as usize as u64 | size_and_kind::of(info);
        // SAFETY: as in `executes`.
        unsafe {
            vcpu::accesses(place, word::at(word, address), || {
                OfPage::of_data(info, address)
            })
        };
    }
}

/// An access by the kernel.
pub(crate) unsafe extern "C" fn on_kernel_access(
    index: c_uint,
    info: qemu_plugin_meminfo_t,
    address: u64,
    template: *mut c_void,
) {
    let cpu = cpus::at_access(index as usize);
    let place = tasks::place(cpu);
    let size_and_kind = size_and_kind::of(info);
    if place != 0 {
        let word = template as usize as u64 | size_and_kind;
        // SAFETY: as in `executes`.
        unsafe {
            vcpu::accesses(place, word::in_either_half(word, address), || {
                OfPage::of_data(info, address)
            })
        };
    }
    if tasks::is_switch(cpu, address) && word::is_store(size_and_kind) {
        tasks::switches(cpu);
    }
}

/// Defines a callback for only the stores of an atomic read-modify-write, which is one store in the
/// trace.
macro_rules! of_stores {
    ($name:ident, $callback:ident) => {
        pub(crate) unsafe extern "C" fn $name(
            index: c_uint,
            info: qemu_plugin_meminfo_t,
            address: u64,
            template: *mut c_void,
        ) {
            if word::is_store(size_and_kind::of(info)) {
                // SAFETY: the same callback contract, with the arguments that QEMU passed.
                unsafe { $callback(index, info, address, template) };
            }
        }
    };
}

of_stores!(on_atomic_user_access, on_user_access);
of_stores!(on_atomic_kernel_access, on_kernel_access);
