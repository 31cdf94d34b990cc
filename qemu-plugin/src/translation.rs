// SPDX-License-Identifier: GPL-2.0-or-later
//! Defines a block of guest code and registers its callbacks when QEMU translates it.
//!
//! QEMU's block is one code block of the trace, unless a request marker is inside it, reached by
//! falling through. Then the marker begins another one, so a request always begins with a code
//! block.

use crate::allocators::{Allocators, Function};
use crate::callbacks::{Privilege, watch};
use crate::instruction::{Bytes, no_op_number};
use crate::known::{self, Known};
use crate::mappings::Mappings;
use crate::phase::{self, Phase};
use crate::shared::plugin;
use crate::system::frames::{OfPage, Translated};
use crate::system::{self, callbacks as machine, cpus};
use crate::{stale, vcpu};
use corehop_wire::ring::{RequestMarker, word};
use qemu_plugin_sys::{
    qemu_plugin_cb_flags::QEMU_PLUGIN_CB_NO_REGS, qemu_plugin_id_t, qemu_plugin_insn,
    qemu_plugin_insn_haddr, qemu_plugin_register_vcpu_insn_exec_cb,
    qemu_plugin_register_vcpu_tb_exec_cb, qemu_plugin_tb, qemu_plugin_tb_get_insn,
    qemu_plugin_tb_n_insns, qemu_plugin_tb_vaddr,
};
use std::ffi::{c_uint, c_void};
use std::ops::Range;

/// Called for every block before it runs for the first time.
pub(crate) unsafe extern "C" fn on_translation(_id: qemu_plugin_id_t, tb: *mut qemu_plugin_tb) {
    let (phase, is_machine) = (Phase::now(), plugin().records_a_machine);
    let everything = matches!(phase, Phase::Recording | Phase::Disarming);
    let block = Block::of(tb);
    let ended = phase == Phase::Bare || plugin().memory.is_stopped();
    if stale::MATTERS && !is_machine && (ended || !everything) {
        for (&instruction, bytes) in block.instructions.iter().zip(&block.bytes) {
            stale::guard(instruction, bytes);
        }
    }
    if ended {
        return;
    }
    let Some(mut known) = known::lock() else {
        return;
    };
    let message = match is_machine {
        true => known.mappings.meet(block.start, block.page()),
        false => known.mappings.discover(block.start),
    };
    if let Some(message) = message {
        known.allocators.look_in(&message);
        let _ = plugin().memory.send(&message);
    }
    let marks = block.marks(&known.mappings);
    match is_machine {
        true => block.watch_cpu_start(),
        false => block.watch_allocators(&known.allocators),
    }
    if is_machine && !everything {
        return block.wait_for(&marks);
    }
    let ends = marks.iter().skip_while(|&&mark| mark == 0).copied();
    let mut start = 0;
    for end in ends.chain([block.len()]) {
        let marked = marks.contains(&start);
        if marked || everything {
            block.instrument(start..end, marked, &mut known);
        }
        start = end;
    }
}

/// The instruction `swapgs`, by which the kernel gets its own data, or gives it back.
const SWAPGS: [u8; 3] = [0x0f, 0x01, 0xf8];

type OnExecution = unsafe extern "C" fn(c_uint, *mut c_void);

/// A block being translated; QEMU's handles are valid until the callback returns.
struct Block {
    tb: *mut qemu_plugin_tb,
    start: u64,
    instructions: Vec<*mut qemu_plugin_insn>,
    /// The bytes of each instruction.
    bytes: Vec<Bytes>,
}

impl Block {
    fn of(tb: *mut qemu_plugin_tb) -> Block {
        // SAFETY: QEMU passed `tb` to the current callback, and each place is below its instruction
        // count. QEMU ends a block after MOST_INSTRUCTIONS, so none is omitted.
        unsafe {
            let count = qemu_plugin_tb_n_insns(tb).min(word::MOST_INSTRUCTIONS);
            let instructions: Vec<_> = (0..count)
                .map(|place| qemu_plugin_tb_get_insn(tb, place))
                .collect();
            Block {
                tb,
                start: qemu_plugin_tb_vaddr(tb),
                bytes: instructions.iter().copied().map(Bytes::of).collect(),
                instructions,
            }
        }
    }

    fn len(&self) -> usize {
        self.instructions.len()
    }

    /// Returns the contents of the page in which it begins, in a whole machine; empty if that is
    /// not memory.
    fn page(&self) -> &[u8] {
        const PAGE_BYTES: usize = 4096;
        let Some(&first) = self.instructions.first() else {
            return &[];
        };
        // SAFETY: the handle is valid while its block is translated.
        let place = unsafe { qemu_plugin_insn_haddr(first) } as usize & !(PAGE_BYTES - 1);
        match place {
            0 => &[],
            // SAFETY: the guest's memory exists as long as QEMU, in whole pages, and no guest code
            // runs on the only virtual CPU during this callback.
            place => unsafe { std::slice::from_raw_parts(place as *const u8, PAGE_BYTES) },
        }
    }

    fn address_of(&self, place: usize) -> u64 {
        let before: usize = self.bytes[..place].iter().map(|bytes| bytes.len()).sum();
        self.start.wrapping_add(before as u64)
    }

