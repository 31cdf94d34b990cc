//! System calls in a writer.
//!
//! A call that has begun is pending until it returns, or until another event of its thread shows
//! that its return was not recorded. It is not written earlier, because a thread may sleep in a
//! call for hours and a written call cannot be changed.

use super::{Writer, stream};
use crate::model::error::Error;
use crate::model::ids::ThreadId;
use crate::model::system_call::{MAX_SYSTEM_CALLS, SystemCall};

impl Writer {
    /// Records that the thread's last execution makes the system call with this number. It counts
    /// as not returned if another event of the thread precedes [`Writer::system_call_returns`].
    ///
    /// # Errors
    /// [`Error::Unrecordable`] if there is no such thread; [`Error::Write`].
    pub fn system_call_begins(&mut self, thread: ThreadId, number: i32) -> Result<(), Error> {
        self.settle_system_call(thread)?;
        self.close_execution(thread)?;
        self.write_ended_request(thread)?;
        let stream = stream(&mut self.streams, thread)?;
        stream.open_call = Some(number);
        stream.goes_on = false;
        Ok(())
    }

    /// Records that the thread's system call returns; does nothing if none has begun.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] if there is no such thread; [`Error::Write`].
    pub fn system_call_returns(&mut self, thread: ThreadId, result: i64) -> Result<(), Error> {
        match stream(&mut self.streams, thread)?.open_call.take() {
            Some(number) => self.place_system_call(thread, number, Some(result)),
            None => Ok(()),
        }
    }

    /// Records that the thread's last execution made the system call with this number. `result` is
    /// `None` if its return was not recorded.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] if there is no such thread; [`Error::Write`].
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

    /// Records the thread's pending system call, if any, as not returned.
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
