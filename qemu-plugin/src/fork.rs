// SPDX-License-Identifier: GPL-2.0-or-later
//! A server that forks: each child has a copy of the plugin and of all it knows.
//!
//! The child's one thread begins a stream of its own, and what it meets from then on is told as its
//! own process's: children load different libraries at the same addresses. Code that its parent
//! translated it runs under the numbers that its parent gave. The lock on what is known is held
//! across the fork, or a child could find it held by a thread that it does not have.

use crate::known::{self, Known};
use crate::{phase, vcpu};
use std::cell::RefCell;
use std::sync::MutexGuard;

thread_local! {
    static HELD: RefCell<Option<MutexGuard<'static, Known>>> = const { RefCell::new(None) };
}

/// Has every fork of this process followed.
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
