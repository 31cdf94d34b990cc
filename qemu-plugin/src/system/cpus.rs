// SPDX-License-Identifier: GPL-2.0-or-later
//! The virtual CPU that runs a callback.
//!
//! QEMU passes a CPU's index to each callback. From version 10.0 on, if one thread runs all CPUs,
//! this is the CPU for which the code was translated (`gen_cpu_index` in accel/tcg/plugin-gen.c),
//! and all CPUs share translated code. So a CPU is identified by the address of its registers
//! (`registers`). The kernel calls a function with the CPU's number on each CPU but the first,
//! before that CPU runs any thread.

use super::description::MOST_CPUS;
use super::{GUEST, tasks};
use crate::registers::Registers;
use crate::shared::trouble;
use std::sync::atomic::{AtomicU64, Ordering};

/// Whether the index is that of the running CPU: in QEMU with plugin API 1.
const INDEX_IS_RIGHT: bool = cfg!(not(feature = "api-v4"));

static STATES: States = States::new();

/// The addresses of the CPUs' registers; 0 for a CPU that has not started.
struct States([AtomicU64; MOST_CPUS]);

impl States {
    const fn new() -> States {
        States([const { AtomicU64::new(0) }; MOST_CPUS])
    }

    /// Returns the CPU with these registers; `running` is that of the previous block.
    #[inline(always)]
    fn cpu(&self, running: usize, address: u64) -> usize {
        match self.0[running % MOST_CPUS].load(Ordering::Relaxed) == address {
            true => running,
            false => self.search(address),
        }
    }

    /// The first CPU runs the first code. Others count as it until they start.
    #[cold]
    fn search(&self, address: u64) -> usize {
        let is_its = |state: &AtomicU64| state.load(Ordering::Relaxed) == address;
        self.0.iter().position(is_its).unwrap_or_else(|| {
            let (first, order) = (&self.0[0], Ordering::Relaxed);
            let _ = first.compare_exchange(0, address, order, order);
            0
        })
    }

    fn starts(&self, cpu: usize, address: u64) {
        self.0[cpu % MOST_CPUS].store(address, Ordering::Relaxed);
    }
}

/// Returns the CPU that begins a code block.
#[inline(always)]
pub(super) fn at_block(index: usize, registers: Registers) -> usize {
    match INDEX_IS_RIGHT {
        true => index,
        false => STATES.cpu(tasks::running(), registers.address()),
    }
}

/// Returns the CPU that makes an access. With API 1, this may precede its first code block: QEMU
/// reports what the processor stores for an interrupt.
#[inline(always)]
pub(super) fn at_access(index: usize) -> usize {
    match INDEX_IS_RIGHT {
        true => index,
        false => tasks::running(),
    }
}

/// Whether the kernel calls this address with a CPU's number on that CPU, and this is required.
pub(crate) fn starts_at(address: u64) -> bool {
    let starts = |guest: &super::Guest| guest.description.cpu_start == address;
    !INDEX_IS_RIGHT && GUEST.get().is_some_and(starts)
}

/// Handles a call of the function at that address.
pub(super) fn starts(registers: Registers) {
    let cpus = GUEST.get().map_or(0, |guest| guest.description.cpus);
    let number = registers.argument_in_kernel();
    let number = number.and_then(|number| usize::try_from(number).ok());
    match number.filter(|&number| number < cpus.min(MOST_CPUS)) {
        Some(number) => STATES.starts(number, registers.address()),
        None => trouble(
            "this QEMU keeps registers elsewhere: code counts for the wrong processors; \
             record with --guest-cpus 1",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_is_the_first_until_it_starts() {
        let states = States::new();
        assert_eq!(states.cpu(0, 0x100), 0);
        assert_eq!(states.cpu(0, 0x200), 0);
        states.starts(1, 0x200);
        states.starts(2, 0x300);
        let of = |running| [0x100, 0x200, 0x300, 0x400].map(|address| states.cpu(running, address));
        for running in 0..3 {
            assert_eq!(of(running), [0, 1, 2, 0]);
        }
    }
}
