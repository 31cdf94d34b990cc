// SPDX-License-Identifier: GPL-2.0-or-later
//! Calls of allocators by a thread: their arguments at the entry, and their results where they
//! return to.
//!
//! An allocator may call another one, or jump to it (`operator new` and `malloc`). Only the
//! outermost call makes an object, so that its site is in the program. The end of an object counts
//! at any depth. A call is over when its thread runs the block behind it with the stack pointer
//! that a return leaves. A call that ends otherwise (`longjmp`) leaves its return address to be
//! overwritten, which a later call notices.
//!
//! The user may name the wrong argument of a pool's function as the size. A large object is
//! therefore one only if its end is mapped; an address, for example, is no size.

use super::allocator_calls::{AllocatorCalls, Pending, RECENT};
use super::{Vcpu, vcpu};
use crate::address_space::PAGE_BYTES;
use crate::allocators::{Effect, Function, Size};
use crate::heap::HeapObject;
use crate::known;
use crate::registers::{AtEntry, Registers, with_registers};
use crate::shared::{plugin, trouble};
use std::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

/// Smaller objects are not checked.
const LARGE_BYTES: u64 = 1 << 16;

with_registers!(on_allocator, enters);
with_registers!(on_return_site, returns);

/// An allocator is entered; `data` is its [`Function`].
unsafe extern "C" fn enters(index: c_uint, data: *mut c_void, registers: Registers) {
    // SAFETY: translation passes a function that lives as long as the process.
    let allocator = unsafe { &*data.cast::<Function>() };
    // SAFETY: QEMU calls this on the thread of this virtual CPU, which is looked up once.
    let (Some(vcpu), Some(entry)) = (unsafe { vcpu(index) }, registers.at_entry()) else {
        return;
    };
    vcpu.enters_allocator(allocator, &entry);
}

/// A block runs to which an allocator has returned before.
unsafe extern "C" fn returns(index: c_uint, _: *mut c_void, registers: Registers) {
    // SAFETY: as in `enters`.
    if let Some(vcpu) = unsafe { vcpu(index) } {
        vcpu.returns_from_allocator(registers);
    }
}

/// Whether the last byte of a large object is mapped.
fn has_mapped_end(address: u64, size_bytes: u64) -> bool {
    if size_bytes < LARGE_BYTES {
        return true;
    }
    let page = (address + size_bytes - 1) & !(PAGE_BYTES - 1);
    let mut is_in_memory = 0u8;
    // SAFETY: `mincore` only says whether a page is mapped, and writes one byte for one page.
    unsafe { libc::mincore(page as *mut c_void, 1, &raw mut is_in_memory) == 0 }
}

/// Tells, once, that an argument is no size.
fn tell_no_size(allocator: &Function, size_bytes: u64) {
    static IS_TOLD: AtomicBool = AtomicBool::new(false);
    if !IS_TOLD.swap(true, Ordering::Relaxed)
        && let Effect::Returns(Size::Argument(argument)) = allocator.effect
    {
        let (name, argument) = (&allocator.name, argument + 1);
        trouble(&format!(
            "--allocator {name}:{argument}: argument {argument} of {name} is no size: it was \
             {size_bytes}, and less memory is mapped there. Such calls make no object; record \
             again with the argument that is the size"
        ));
    }
}

