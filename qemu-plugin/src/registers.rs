// SPDX-License-Identifier: GPL-2.0-or-later
//! The guest's registers where a block begins.
//!
//! QEMU 7.2 has no function for plugins that reads registers. While translated code runs on an
//! x86-64 host, though, QEMU keeps the address of its `CPUX86State` in rbp (`TCG_AREG0` in
//! tcg/i386/tcg-target.h), and C functions that this code calls find it there. The general
//! registers are its first fields (`regs` in target/i386/cpu.h), in the order of their numbers.
//! They are current where a block begins: between blocks, QEMU keeps no guest register in a host
//! register. QEMU 10 is the same, so one method serves both. It is verified at the first call of a
//! process: the guest's stack pointer must point to an address behind a call instruction.

use crate::guest;
use crate::shared::trouble;
use crate::system::half::is_kernel;
use std::sync::atomic::{AtomicU8, Ordering};

/// x86-64's number of a register.
pub(crate) const RAX: usize = 0;
const RSP: usize = 4;
/// The argument registers in order (System V ABI, section 3.2.3).
const ARGUMENTS: [usize; 6] = [7, 6, 2, 1, 8, 9];

/// Number of general registers.
const COUNT: u64 = 16;

/// Defines a callback for executions of a block that receives the registers where the block begins:
/// a function of the virtual CPU's index, the user data, and [`Registers`].
macro_rules! with_registers {
    ($name:ident, $callback:path) => {
        /// Passes on its arguments, and the host's rbp as the third.
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name(
            index: std::ffi::c_uint,
            data: *mut std::ffi::c_void,
        ) {
            std::arch::naked_asm!("mov rdx, rbp", "jmp {callback}", callback = sym $callback)
        }
    };
}
pub(crate) use with_registers;

/// The registers of the guest thread that runs, in the CPU's state.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Registers(*const u64);

const UNKNOWN: u8 = 0;
const READABLE: u8 = 1;
const ELSEWHERE: u8 = 2;
static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

impl Registers {
    /// Returns them at the entry of a called function; `None` if this QEMU keeps them elsewhere.
    pub(crate) fn at_entry(self) -> Option<AtEntry> {
        if STATE.load(Ordering::Relaxed) == UNKNOWN {
            let is_there = self.are_plausible();
            let state = if is_there { READABLE } else { ELSEWHERE };
            STATE.store(state, Ordering::Relaxed);
            if !is_there {
                trouble("this QEMU keeps registers elsewhere: heap objects are not recorded");
            }
        }
        if STATE.load(Ordering::Relaxed) != READABLE {
            return None;
        }
        let stack_pointer = self.read(RSP);
        // SAFETY: a call has just stored its return address there, in memory of this process.
        let behind_call = unsafe { (stack_pointer as *const u64).read_unaligned() };
        Some(AtEntry {
            registers: self,
            stack_pointer,
            behind_call,
        })
    }

    /// Returns the stack pointer and the result of a function that has returned.
    pub(crate) fn at_return(self) -> (u64, u64) {
        (self.read(RSP), self.read(RAX))
    }

    /// Returns where they are, which differs between virtual CPUs.
    pub(crate) fn address(self) -> u64 {
        self.0 as u64
    }

    /// Returns the first argument at the entry of a kernel's function; `None` if this QEMU keeps
    /// registers elsewhere. Reads nothing that may be unmapped.
    pub(crate) fn argument_in_kernel(self) -> Option<u64> {
        let register = |number: usize| guest::word(self.address().checked_add(8 * number as u64)?);
        register(RSP).filter(|&stack_pointer| is_kernel(stack_pointer))?;
        register(ARGUMENTS[0])
    }

    fn read(self, register: usize) -> u64 {
        // SAFETY: `at_entry` has verified that the registers are there, and no other thread changes
        // those of this thread. `at_return` is called only after an entry.
        unsafe { self.0.add(register).read_volatile() }
    }

    /// Whether the stack pointer points to an address behind a call. Reads nothing that may be
    /// unmapped.
    fn are_plausible(self) -> bool {
        let there = self.address();
        let last = there.checked_add(8 * (COUNT - 1));
        let behind_call = || {
            guest::word(last?)?;
            guest::word(guest::word(there + 8 * RSP as u64)?)
        };
        behind_call().is_some_and(follows_a_call)
    }
}

/// Whether the instruction in front of an address may be a call: E8 with four bytes, or FF /2 with
/// a register or memory operand (Intel SDM volume 2, CALL).
fn follows_a_call(address: u64) -> bool {
    let Some(before) = address.checked_sub(8).and_then(guest::word) else {
        return false;
    };
    let before = before.to_le_bytes();
    let is_indirect = |length: usize| {
        let [opcode, modrm] = [before[8 - length], before[9 - length]];
        opcode == 0xff && modrm >> 3 & 7 == 2
    };
    before[3] == 0xe8 || [2, 3, 4, 6, 7].into_iter().any(is_indirect)
}

/// The registers at the entry of a function.
pub(crate) struct AtEntry {
    registers: Registers,
    /// Where the return address is.
    pub(crate) stack_pointer: u64,
    /// The return address.
    pub(crate) behind_call: u64,
}

impl AtEntry {
    /// Returns an argument, from 0.
    pub(crate) fn argument(&self, number: u8) -> u64 {
        let register = ARGUMENTS.get(usize::from(number));
        register.map_or(0, |&register| self.registers.read(register))
    }
}
