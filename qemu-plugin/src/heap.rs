// SPDX-License-Identifier: GPL-2.0-or-later
//! The objects on the heap of this process, and the reports of their begins and ends.
//!
//! Most objects that a request uses exist before it is recorded. So all objects are known from the
//! start, and are reported when the process begins to write. From then on each change is reported
//! with its stamp.

use corehop_wire::ring::{HeapChange, Memory, Message};
use std::collections::BTreeMap;
use std::ops::Range;

/// An object that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeapObject {
    pub(crate) size_bytes: u64,
    /// Address behind the call of the allocator.
    pub(crate) site: u64,
    /// The allocator's name.
    pub(crate) allocator: &'static str,
}

/// The objects of a process.
#[derive(Default)]
pub(crate) struct Heap {
    /// By address, each with a number in the order of allocation.
    objects: BTreeMap<u64, (HeapObject, u64)>,
    next_number: u64,
    /// Whether changes are reported.
    is_reported: bool,
    /// Whether the process has executed another program before, whose objects ended with it.
    follows_another: bool,
}

/// All bytes that a process can have.
const EVERYTHING: u64 = 1 << 47;

impl Heap {
    /// Returns the heap of a program; `follows_another` is whether its process ran another before.
    pub(crate) fn of_program(follows_another: bool) -> Heap {
        Heap {
            follows_another,
            ..Heap::default()
        }
    }

    /// Whether changes are reported, so that they need stamps.
    pub(crate) fn is_reported(&self) -> bool {
        self.is_reported
    }

    /// Reports all objects, once, when the process begins to write.
    pub(crate) fn begins(&mut self, memory: &Memory) {
        if std::mem::replace(&mut self.is_reported, true) {
            return;
        }
        let mut since = 0;
        if self.follows_another {
            since = memory.next_stamp();
            report(memory, since, 0, EVERYTHING, None);
        }
        let objects = self.objects.iter();
        let mut objects: Vec<_> = objects
            .map(|(&at, &(of, number))| (number, at, of))
            .collect();
        objects.sort_unstable_by_key(|&(number, ..)| number);
        for (_, address, object) in objects {
            report(memory, since, address, object.size_bytes, Some(object));
        }
    }

    /// Handles a fork, in the child: it has the same objects, which are not reported yet.
    pub(crate) fn born(&mut self) {
        self.is_reported = false;
        self.follows_another = false;
    }

    /// Returns whether an object begins at this address.
    pub(crate) fn has(&self, address: u64) -> bool {
        self.objects.contains_key(&address)
    }

    /// Adds an object from this stamp on.
    pub(crate) fn begin(&mut self, address: u64, object: HeapObject, to: (&Memory, u64)) {
        self.objects.insert(address, (object, self.next_number));
        self.next_number += 1;
        if self.is_reported {
            report(to.0, to.1, address, object.size_bytes, Some(object));
        }
    }

    /// Removes the object at an address from this stamp on, and returns it.
    pub(crate) fn end(&mut self, address: u64, to: (&Memory, u64)) -> Option<HeapObject> {
        let (object, _) = self.objects.remove(&address)?;
        if self.is_reported {
            report(to.0, to.1, address, 0, None);
        }
        Some(object)
    }

    /// Returns whether an object has bytes in a range.
    pub(crate) fn has_within(&self, range: Range<u64>) -> bool {
        let below = self.objects.range(..range.end).next_back();
        !range.is_empty()
            && range.end <= EVERYTHING
            && below.is_some_and(|(start, (object, _))| start + object.size_bytes > range.start)
    }

    /// Removes these bytes from all objects. A rest behind them is no object any more here.
    pub(crate) fn unmap(&mut self, range: Range<u64>, to: (&Memory, u64)) {
        let within = self.objects.range(range.clone());
        let within: Vec<u64> = within.map(|(&start, _)| start).collect();
        for start in within {
            self.objects.remove(&start);
        }
        if let Some((start, (before, _))) = self.objects.range_mut(..range.start).next_back() {
            before.size_bytes = before.size_bytes.min(range.start - start);
        }
        if self.is_reported {
            report(to.0, to.1, range.start, range.end - range.start, None);
        }
    }
}

fn report(memory: &Memory, since: u64, address: u64, size_bytes: u64, object: Option<HeapObject>) {
    // It fails only after the end of the recording.
    let _ = memory.send(&Message::Heap(HeapChange {
        process: std::process::id(),
        since,
        address,
        size_bytes,
        site: object.map_or(0, |object| object.site),
        allocator: object.map_or(String::new(), |object| object.allocator.into()),
    }));
}
