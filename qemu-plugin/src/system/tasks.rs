// SPDX-License-Identifier: GPL-2.0-or-later
//! Which thread runs on each virtual CPU, and what it writes to.
//!
//! The kernel stores the task that it switches to, which the callback of that store sees. What the
//! rest of the same code block does counts for the task before: the place of the new one holds from
//! the next code block on. Each thread of a server has a place among those of `vcpu`, from 1; place
//! 0 is for all others, and nothing is written there.
//!
//! One thread of QEMU's runs the virtual CPUs, some code blocks of one and then of another, so
//! nothing here happens at the same time. Where it goes over to another, what that does comes after
//! what the one before did.

use super::{GUEST, Guest};
use crate::vcpu;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// As many as a guest may have, a power of two (crates/recorder/src/options.rs).
const MOST_CPUS: usize = 16;

/// What a virtual CPU runs.
struct Cpu {
    /// The place of the thread that runs, and that of the one that will.
    place: AtomicUsize,
    next: AtomicUsize,
    /// Where the kernel stores its current task; 0 while that is not known.
    current: AtomicU64,
}

static CPUS: [Cpu; MOST_CPUS] = [const {
    Cpu {
        place: AtomicUsize::new(0),
        next: AtomicUsize::new(0),
        current: AtomicU64::new(0),
    }
}; MOST_CPUS];

/// That which runs now.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

#[inline(always)]
fn state_of(cpu: usize) -> &'static Cpu {
    &CPUS[cpu % MOST_CPUS]
}

/// A process and one of its threads, as the kernel in the guest numbers them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Task {
    process: u32,
    thread: u32,
}

/// The threads of servers.
static TASKS: Mutex<Option<HashMap<Task, usize>>> = Mutex::new(None);

/// The place of the thread that runs there, or 0.
#[inline(always)]
pub(crate) fn place(cpu: usize) -> usize {
    state_of(cpu).place.load(Ordering::Relaxed)
}

/// Whether the kernel says with a store to this address that another task is to run there.
#[inline(always)]
pub(crate) fn is_switch(cpu: usize, address: u64) -> bool {
    address == state_of(cpu).current.load(Ordering::Relaxed)
}

/// The kernel has said so.
#[cold]
pub(crate) fn switches(cpu: usize) {
    let Some(guest) = GUEST.get() else {
        return;
    };
    let task = guest.current(cpu);
    let mut tasks = TASKS.lock().unwrap_or_else(PoisonError::into_inner);
    let tasks = tasks.get_or_insert_default();
    let mut servers = tasks.keys().map(|known| known.process);
    let next = match servers.any(|process| process == task.process) {
        true => place_of(tasks, task),
        false => 0,
    };
    state_of(cpu).next.store(next, Ordering::Relaxed);
}

/// A code block begins. Whether the thread that runs it is a server's.
#[inline(always)]
pub(crate) fn begins_block(cpu: usize) -> bool {
    let next = state_of(cpu).next.load(Ordering::Relaxed);
    if next != place(cpu) || cpu != RUNNING.load(Ordering::Relaxed) {
        arrive(cpu, next);
    }
    next != 0
}

/// The thread of this place runs on this CPU.
#[cold]
fn arrive(cpu: usize, next: usize) {
    let before = place(RUNNING.swap(cpu, Ordering::Relaxed));
    // SAFETY: one thread runs all virtual CPUs, in a callback of whose this is.
    unsafe {
        if before != 0 {
            vcpu::leaves_cpu(before);
        }
        if next != 0 {
            vcpu::enters_cpu(next, cpu);
        }
    }
    state_of(cpu).place.store(next, Ordering::Relaxed);
}

/// The thread that runs has met a request mark: its process is a server. Other threads of it may
/// be running on other CPUs.
pub(crate) fn serves(cpu: usize) {
    let Some(guest) = GUEST.get() else {
        return;
    };
    let task = guest.current(cpu);
    let mut tasks = TASKS.lock().unwrap_or_else(PoisonError::into_inner);
    let place = place_of(tasks.get_or_insert_default(), task);
    drop(tasks);
    if state_of(cpu).current.load(Ordering::Relaxed) == 0 {
        for other in 0..guest.description.cpus.min(MOST_CPUS) {
            let current = guest.current_at(other);
            state_of(other).current.store(current, Ordering::Relaxed);
            switches(other);
        }
    }
    state_of(cpu).next.store(place, Ordering::Relaxed);
    begins_block(cpu);
}

/// The place of a thread of a server.
fn place_of(tasks: &mut HashMap<Task, usize>, task: Task) -> usize {
    let next = tasks.len() + 1;
    *tasks.entry(task).or_insert_with(|| {
        // SAFETY: one thread runs all virtual CPUs, and this place is new.
        unsafe { vcpu::names(next, task.process, task.thread) };
        next
    })
}

impl Guest {
    /// Where the kernel stores the current task of a CPU.
    fn current_at(&self, cpu: usize) -> u64 {
        let of_cpu = self.description.per_cpu_offset + 8 * cpu as u64;
        let own = self.ram.word(of_cpu);
        own.wrapping_add(self.description.current_task)
    }

    /// The task that the kernel says runs there.
    fn current(&self, cpu: usize) -> Task {
        let task = self.ram.word(self.current_at(cpu));
        let number = |offset| self.ram.half_word(task.wrapping_add(offset));
        Task {
            process: number(self.description.process),
            thread: number(self.description.thread),
        }
    }
}
