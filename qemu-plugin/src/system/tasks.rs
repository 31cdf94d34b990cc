// SPDX-License-Identifier: GPL-2.0-or-later
//! The thread on each virtual CPU, and the place to which it writes.
//!
//! The kernel stores the task to which it switches, and the callback of that store detects this.
//! The rest of the same code block counts for the previous task: the new task's place is used from
//! the next code block. Each thread of a server has a place among those of `vcpu`, from 1. Place 0
//! is for all others, and nothing is written there.
//!
//! One QEMU thread runs the virtual CPUs, some code blocks of one and then of another, so nothing
//! here runs concurrently. When it switches to another CPU, events there follow those of the
//! previous CPU.

use super::description::MOST_CPUS;
use super::{GUEST, Guest};
use crate::vcpu;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// State of a virtual CPU.
struct Cpu {
    /// Places of the running thread and of the next one.
    place: AtomicUsize,
    next: AtomicUsize,
    /// Address at which the kernel stores its current task; 0 if unknown.
    current: AtomicU64,
}

static CPUS: [Cpu; MOST_CPUS] = [const {
    Cpu {
        place: AtomicUsize::new(0),
        next: AtomicUsize::new(0),
        current: AtomicU64::new(0),
    }
}; MOST_CPUS];

/// The CPU that currently runs.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Returns the CPU that ran the latest code block.
#[inline(always)]
pub(super) fn running() -> usize {
    RUNNING.load(Ordering::Relaxed)
}

#[inline(always)]
fn state_of(cpu: usize) -> &'static Cpu {
    &CPUS[cpu % MOST_CPUS]
}

/// A process and one of its threads, by the guest's ids.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Task {
    process: u32,
    thread: u32,
}

/// The threads of servers.
static TASKS: Mutex<Option<HashMap<Task, usize>>> = Mutex::new(None);

/// Returns the place of the running thread, or 0.
#[inline(always)]
pub(crate) fn place(cpu: usize) -> usize {
    state_of(cpu).place.load(Ordering::Relaxed)
}

/// Whether a store to this address switches the task of the CPU.
#[inline(always)]
pub(crate) fn is_switch(cpu: usize, address: u64) -> bool {
    address == state_of(cpu).current.load(Ordering::Relaxed)
}

/// Handles a switch of the task.
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

/// Handles the begin of a code block; returns whether a server's thread runs it.
#[inline(always)]
pub(crate) fn begins_block(cpu: usize) -> bool {
    let next = state_of(cpu).next.load(Ordering::Relaxed);
    if next != place(cpu) || cpu != running() {
        arrive(cpu, next);
    }
    next != 0
}

/// Notes that the thread of this place runs on this CPU.
#[cold]
fn arrive(cpu: usize, next: usize) {
    let before = place(RUNNING.swap(cpu, Ordering::Relaxed));
    // SAFETY: one thread runs all virtual CPUs, and this is in one of its callbacks.
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

/// Marks the process of the running thread as a server, at a request mark. Other threads of it may
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

/// Finds the threads that run now, once all code is instrumented: switches before were not noticed.
pub(crate) fn look_again() {
    for cpu in 0..MOST_CPUS {
        if state_of(cpu).current.load(Ordering::Relaxed) != 0 {
            switches(cpu);
        }
    }
}

/// Returns the place of a server's thread.
fn place_of(tasks: &mut HashMap<Task, usize>, task: Task) -> usize {
    let next = tasks.len() + 1;
    *tasks.entry(task).or_insert_with(|| {
        // SAFETY: one thread runs all virtual CPUs, and this place is new.
        unsafe { vcpu::names(next, task.process, task.thread) };
        next
    })
}

impl Guest {
    /// Returns the address at which the kernel stores a CPU's current task.
    fn current_at(&self, cpu: usize) -> u64 {
        let of_cpu = self.description.per_cpu_offset + 8 * cpu as u64;
        let own = self.ram.word(of_cpu);
        own.wrapping_add(self.description.current_task)
    }

    /// Returns the current task of a CPU, from the kernel's data.
    fn current(&self, cpu: usize) -> Task {
        let task = self.ram.word(self.current_at(cpu));
        let number = |offset| self.ram.half_word(task.wrapping_add(offset));
        Task {
            process: number(self.description.process),
            thread: number(self.description.thread),
        }
    }
}
