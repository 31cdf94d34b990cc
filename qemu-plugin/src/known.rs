// SPDX-License-Identifier: GPL-2.0-or-later
//! What translations have found so far, and what is mapped, behind one lock.
//!
//! It is taken while translating, which QEMU does on one thread at a time, when the server maps
//! memory, when a thread begins to write, and across a fork.

use crate::address_space::{AddressSpace, Mapped};
use crate::connections::SystemCall;
use crate::instruction::Bytes;
use crate::mappings::Mappings;
use crate::recorded::Recorded;
use crate::shared::{Elision, plugin};
use corehop_wire::elision::{BlockAccesses, PlainAccess};
use corehop_wire::ring::{Message, Off};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, OnceLock};

/// What is known of this process.
pub(crate) struct Known {
    pub(crate) mappings: Mappings,
    /// The code blocks that are defined, by where they are and their code: after a reset all are
    /// met again.
    blocks: HashMap<(u64, Vec<u8>), Recorded>,
    address_space: AddressSpace,
}

static KNOWN: OnceLock<Mutex<Known>> = OnceLock::new();

/// Sets it, before the first callback is asked for.
pub(crate) fn set(mappings: Mappings, has_relatives: bool) {
    KNOWN.get_or_init(|| {
        Mutex::new(Known {
            mappings,
            blocks: HashMap::new(),
            address_space: AddressSpace::of_program(has_relatives),
        })
    });
}

/// Takes the lock; nothing when a thread has panicked with it.
pub(crate) fn lock() -> Option<MutexGuard<'static, Known>> {
    KNOWN.get()?.lock().ok()
}

/// Whether there are other processes, as far as this one knows.
pub(crate) fn has_relatives() -> bool {
    lock().is_some_and(|known| known.address_space.has_relatives())
}

/// A thread of this process is about to write.
pub(crate) fn begins() {
    if let Some(mut known) = lock() {
        known.address_space.begins(&plugin().memory);
    }
}

/// A system call has returned, and may have mapped something. New code cannot run where it is
/// mapped before that.
pub(crate) fn called(call: &SystemCall, result: i64) {
    let Some(mapped) = Mapped::by(call, result) else {
        return;
    };
    let Some(mut known) = lock() else {
        return;
    };
    if mapped.is_new && known.mappings.forget(&mapped.range) {
        let gone = &mapped.range;
        known.blocks.retain(|(start, _), _| !gone.contains(start));
    }
    known.address_space.mapped(&mapped, &plugin().memory);
}

impl Known {
    /// In a forked child: what it meets from now on is its own.
    pub(crate) fn forget_all(&mut self) {
        self.mappings.forget_all();
        self.blocks.clear();
        self.address_space.born();
    }

    /// In a process that has forked a child, and `writes` or does not.
    pub(crate) fn forked(&mut self, writes: bool) {
        self.address_space.forked(writes, &plugin().memory);
    }

    /// What is recorded of a code block, which is defined if it is new.
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