    /// Returns the places of the instructions at which requests begin, ascending.
    fn marks(&self, mappings: &Mappings) -> Vec<usize> {
        match mappings.request_marker() {
            RequestMarker::At { .. } => {
                let marker = mappings.marker();
                let place = marker.and_then(|marker| self.place_of(marker));
                place.into_iter().collect()
            }
            RequestMarker::SystemCalls => Vec::new(),
            RequestMarker::NoOp { number } => {
                let instructions = self.bytes.iter().enumerate();
                let marks = instructions.filter(|(_, bytes)| {
                    let found = no_op_number(bytes);
                    found.is_some_and(|found| number.is_none_or(|number| number == found))
                });
                marks.map(|(place, _)| place).collect()
            }
        }
    }

    /// Returns the place of the instruction at `address`.
    fn place_of(&self, address: u64) -> Option<usize> {
        let distance = address.checked_sub(self.start)?;
        if distance > 15 * self.len() as u64 {
            return None;
        }
        (0..self.len()).find(|&place| self.address_of(place) == address)
    }

    /// Defines these instructions as one code block and registers its recording.
    fn instrument(&self, places: Range<usize>, marked: bool, known: &mut Known) {
        if places.is_empty() {
            return;
        }
        let first = places.start;
        let privilege = match system::half::is_kernel(self.start) {
            true => Privilege::Kernel,
            false => Privilege::User,
        };
        if system::is_exit(self.address_of(first)) {
            self.watch_instruction(first, machine::on_exit, std::ptr::null_mut());
        }
        let (instructions, code) = (&self.instructions[places.clone()], &self.bytes[places]);
        let Ok(recorded) = known.recorded(self.address_of(first), code) else {
            return;
        };
        let leads = recorded.execution_at().filter(|_| !marked);
        if leads.is_none() {
            self.watch_execution(first, marked, recorded.number);
        }
        for (place, (&instruction, bytes)) in instructions.iter().zip(code).enumerate() {
            let leads = leads.filter(|&(first, _)| first == place);
            watch(
                recorded,
                instruction,
                place,
                bytes,
                leads.map(|(_, template)| template),
                privilege,
            );
        }
    }

    /// Registers callbacks before those that record the block: what it accesses comes after a
    /// change of the heap.
    fn watch_allocators(&self, allocators: &Allocators) {
        if let Some(allocator) = allocators.at(self.start) {
            let data: *const Function = allocator;
            self.watch_instruction(0, vcpu::heap::on_allocator, data.cast_mut().cast());
        }
        if allocators.is_site(self.start) {
            self.watch_instruction(0, vcpu::heap::on_return_site, std::ptr::null_mut());
        }
    }

    /// Registers a callback if the kernel starts CPUs with this code.
    fn watch_cpu_start(&self) {
        if cpus::starts_at(self.start) {
            self.watch_instruction(0, machine::on_cpu_start, std::ptr::null_mut());
        }
    }

    /// Counts requests at these marks of a whole machine in which nothing else is instrumented yet.
    /// A pause may end at any time, which is noticed when the kernel is entered or left.
    fn wait_for(&self, marks: &[usize]) {
        if !marks.is_empty() {
            phase::meet_mark();
            if phase::arm_if_due() {
                return;
            }
        }
        for &mark in marks {
            self.watch_instruction(mark, machine::on_counted_mark, std::ptr::null_mut());
        }
        if system::half::is_kernel(self.start) && self.bytes.iter().any(|bytes| **bytes == SWAPGS) {
            self.watch_instruction(0, machine::on_kernel_entry, std::ptr::null_mut());
        }
    }

    /// Registers a callback for executions of the code block at instruction `first`.
    fn watch_execution(&self, first: usize, marked: bool, number: u32) {
        let (callback, data): (OnExecution, _) = match (plugin().records_a_machine, marked) {
            (false, true) => (vcpu::on_marked_execution, number as usize as *mut c_void),
            (false, false) => (vcpu::on_execution, number as usize as *mut c_void),
            (true, true) => (machine::on_marked_execution, self.translated(first, number)),
            (true, false) => (machine::on_execution, self.translated(first, number)),
        };
        self.watch_instruction(first, callback, data);
    }

    /// Returns the data for callbacks of a machine, about the code block at instruction `first`.
    fn translated(&self, first: usize, number: u32) -> *mut c_void {
        // SAFETY: the handle is valid while its block is translated.
        let host = unsafe { qemu_plugin_insn_haddr(self.instructions[first]) } as usize as u64;
        let page = OfPage::of_code(self.address_of(first), host);
        Translated { number, page }.for_callback()
    }

    /// Registers a callback before instruction `first`.
    fn watch_instruction(&self, first: usize, callback: OnExecution, data: *mut c_void) {
        let (callback, flags) = (Some(callback), QEMU_PLUGIN_CB_NO_REGS);
        // SAFETY: the handles are QEMU's own and still valid; the callbacks match the types and
        // interpret the user data correctly.
        unsafe {
            match first {
                0 => qemu_plugin_register_vcpu_tb_exec_cb(self.tb, callback, flags, data),
                first => {
                    let instruction = self.instructions[first];
                    qemu_plugin_register_vcpu_insn_exec_cb(instruction, callback, flags, data);
                }
            }
        }
    }
}
