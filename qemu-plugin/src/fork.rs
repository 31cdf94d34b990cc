// SPDX-License-Identifier: GPL-2.0-or-later
//! A server that forks: each child has a copy of the plugin and its state.
//!
//! The child's only thread begins a new stream, and everything it encounters is reported for the
//! new process: children load different libraries at the same addresses. Code translated by its
//! parent keeps the parent's numbers. The lock of the shared state is held across the fork;
//! otherwise, it could be held in the child by a thread that does not exist there.

use crate::known::{self, Known};
use crate::{phase, vcpu};
use std::cell::RefCell;
use std::sync::MutexGuard;

thread_local! {
    static HELD: RefCell<Option<MutexGuard<'static, Known>>> = const { RefCell::new(None) };
}

/// Follows every fork of this process.
pub(crate) fn follow() {
    // SAFETY: the three functions live as long as the process.
    unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
}

unsafe extern "C" fn before() {
    let held = known::lock();
    HELD.with_borrow_mut(|place| *place = held);
}

unsafe extern "C" fn in_parent() {
    if let Some(mut known) = HELD.take() {
        known.forked(vcpu::has_begun());
    }
}

unsafe extern "C" fn in_child() {
    // SAFETY: a forked child has one thread, and QEMU forks after its callbacks have returned.
    unsafe { vcpu::forget_all() };
    phase::forget();
    if let Some(mut known) = HELD.take() {
        known.forget_all();
    }
}
