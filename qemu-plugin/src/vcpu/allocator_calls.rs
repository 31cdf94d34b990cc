// SPDX-License-Identifier: GPL-2.0-or-later
//! The calls of allocators that a thread has begun.

use crate::allocators::Function;
use crate::guest;
use crate::heap::HeapObject;

/// Sites that a thread has used recently, by a part of their address.
pub(super) const RECENT: usize = 64;

/// The calls of allocators by one thread.
pub(super) struct AllocatorCalls {
    /// The outermost call that has not returned.
    pub(super) pending: Option<Pending>,
    /// Sites that are known to be watched.
    pub(super) recent_sites: [u64; RECENT],
}

/// A call that makes an object when it returns.
pub(super) struct Pending {
    pub(super) allocator: &'static Function,
    /// Where the return address is.
    pub(super) stack_pointer: u64,
    pub(super) behind_call: u64,
    pub(super) size_bytes: u64,
    /// Where the address of the object will be stored, if it is not returned.
    pub(super) stored_at: Option<u64>,
    /// What the call has ended, to restore it if the call fails.
    pub(super) ended: Option<(u64, HeapObject)>,
}

impl Pending {
    /// Whether its return address is still on the stack, which may be gone.
    pub(super) fn is_open(&self) -> bool {
        guest::word(self.stack_pointer) == Some(self.behind_call)
    }
}
