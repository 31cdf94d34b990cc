//! System calls, as a writer is told of them.
//!
//! A call that has begun waits until it returns, or until something else of its thread shows that
//! it will not be seen to: a thread may sleep in one for hours, and what is in the file stays.

use super::{Writer, stream};
use crate::model::error::Error;
use crate::model::ids::ThreadId;
use crate::model::system_call::{MAX_SYSTEM_CALLS, SystemCall};

impl Writer {
    /// Records that the thread's last execution makes the system call of this number. It counts as
    /// one that did not return if anything of the thread comes before
    /// [`Writer::system_call_returns`].
    ///
    /// # Errors
    /// [`Error::Unrecordable`] when there is no such thread; [`Error::Write`].
    pub fn system_call_begins(&mut self, thread: ThreadId, number: i32) -> Result<(), Error> {
        self.settle_system_call(thread)?;
        self.close_execution(thread)?;
        self.write_ended_request(thread)?;
        let stream = stream(&mut self.streams, thread)?;
        stream.open_call = Some(number);
        stream.goes_on = false;
        Ok(())
    }

    /// Records that the thread's system call returns; nothing if none has begun.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] when there is no such thread; [`Error::Write`].
    pub fn system_call_returns(&mut self, thread: ThreadId, result: i64) -> Result<(), Error> {
        match stream(&mut self.streams, thread)?.open_call.take() {
            Some(number) => self.place_system_call(thread, number, Some(result)),
            None => Ok(()),
        }
    }

    /// Records that the thread's last execution made the system call of this number, and what it
    /// returned; `None` if it was not seen to return.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] when there is no such thread; [`Error::Write`].
    pub fn system_call(
        &mut self,
        thread: ThreadId,
        number: i32,
        result: Option<i64>,
    ) -> Result<(), Error> {
        self.system_call_begins(thread, number)?;
        match result {
            Some(result) => self.system_call_returns(thread, result),
            None => self.settle_system_call(thread),
        }
    }

    /// The system call that the thread is in, if any, is not seen to return.
    pub(super) fn settle_system_call(&mut self, thread: ThreadId) -> Result<(), Error> {
        match stream(&mut self.streams, thread)?.open_call.take() {
            Some(number) => self.place_system_call(thread, number, None),
            None => Ok(()),
        }
    }

    fn place_system_call(
        &mut self,
        thread: ThreadId,
        number: i32,
        result: Option<i64>,
    ) -> Result<(), Error> {
        if self.streams[thread.index()].chunk.system_calls.len() == MAX_SYSTEM_CALLS {
            self.write_chunk(thread)?;
        }
        let stream = &mut self.streams[thread.index()];
        let after = stream.finder.executions() as u64;
        stream.chunk.system_calls.push(SystemCall {
            after,
            number,
            result,
        });
        Ok(())
    }
}
