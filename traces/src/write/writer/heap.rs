//! Accepts heap events and the names of the allocators that made objects, and writes them.

use super::{Writer, unrecordable};
use crate::model::error::Error;
use crate::model::heap_event::HeapEvent;
use crate::write::sink::NewEntry;

/// Maximum number of events in one entry, and of pending events.
const EVENTS_AT_ONCE: usize = 1 << 14;

impl Writer {
    /// Returns the number of an allocator function for [`HeapEvent`]s, a new one for a new name.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] if there are too many.
    pub fn allocator(&mut self, name: &str) -> Result<u16, Error> {
        let new = &mut self.new_heap_events;
        if let Some(&number) = new.numbers.get(name) {
            return Ok(number);
        }
        // One more than a number must fit the column.
        let number = match u16::try_from(new.numbers.len()) {
            Ok(number) if number < u16::MAX => number,
            _ => return unrecordable("more than 65535 allocators".into()),
        };
        new.numbers.insert(name.into(), number);
        new.allocators.push(name.into());
        Ok(number)
    }

    /// Records that an object on the heap begins or ends.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] for an impossible address or an unknown allocator; [`Error::Write`].
    pub fn heap_event(&mut self, event: HeapEvent) -> Result<(), Error> {
        event.check(self.new_heap_events.numbers.len())?;
        self.new_heap_events.events.push(event);
        match self.new_heap_events.events.len() < EVENTS_AT_ONCE {
            true => Ok(()),
            false => self.write_heap_events(),
        }
    }

    /// Writes the pending events; consecutive ones of a process form one entry.
    pub(super) fn write_heap_events(&mut self) -> Result<(), Error> {
        let new = &mut self.new_heap_events;
        let events = std::mem::take(&mut new.events);
        let mut allocators = std::mem::take(&mut new.allocators);
        for of_process in events.chunk_by(|one, next| one.process_id == next.process_id) {
            let names = std::mem::take(&mut allocators);
            let entry = NewEntry::HeapEvents(names, of_process.to_vec());
            self.sink.write(entry)?;
        }
        // Names without an event wait for one.
        self.new_heap_events.allocators = allocators;
        Ok(())
    }
}
