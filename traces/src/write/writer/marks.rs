//! Marks: where requests begin and end, and the user's notes.
//!
//! A mark waits for its execution. If none follows, the mark only ends the preceding request.

use super::{Writer, stream, unrecordable};
use crate::model::error::Error;
use crate::model::ids::ThreadId;
use crate::model::recording::Note;
use crate::write::sink::NewEntry;

/// Maximum size of a note in bytes.
const MAX_NOTE_BYTES: usize = 1 << 16;

impl Writer {
    /// Marks the thread's next execution as the first of a request, which also ends the preceding
    /// request. If no execution follows, the mark only ends a request. Call this for the mark at
    /// which a recording stops; otherwise that thread's last request counts as incomplete.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] if there is no such thread.
    pub fn request(&mut self, thread: ThreadId) -> Result<(), Error> {
        self.numbered_request(thread, 0)
    }

    /// Like [`Writer::request`], for the request with this number. Requests are numbered from 1
    /// during the recording; the numbers have gaps if only some are recorded.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] if there is no such thread.
    pub fn numbered_request(&mut self, thread: ThreadId, number: u64) -> Result<(), Error> {
        self.settle_system_call(thread)?;
        let stream = stream(&mut self.streams, thread)?;
        stream.next_request = Some(number);
        stream.next_connection = 0;
        stream.request_ended = false;
        stream.goes_on = false;
        Ok(())
    }

    /// Records the connection, numbered from 1, of the request that was marked last and that has no
    /// execution yet.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] if there is no such thread or no such request.
    pub fn connection(&mut self, thread: ThreadId, connection: u64) -> Result<(), Error> {
        let stream = stream(&mut self.streams, thread)?;
        if stream.next_request.is_none() {
            return unrecordable(format!("thread {thread} begins no request to be connected"));
        }
        stream.next_connection = connection;
        Ok(())
    }

    /// Marks the thread's last execution as the last of its request. Executions before the next
    /// request belong to no request.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] if there is no such thread.
    pub fn end_request(&mut self, thread: ThreadId) -> Result<(), Error> {
        self.settle_system_call(thread)?;
        let stream = stream(&mut self.streams, thread)?;
        stream.request_ended = stream.next_request.take().is_none();
        stream.goes_on = false;
        Ok(())
    }

    /// Adds a user's note; `requests` is how many requests the server has begun, recorded or not.
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
