// SPDX-License-Identifier: GPL-2.0-or-later
//! Which thread runs, and what it writes to.
//!
//! The kernel stores the task that it switches to, which the callback of that store sees. What the
//! rest of the same code block does counts for the task before: the place of the new one holds from
//! the next code block on. Each thread of a server has a place among those of `vcpu`, from 1; place
//! 0 is for all others, and nothing is written there.

use super::{GUEST, Guest};
use crate::vcpu;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The place of the thread that runs, and that of the one that will.
static PLACE: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Where the kernel stores its current task; 0 while that is not known.
static CURRENT: AtomicU64 = AtomicU64::new(0);

/// A process and one of its threads, as the kernel in the guest numbers them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Task {
    process: u32,
    thread: u32,
}

/// The threads of servers.
static TASKS: Mutex<Option<HashMap<Task, usize>>> = Mutex::new(None);

/// The place of the thread that runs, or 0.
#[inline(always)]
pub(crate) fn place() -> usize {
    PLACE.load(Ordering::Relaxed)
}

/// Whether the kernel says with a store to this address that another task is to run.
#[inline(always)]
pub(crate) fn is_switch(address: u64) -> bool {
    address == CURRENT.load(Ordering::Relaxed)
}

/// The kernel has said so.
#[cold]
pub(crate) fn switches() {
    let Some(guest) = GUEST.get() else {
        return;
    };
    let task = guest.current();
    let mut tasks = TASKS.lock().unwrap_or_else(PoisonError::into_inner);
    let tasks = tasks.get_or_insert_default();
    let mut servers = tasks.keys().map(|known| known.process);
    let next = match servers.any(|process| process == task.process) {
        true => place_of(tasks, task),
        false => 0,
    };
    NEXT.store(next, Ordering::Relaxed);
}

/// A code block begins. Whether the thread that runs it is a server's.
#[inline(always)]
pub(crate) fn begins_block() -> bool {
    let next = NEXT.load(Ordering::Relaxed);
    if next != place() {
        arrive(next);
    }
    next != 0
}

/// The thread of this place runs.
#[cold]
fn arrive(next: usize) {
    // SAFETY: there is one virtual CPU, in a callback of whose this is.
    unsafe {
        match place() {
            0 => {}
            before => vcpu::leaves_cpu(before),
        }
        match next {
            0 => {}
            next => vcpu::enters_cpu(next),
        }
    }
    PLACE.store(next, Ordering::Relaxed);
}

/// The thread that runs has met a request mark: its process is a server.
pub(crate) fn serves() {
    let Some(guest) = GUEST.get() else {
        return;
    };
    if CURRENT.load(Ordering::Relaxed) == 0 {
        CURRENT.store(guest.current_at(), Ordering::Relaxed);
    }
    let task = guest.current();
    let mut tasks = TASKS.lock().unwrap_or_else(PoisonError::into_inner);
    let place = place_of(tasks.get_or_insert_default(), task);
    NEXT.store(place, Ordering::Relaxed);
    begins_block();
}

/// The place of a thread of a server.
fn place_of(tasks: &mut HashMap<Task, usize>, task: Task) -> usize {
    let next = tasks.len() + 1;
    *tasks.entry(task).or_insert_with(|| {
        // SAFETY: there is one virtual CPU, and this place is new.
        unsafe { vcpu::names(next, task.process, task.thread) };
        next
    })
}

impl Guest {
    /// Where the kernel stores its current task.
    fn current_at(&self) -> u64 {
        let own = self.ram.word(self.description.per_cpu_offset);
        own.wrapping_add(self.description.current_task)
    }

    /// The task that the kernel says runs.
    fn current(&self) -> Task {
        let task = self.ram.word(self.current_at());
        let number = |offset| self.ram.half_word(task.wrapping_add(offset));
        Task {
            process: number(self.description.process),
            thread: number(self.description.thread),
        }
    }
}
