//! What the processes of a server share, as the plugin tells it and the trace numbers it.

use super::forked_pages::{self, Common};
use crate::events::{Event, Observer, Warning};
use corehop_traces::{Error, LastingCall, MAX_OBJECTS, Mapping, OnCpu, Page, Writer};
use corehop_wire::ring::{Message, Object};
use std::collections::HashMap;

/// Adds to the trace where on the machine a process has a page, or a thread runs, and since when;
/// or what a process has the kernel treat otherwise.
/// What cannot be is a wild store of the server's into the shared memory.
pub fn place(message: Message, writer: &mut Writer) -> Result<(), Error> {
    match message {
        Message::Page {
            process,
            since,
            number,
            frame,
        } => {
            let page = Page {
                process_id: process,
                since,
                number,
                frame,
            };
            match page.is_possible() {
                true => writer.pages(&[page]),
                false => Ok(()),
            }
        }
        Message::Cpu {
            process,
            thread,
            since,
            cpu,
        } => writer.cpus(&[OnCpu {
            process_id: process,
            os_thread_id: thread,
            since,
            cpu,
        }]),
        Message::LastingCall(call) => writer.lasting_call(LastingCall {
            process_id: call.process,
            number: call.number,
            arguments: call.arguments,
        }),
        _ => Ok(()),
    }
}

/// The shared objects of one recording.
pub struct Sharing {
    observer: Observer,
    /// The processes that have told of their memory, in that order.
    processes: Vec<u32>,
    /// By device and inode, the number in the trace.
    objects: HashMap<[u64; 2], u32>,
    overflown: bool,
}

impl Sharing {
    /// Knows of none yet.
    pub fn new(observer: Observer) -> Sharing {
        Sharing {
            observer,
            processes: Vec::new(),
            objects: HashMap::new(),
            overflown: false,
        }
    }

    /// Adds to the trace what a process has: memory of its own, as `own` says, or this object
    /// there.
    pub fn add(
        &mut self,
        own: Mapping,
        object: Option<Object>,
        writer: &mut Writer,
    ) -> Result<(), Error> {
        // QEMU maps only what user code can have, so other addresses are a wild store of the
        // server's into the shared memory.
        if !own.is_of_whole_pages() {
            return Ok(());
        }
        if !self.processes.contains(&own.process_id) {
            self.processes.push(own.process_id);
        }
        let mut mapping = own;
        if let Some(object) = object {
            let offset = object.offset;
            let placed = Mapping { offset, ..own };
            if placed.is_of_whole_pages()
                && let Some(number) = self.number(&object, writer)?
            {
                mapping = Mapping {
                    object: Some(number),
                    ..placed
                };
            }
        }
        writer.mappings(&[mapping])
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
            let own = Mapping {
                process_id: process,
                since: 0,
                start: range.start,
                end: range.end,
                object: None,
                offset: 0,
            };
            self.add(own, Some(object), writer)?;
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
                (self.observer)(Event::Warning(Warning::TooManyObjects));
            }
            return Ok(None);
        }
        let number = writer.shared_object(&object.name)?;
        self.objects.insert(object.identity, number);
        Ok(Some(number))
    }
}