impl Vcpu {
    fn enters_allocator(&mut self, allocator: &'static Function, entry: &AtEntry) {
        let first = entry.argument(0);
        let (size, ends) = match allocator.effect {
            Effect::Returns(size) | Effect::Stores(size) => (size, None),
            Effect::Maps(_) | Effect::Unmaps if allocator.module.contains(&entry.behind_call) => {
                return;
            }
            Effect::Maps(size) => (size, None),
            Effect::Moves(size) => (size, Some(first)),
            Effect::Ends => {
                self.ends_object(first);
                return;
            }
            Effect::Unmaps => return self.unmaps(first, entry.argument(1)),
        };
        let ended = ends.and_then(|address| Some((address, self.ends_object(address)?)));
        let calls = self.allocator_calls.get_or_insert_with(|| {
            Box::new(AllocatorCalls {
                pending: None,
                recent_sites: [0; RECENT],
            })
        });
        // After a return that was not seen, the same function is called from the same place.
        let is_nested = |pending: &Pending| {
            let is_same = pending.stack_pointer == entry.stack_pointer
                && std::ptr::eq(pending.allocator, allocator);
            !is_same && pending.stack_pointer >= entry.stack_pointer && pending.is_open()
        };
        if calls.pending.as_ref().is_some_and(is_nested) {
            return;
        }
        let size_bytes = match size {
            Size::Argument(argument) => entry.argument(argument),
            Size::Product(one, other) => entry.argument(one).saturating_mul(entry.argument(other)),
        };
        let stores = matches!(allocator.effect, Effect::Stores(_));
        calls.pending = Some(Pending {
            allocator,
            stack_pointer: entry.stack_pointer,
            behind_call: entry.behind_call,
            size_bytes,
            stored_at: stores.then_some(first),
            ended,
        });
        let recent = &mut calls.recent_sites[entry.behind_call as usize % RECENT];
        if std::mem::replace(recent, entry.behind_call) != entry.behind_call {
            known::returns_to(entry.behind_call);
        }
    }

    fn returns_from_allocator(&mut self, registers: Registers) {
        const WORD: u64 = 8;
        let Some(calls) = &mut self.allocator_calls else {
            return;
        };
        let (stack_pointer, result) = registers.at_return();
        let is_it = |pending: &mut Pending| pending.stack_pointer + WORD == stack_pointer;
        let Some(call) = calls.pending.take_if(is_it) else {
            return;
        };
        let address = match call.stored_at {
            None => result,
            // SAFETY: the function has just stored the address there, as its result 0 says.
            Some(at) if result == 0 => unsafe { (at as *const u64).read_unaligned() },
            Some(_) => 0,
        };
        let object = HeapObject {
            size_bytes: call.size_bytes,
            site: call.behind_call,
            allocator: &call.allocator.name,
        };
        let is_possible = address
            .checked_add(object.size_bytes)
            .is_some_and(|end| address != 0 && end <= 1 << 47);
        let is_checked = call.allocator.is_named && address != 0;
        if is_checked && !(is_possible && has_mapped_end(address, object.size_bytes)) {
            return tell_no_size(call.allocator, object.size_bytes);
        }
        match (is_possible, call.ended) {
            (true, _) => self.begins_object(address, object),
            // What a failed call was to move stays, unless its new size is zero.
            (false, Some((address, ended))) if call.size_bytes > 0 => {
                self.begins_object(address, ended);
            }
            (false, _) => {}
        }
    }

    fn begins_object(&mut self, address: u64, object: HeapObject) {
        if let Some(mut known) = known::lock() {
            let stamp = self.stamp_of_change(known.heap.is_reported());
            let to = (&plugin().memory, stamp);
            known.heap.begin(address, object, to);
        }
    }

    fn ends_object(&mut self, address: u64) -> Option<HeapObject> {
        let mut known = known::lock().filter(|known| known.heap.has(address))?;
        let stamp = self.stamp_of_change(known.heap.is_reported());
        known.heap.end(address, (&plugin().memory, stamp))
    }

    fn unmaps(&mut self, address: u64, size_bytes: u64) {
        let end = address.saturating_add(size_bytes);
        let known = known::lock().filter(|known| known.heap.has_within(address..end));
        if let Some(mut known) = known {
            let stamp = self.stamp_of_change(known.heap.is_reported());
            let to = (&plugin().memory, stamp);
            known.heap.unmap(address..end, to);
        }
    }

    /// Returns a stamp for a change, which also holds for what this thread writes from now on.
    fn stamp_of_change(&mut self, is_reported: bool) -> u64 {
        let memory = &plugin().memory;
        let own = match is_reported && self.is_recorded() && self.stream.is_writing() {
            true => self.stream.stamp_change(memory).ok(),
            false => None,
        };
        own.unwrap_or_else(|| memory.next_stamp())
    }
}
