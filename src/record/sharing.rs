//! What the processes of a server share, as the plugin tells it and the trace numbers it.

use crate::voice;
use corehop_ring::Object;
use corehop_traces::{Error, MAX_OBJECTS, Mapping, Writer};
use std::collections::HashMap;

/// The shared objects of one recording.
#[derive(Default)]
pub struct Sharing {
    /// By device and inode, the number in the trace.
    objects: HashMap<[u64; 2], u32>,
    overflown: bool,
}

/// What a process has at some addresses.
pub struct Told {
    /// The operating system's number of the process.
    pub process: u32,
    /// Holds for what it does from this stamp on.
    pub since: u64,
    /// First address.
    pub start: u64,
    /// End, exclusive.
    pub end: u64,
    /// What is there; `None` for memory of its own.
    pub object: Option<Object>,
}

impl Sharing {
    /// Adds to the trace what a process has.
    pub fn add(&mut self, told: Told, writer: &mut Writer) -> Result<(), Error> {
        // QEMU maps only what user code can have, so other addresses are a wild store of the
        // server's into the shared memory.
        let Told { start, end, .. } = told;
        if start >= end || end > 1 << 47 || !(start | end).is_multiple_of(PAGE_BYTES) {
            return Ok(());
        }
        let offset = told.object.as_ref().map_or(0, |object| object.offset);
        let is_place = offset.is_multiple_of(PAGE_BYTES) && offset < 1 << 47;
        let object = match told.object.filter(|_| is_place) {
            Some(object) => self.number(&object, writer)?,
            None => None,
        };
        writer.mappings(&[Mapping {
            process_id: told.process,
            since: told.since,
            start,
            end,
            object,
            offset: object.map_or(0, |_| offset),
        }])
    }

    /// An object's number in the trace; `None` when there are too many.
    fn number(&mut self, object: &Object, writer: &mut Writer) -> Result<Option<u32>, Error> {
        if let Some(&number) = self.objects.get(&object.identity) {
            return Ok(Some(number));
        }
        if self.objects.len() == MAX_OBJECTS as usize {
            if !std::mem::replace(&mut self.overflown, true) {
                voice::warn(&format!(
                    "recording: the server maps more than {MAX_OBJECTS} files; each process is \
                     taken to have its own pages of the rest"
                ));
            }
            return Ok(None);
        }
        let number = writer.shared_object(&object.name)?;
        self.objects.insert(object.identity, number);
        Ok(Some(number))
    }
}

const PAGE_BYTES: u64 = 4096;
