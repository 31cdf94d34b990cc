//! Executions with accesses added one by one, as importers of other formats do.
//!
//! An execution stays open until the thread's next one begins, because only then is its template
//! known. Stamps and marks that arrive before that belong to the next one.

use super::{Writer, stream, unrecordable};
use crate::codec::match_finder::Arrival;
use crate::codec::template::{DataAccess, MAX_DATA_ACCESSES};
use crate::model::error::Error;
use crate::model::execution::Kind;
use crate::model::ids::ThreadId;
use crate::write::stream::Open;

impl Writer {
    /// Records an execution of a code block by the thread; [`Writer::data`] adds its accesses.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] if there is no such thread or code block, or the thread has no stamp
    /// yet; [`Error::Write`].
    pub fn execution(&mut self, thread: ThreadId, code_block: u32) -> Result<(), Error> {
        self.settle_system_call(thread)?;
        self.close_execution(thread)?;
        if code_block as usize >= self.instructions.len() {
            return unrecordable(format!("there is no code block {code_block}"));
        }
        self.write_ended_request(thread)?;
        let stream = stream(&mut self.streams, thread)?;
        stream.goes_on = false;
        let Some(beginning) = stream.take_beginning() else {
            return unrecordable(format!("thread {thread} has no stamp yet"));
        };
        stream.open = Some(Open {
            code_block,
            beginning,
        });
        stream.open_words.push(0);
        Ok(())
    }

    /// Records a load or store of the thread's last [`Writer::execution`], by the instruction with
    /// index `instruction` in its code block.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] if the thread has no execution yet or the block has no such
    /// instruction. Also if the access is out of program order, has 0 bytes, is a fetch, or exceeds
    /// the limit of 65 000 per execution.
    pub fn data(
        &mut self,
        thread: ThreadId,
        instruction: u16,
        kind: Kind,
        size_bytes: u16,
        address: u64,
    ) -> Result<(), Error> {
        let stream = stream(&mut self.streams, thread)?;
        let Some(open) = &stream.open else {
            return unrecordable(format!(
                "thread {thread} has executed nothing to own an access"
            ));
        };
        if instruction >= self.instructions[open.code_block as usize] {
            return unrecordable(format!("the code block has no instruction {instruction}"));
        }
        let Some(access) = DataAccess::new(instruction, kind, size_bytes) else {
            return unrecordable(format!(
                "a data access of {size_bytes} bytes, kind {kind:?}"
            ));
        };
        let last = stream.open_accesses.last();
        if last.is_some_and(|last| last.instruction() > access.instruction()) {
            return unrecordable(format!(
                "instruction {instruction} comes out of program order"
            ));
        }
        if stream.open_accesses.len() == MAX_DATA_ACCESSES {
            return unrecordable("an execution with more than 65 000 data accesses".into());
        }
        stream.open_accesses.push(access);
        stream.open_words.push(address);
        Ok(())
    }

    /// Moves the thread's last execution, whose accesses are now complete, into its chunk.
    pub(super) fn close_execution(&mut self, thread: ThreadId) -> Result<(), Error> {
        let stream = stream(&mut self.streams, thread)?;
        let Some(open) = stream.open.take() else {
            return Ok(());
        };
        let mut accesses = std::mem::take(&mut stream.open_accesses);
        let mut words = std::mem::take(&mut stream.open_words);
        let template = self.intern(open.code_block, &accesses)?;
        let size = self.sizes[template as usize];
        words[0] = u64::from(template);
        self.make_room(thread, words.len(), size)?;
        self.requests += u64::from(open.beginning.begins_request());
        self.waiting += words.len();
        let stream = &mut self.streams[thread.index()];
        stream.begin(&open.beginning);
        let arrival = Arrival {
            words: &words,
            count: words.len(),
            template,
            addresses: words[1..].iter().copied(),
            size,
        };
        stream.append(&mut self.hash_table, arrival);
        accesses.clear();
        words.clear();
        (stream.open_accesses, stream.open_words) = (accesses, words);
        Ok(())
    }
}
