//! What a writer is told beside executions: where requests begin and end, and the user's notes.
//!
//! A mark waits for the execution it stands at, because until that comes it may turn out to be
//! nothing but the end of the request before.

use super::{Writer, stream, unrecordable};
use crate::model::error::Error;
use crate::model::ids::ThreadId;
use crate::model::recording::Note;
use crate::write::sink::NewEntry;

/// The most bytes of a note.
const MAX_NOTE_BYTES: usize = 1 << 16;

impl Writer {
    /// Marks the thread's next execution as the first of a request, and so the one before it as the
    /// last of the request before. Where no execution follows, the mark only ends a request: call
    /// this for the mark at which a recording stops, or that thread's last request counts as cut
    /// off.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] when there is no such thread.
    pub fn request(&mut self, thread: ThreadId) -> Result<(), Error> {
        self.numbered_request(thread, 0)
    }

    /// The same, for the request of this number among all that the server serves while it is being
    /// recorded, from 1: where only some are recorded, they leave gaps.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] when there is no such thread.
    pub fn numbered_request(&mut self, thread: ThreadId, number: u64) -> Result<(), Error> {
        self.settle_system_call(thread)?;
        let stream = stream(&mut self.streams, thread)?;
        stream.next_request = Some(number);
        stream.next_connection = 0;
        stream.request_ended = false;
        stream.goes_on = false;
        Ok(())
    }

    /// Says over which connection, numbered from 1, the request has come that was marked last and
    /// that no execution has followed yet.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] when there is no such thread or no such request.
    pub fn connection(&mut self, thread: ThreadId, connection: u64) -> Result<(), Error> {
        let stream = stream(&mut self.streams, thread)?;
        if stream.next_request.is_none() {
            return unrecordable(format!("thread {thread} begins no request to be connected"));
        }
        stream.next_connection = connection;
        Ok(())
    }

    /// Marks the thread's last execution as the last of its request. What follows up to the next
    /// request belongs to none.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] when there is no such thread.
    pub fn end_request(&mut self, thread: ThreadId) -> Result<(), Error> {
        self.settle_system_call(thread)?;
        let stream = stream(&mut self.streams, thread)?;
        stream.request_ended = stream.next_request.take().is_none();
        stream.goes_on = false;
        Ok(())
    }

    /// Adds what the user notes, when the server has begun so many requests, recorded or not.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] for a text of more than 2^16 bytes; [`Error::Write`].
    pub fn note(&mut self, requests: u64, text: &str) -> Result<(), Error> {
        if text.len() > MAX_NOTE_BYTES {
            return unrecordable(format!("a note of {} bytes", text.len()));
        }
        self.sink.write(NewEntry::Note(Note {
            requests,
            text: text.into(),
        }))
    }
}
