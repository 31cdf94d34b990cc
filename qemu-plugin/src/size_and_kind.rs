// SPDX-License-Identifier: GPL-2.0-or-later
//! The size and kind of an access, from QEMU's opaque description.
//!
//! QEMU decodes it in two calls, which take a sixth of a recorded server's time. The description is
//! a number with few values, and the results depend only on it, so they are cached.

use corehop_wire::ring::word;
use qemu_plugin_sys::{
    qemu_plugin_mem_is_store, qemu_plugin_mem_size_shift, qemu_plugin_meminfo_t,
};
use std::sync::atomic::{AtomicU64, Ordering};

/// QEMU 7.2 uses 16 bits of operation and index, and 2 bits of kind; larger values are not cached.
const VALUES: usize = 1 << 18;

/// 0 if not cached; otherwise the result, with [`KNOWN`] set.
static ANSWERS: [AtomicU64; VALUES] = [const { AtomicU64::new(0) }; VALUES];
const KNOWN: u64 = 1;

/// Returns the part of a data word with size and kind, if cached.
#[inline(always)]
pub(crate) fn known(info: qemu_plugin_meminfo_t) -> Option<u64> {
    let answer = ANSWERS.get(info as usize)?.load(Ordering::Relaxed);
    (answer != 0).then_some(answer & !KNOWN)
}

/// Returns the part of a data word with size and kind.
pub(crate) fn of(info: qemu_plugin_meminfo_t) -> u64 {
    known(info).unwrap_or_else(|| ask(info))
}

#[cold]
fn ask(info: qemu_plugin_meminfo_t) -> u64 {
    // SAFETY: both only decode the number.
    let answer = unsafe {
        word::size_and_kind(
            qemu_plugin_mem_size_shift(info),
            qemu_plugin_mem_is_store(info),
        )
    };
    if let Some(place) = ANSWERS.get(info as usize) {
        place.store(answer | KNOWN, Ordering::Relaxed);
    }
    answer
}
