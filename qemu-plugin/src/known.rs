// SPDX-License-Identifier: GPL-2.0-or-later
//! The results of translations so far, and the mappings, behind one lock.
//!
//! The lock is held when the server maps memory, when a thread begins to write, and across a fork.
//! It is also held while translating, which QEMU does on one thread at a time.

use crate::address_space::{AddressSpace, Mapped};
use crate::allocators::Allocators;
use crate::connections::SystemCall;
use crate::heap::Heap;
use crate::instruction::Bytes;
use crate::mappings::Mappings;
use crate::recorded::Recorded;
use crate::shared::{Elision, plugin};
use corehop_wire::elision::{BlockAccesses, PlainAccess};
use corehop_wire::ring::{Message, Off};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, OnceLock};

/// The state of this process.
pub(crate) struct Known {
    pub(crate) mappings: Mappings,
    /// The defined code blocks, by address and code: after a reset, all are translated again.
    blocks: HashMap<(u64, Vec<u8>), Recorded>,
    address_space: AddressSpace,
    pub(crate) allocators: Allocators,
    pub(crate) heap: Heap,
}

static KNOWN: OnceLock<Mutex<Known>> = OnceLock::new();

/// Sets it, before the first callback is registered.
pub(crate) fn set(mappings: Mappings, has_relatives: bool, (allocators, heap): (Allocators, Heap)) {
    KNOWN.get_or_init(|| {
        Mutex::new(Known {
            mappings,
            blocks: HashMap::new(),
            address_space: AddressSpace::of_program(has_relatives),
            allocators,
            heap,
        })
    });
}

/// Locks the state; `None` if a thread has panicked while holding the lock.
pub(crate) fn lock() -> Option<MutexGuard<'static, Known>> {
    KNOWN.get()?.lock().ok()
}

/// Whether there are other processes, as far as this one knows.
pub(crate) fn has_relatives() -> bool {
    lock().is_some_and(|known| known.address_space.has_relatives())
}

/// Notes that a thread of this process is about to write.
pub(crate) fn begins() {
    if let Some(mut known) = lock() {
        known.address_space.begins(&plugin().memory);
        known.heap.begins(&plugin().memory);
    }
}

/// Notes that an allocator returns to this address.
pub(crate) fn returns_to(site: u64) {
    if let Some(mut known) = lock() {
        known.allocators.add_site(site);
    }
}

/// Handles the return of a system call that may have mapped something. New code cannot run there
/// before this.
pub(crate) fn called(call: &SystemCall, result: i64) {
    let Some(mapped) = Mapped::by(call, result) else {
        return;
    };
    let Some(mut known) = lock() else {
        return;
    };
    if mapped.is_new && known.mappings.forget(&mapped.range) {
        let gone = &mapped.range;
        known.allocators.forget(gone);
        known.blocks.retain(|(start, _), _| !gone.contains(start));
    }
    known.address_space.mapped(&mapped, &plugin().memory);
}

impl Known {
    /// Resets the state in a forked child.
    pub(crate) fn forget_all(&mut self) {
        self.mappings.forget_all();
        self.blocks.clear();
        self.address_space.born();
        self.heap.born();
    }

    /// Notes a fork in the parent; `writes` is whether it has begun to write.
    pub(crate) fn forked(&mut self, writes: bool) {
        self.address_space.forked(writes, &plugin().memory);
    }

    /// Returns what is recorded of a code block; defines it if it is new.
    pub(crate) fn recorded(&mut self, start: u64, code: &[Bytes]) -> Result<&Recorded, Off> {
        let bytes = code.iter().flat_map(|bytes| bytes.iter()).copied();
        match self.blocks.entry((start, bytes.collect())) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(new) => {
                let (_, bytes) = new.key();
                let memory = &plugin().memory;
                let code_block = memory.next_block();
                let instructions = code.iter().map(|bytes| &**bytes);
                let accesses = match plugin().elision {
                    Elision::Off => BlockAccesses::default(),
                    Elision::On { in_pieces } => BlockAccesses::of(start, instructions, in_pieces),
                };
                memory.send(&Message::Block {
                    code_block,
                    process: std::process::id(),
                    start,
                    instruction_sizes: code.iter().map(|bytes| bytes.len() as u8).collect(),
                    code: bytes.clone(),
                    accesses: accesses
                        .all
                        .iter()
                        .copied()
                        .map(PlainAccess::encode)
                        .collect(),
                })?;
                Ok(new.insert(Recorded::new(code_block, accesses)))
            }
        }
    }
}
