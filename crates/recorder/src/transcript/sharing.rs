//! Memory shared by a server's processes, from the plugin's reports to the trace's numbers.

use super::forked_pages::{self, Common};
use crate::events::{Event, Observer, Warning};
use corehop_traces::{Error, LastingCall, MAX_OBJECTS, Mapping, OnCpu, Page, Writer};
use corehop_wire::ring::{Message, Object};
use std::collections::HashMap;

/// Adds a report to the trace: the physical page of a process, the CPU of a thread, each with its
/// time, or a system call with lasting effects. Impossible values come from a stray store of the
/// server into the shared memory, and are ignored.
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
    /// The processes that have reported memory, in that order.
    processes: Vec<u32>,
    /// By device and inode: the number in the trace.
    objects: HashMap<[u64; 2], u32>,
    overflown: bool,
}

impl Sharing {
    /// Creates an empty set.
    pub fn new(observer: Observer) -> Sharing {
        Sharing {
            observer,
            processes: Vec::new(),
            objects: HashMap::new(),
            overflown: false,
        }
    }

    /// Adds a mapping of a process to the trace: its own memory, as `own` describes, or this
    /// object.
    pub fn add(
        &mut self,
        own: Mapping,
        object: Option<Object>,
        writer: &mut Writer,
    ) -> Result<(), Error> {
        // QEMU maps only user addresses, so other addresses come from a stray store of the server
        // into the shared memory.
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

    /// Adds the pages that no process has written since they were forked. For ended processes, this
    /// is no longer known.
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

    /// Returns an object's number in the trace; `None` if there are too many.
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
