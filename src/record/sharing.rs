//! What the processes of a server share, as the plugin tells it and the trace numbers it.

use super::forked_pages::{self, Common, PAGE_BYTES};
use crate::voice;
use corehop_ring::Object;
use corehop_traces::{Error, MAX_OBJECTS, Mapping, Writer};
use std::collections::HashMap;

/// The shared objects of one recording.
#[derive(Default)]
pub struct Sharing {
    /// The processes that have told of their memory, in that order.
    processes: Vec<u32>,
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
        if !self.processes.contains(&told.process) {
            self.processes.push(told.process);
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

    /// Adds the pages that none of the processes has written since they were forked. Of a process
    /// that has ended that is not known any more.
    pub fn add_forked_pages(&mut self, writer: &mut Writer) -> Result<(), Error> {
        for Common {
            process,
            range,
            group,
        } in forked_pages::common(&self.processes)
        {
            let object = Object {
                // No device has this number.
                identity: [u64::MAX, group.into()],
                offset: range.start,
                name: "pages not written since a fork".into(),
            };
            let told = Told {
                process,
                since: 0,
                start: range.start,
                end: range.end,
                object: Some(object),
            };
            self.add(told, writer)?;
        }
        Ok(())
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
