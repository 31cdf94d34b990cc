//! The object that each byte of the heap belongs to, byte by byte.

use crate::generated::{ALLOCATORS, CODE, FILE, FUNCTION_BYTES, FUNCTIONS};
use corehop_traces::{Access, HeapEvent, Kind, Trace};
use std::collections::HashMap;

/// All bytes that were ever a part of an object.
pub struct Bytes {
    events: Vec<HeapEvent>,
    /// By address: the number of the object, and its name; `None` after its end.
    bytes: HashMap<u64, Option<(u64, String)>>,
    objects: u64,
}

impl Bytes {
    pub fn of(trace: &Trace) -> Bytes {
        Bytes {
            events: trace.heap_events().to_vec(),
            bytes: HashMap::new(),
            objects: 0,
        }
    }

    /// Applies the events before a run with this stamp.
    pub fn at_stamp(&mut self, stamp: u64) {
        while self
            .events
            .first()
            .is_some_and(|event| event.since <= stamp)
        {
            let event = self.events.remove(0);
            self.apply(&event);
        }
    }

    fn object_at(&self, address: u64) -> Option<u64> {
        let object = self.bytes.get(&address)?.as_ref()?;
        Some(object.0)
    }

    fn end(&mut self, object: u64) {
        for byte in self.bytes.values_mut() {
            if byte.as_ref().is_some_and(|(number, _)| *number == object) {
                *byte = None;
            }
        }
    }

    fn apply(&mut self, event: &HeapEvent) {
        let first = event.address;
        let range = first..first + event.size_bytes;
        if let Some(object) = event.object {
            let overlapping: Vec<u64> = range.clone().filter_map(|at| self.object_at(at)).collect();
            overlapping.into_iter().for_each(|object| self.end(object));
            let name = format!(
                "{} by {}",
                ALLOCATORS[usize::from(object.allocator)],
                caller(object.site - 1)
            );
            self.objects += 1;
            for at in range {
                self.bytes.insert(at, Some((self.objects, name.clone())));
            }
        } else if event.size_bytes == 0 {
            let object = self.object_at(first);
            let before = self.object_at(first - 1);
            if let Some(object) = object.filter(|&object| Some(object) != before) {
                self.end(object);
            }
        } else {
            // What is behind the range is another object from here on.
            let last = self.object_at(range.end - 1);
            if let Some(behind) = self.object_at(range.end).filter(|&it| Some(it) == last) {
                self.objects += 1;
                for (&at, byte) in &mut self.bytes {
                    if let Some((number, _)) = byte
                        && at >= range.end
                        && *number == behind
                    {
                        *number = self.objects;
                    }
                }
            }
            for at in range {
                if let Some(byte) = self.bytes.get_mut(&at) {
                    *byte = None;
                }
            }
        }
    }

    /// What the first byte of an access in a line is called, if it was ever an object's.
    pub fn name(&self, access: &Access, line: u64) -> Option<String> {
        if access.kind == Kind::Fetch {
            return None;
        }
        let byte = self.bytes.get(&access.address.max(line * 64))?;
        let name = byte.as_ref().map(|(_, name)| name.clone());
        Some(name.unwrap_or("freed memory".into()))
    }
}

/// Where a call is.
fn caller(pc: u64) -> String {
    let Some(distance) = pc.checked_sub(CODE).filter(|&distance| distance < 0x1000) else {
        return format!("{pc:#x}");
    };
    match distance / FUNCTION_BYTES {
        0 => format!("fn_0+{distance:#x}"),
        function if function < u64::from(FUNCTIONS) => {
            format!("f{function}+{:#x}", distance % FUNCTION_BYTES)
        }
        _ => format!("[{FILE}]+{distance:#x}"),
    }
}
