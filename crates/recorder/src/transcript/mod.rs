//! Converts the words of the shared memory to calls of a trace's writer.
//!
//! QEMU translates the same code more than once: it drops translations, and several processes have
//! their own. So code blocks are distinguished by their contents, and only executed ones are
//! written to the trace.
//!
//! Repeated behaviour of a thread is processed many executions at a time, by comparing words only.
//! Otherwise, a code block nearly always makes the same accesses. So its execution is compared with
//! the previous one as a whole, and only its addresses are passed on. Processing each access
//! separately takes several times as long. Accesses that follow from others were not recorded, and
//! are restored here (`corehop_wire::elision`).

mod block;
mod code;
mod foreign;
mod forked_pages;
mod forms;
mod functions;
mod heap;
mod incoming;
mod latest;
mod modules;
mod sharing;
#[cfg(test)]
mod tests;

pub use modules::Modules;

use crate::events::{self, Observer, Warning};
use block::{Block, Definition, Met, Number};
use corehop_traces::{CodeBlock, DataAccess, Error, ThreadId, Writer};
use corehop_wire::elision::{AccessForm, complete};
use corehop_wire::ring::word;
use corehop_wire::ring::{Event, Message, Piece, Sink};
use forms::{access_of, form_of};
use incoming::Incoming;
use latest::{Doing, Latest, Source};
use modules::Mapping;
use sharing::Sharing;
use std::collections::HashMap;
use std::sync::Arc;

/// Counts of a recording so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Number of requests begun.
    pub requests: u64,
    /// Number of loads and stores.
    pub data_accesses: u64,
    /// Number of executions of code blocks.
    pub executions: u64,
}

impl Progress {
    /// Counts one more execution.
    #[inline]
    fn count(&mut self, doing: &Doing<'_>) {
        self.executions += 1;
        self.data_accesses += doing.sources.len() as u64;
    }
}

/// Writes received words to a trace.
pub struct Transcript {
    writer: Writer,
    modules: Modules,
    sharing: Sharing,
    /// By the plugin's number.
    blocks: HashMap<u32, Block>,
    latest: Latest,
    written: HashMap<Definition, u32>,
    streams: HashMap<u32, Incoming>,
    progress: Progress,
    observer: Observer,
}

/// Limit of code block numbers. The plugin numbers code blocks from 0. A larger number comes from a
/// stray store of the server into the shared memory, and tables are indexed by number.
const MOST_BLOCKS: u32 = 1 << 24;

impl Transcript {
    /// Returns a transcript that writes to `writer`.
    pub fn new(writer: Writer, modules: Modules, observer: Observer) -> Transcript {
        Transcript {
            writer,
            modules,
            sharing: Sharing::new(Arc::clone(&observer)),
            blocks: HashMap::new(),
            latest: Latest::default(),
            written: HashMap::new(),
            streams: HashMap::new(),
            progress: Progress::default(),
            observer,
        }
    }

    /// Returns the counts so far.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// Flushes the recorded data soon, so that it survives a kill of the recorder.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.writer.flush_soon()
    }

    /// Adds a user's note, after this many requests have begun.
    pub fn note(&mut self, requests: u64, text: &str) -> Result<(), Error> {
        self.writer.note(requests, text)
    }

    /// Processes each stream's last execution, which is now complete, and the memory that the
    /// server's processes share at the end.
    pub fn end(&mut self) -> Result<(), Error> {
        self.sharing.add_forked_pages(&mut self.writer)?;
        let mut streams: Vec<_> = self.streams.drain().collect();
        streams.sort_unstable_by_key(|&(stream, _)| stream);
        for (_, mut incoming) in streams {
            self.take_in_all(&mut incoming)?;
        }
        Ok(())
    }

    /// Returns the writer, to finish the trace.
    pub fn into_writer(self) -> Writer {
        self.writer
    }

    /// Returns the received words of the piece's stream.
    fn incoming(&mut self, piece: &Piece<'_>) -> Result<Incoming, Error> {
        if let Some(incoming) = self.streams.remove(&piece.stream) {
            return Ok(incoming);
        }
        let thread = self.writer.thread(piece.process, piece.thread)?;
        Ok(Incoming::new(thread))
    }

    /// Processes all received executions.
    fn take_in_all(&mut self, incoming: &mut Incoming) -> Result<(), Error> {
        self.take_in(incoming, incoming.words())
    }

    /// Processes the first `count` received words.
    fn take_in(&mut self, incoming: &mut Incoming, count: usize) -> Result<(), Error> {
        let thread = incoming.thread;
        let (before, after) = incoming.around_stamp(count);
        self.executions(thread, before)?;
        if let Some((stamp, words)) = after {
            self.writer.stamp(thread, stamp)?;
            self.executions(thread, words)?;
        }
        incoming.remove(count);
        Ok(())
    }

    /// Processes complete executions.
    fn executions(&mut self, thread: ThreadId, mut words: &[u64]) -> Result<(), Error> {
        while !words.is_empty() {
            let same = self.writer.matched(thread, words, word::is_execution);
            self.progress.executions += same.executions as u64;
            self.progress.data_accesses += same.data_accesses as u64;
            words = &words[same.words..];
            if !words.is_empty() {
                words = self.execution(thread, words)?;
            }
        }
        Ok(())
    }

    /// Processes the execution at the head of `words`; returns the rest.
    #[inline]
    fn execution<'w>(&mut self, thread: ThreadId, words: &'w [u64]) -> Result<&'w [u64], Error> {
        let Some(code_block) = word::code_block(words[0]) else {
            let problem = format!("thread {thread} has executed nothing to own an access");
            return Err(Error::Unrecordable { problem });
        };
        let Some((doing, its, rest)) = self.latest.same(code_block, words) else {
            return self.new_execution(thread, code_block, words);
        };
        self.progress.count(&doing);
        let addresses = doing.addresses(its);
        self.writer
            .executed(thread, doing.template, words, its.len(), addresses)?;
        Ok(rest)
    }

    /// The same for an execution that differs from the last of its code block.
    #[cold]
    fn new_execution<'w>(
        &mut self,
        thread: ThreadId,
        number: u32,
        words: &'w [u64],
    ) -> Result<&'w [u64], Error> {
        let code_block = self.code_block(number)?;
        let data = words[1..].iter().take_while(|&&word| word::is_data(word));
        let (its, rest) = words.split_at(1 + data.count());
        let forms: Vec<AccessForm> = its[1..].iter().map(|&word| form_of(word)).collect();
        let block = self.blocks.get(&number);
        let (start, instructions, accesses) = block.map_or((0, 0, &[][..]), |block| {
            (block.start, block.instructions, &block.accesses)
        });
        let leads = word::is_execution_at(its[0]);
        let own = foreign::own(instructions, accesses, leads, &forms);
        let parts = complete(start, accesses, leads, &forms[..own]);
        let accesses: Option<Vec<DataAccess>> =
            parts.iter().map(|part| access_of(part.form)).collect();
        let accesses = accesses.ok_or_else(|| Error::Unrecordable {
            problem: format!("code block {number} has no such accesses as thread {thread} made"),
        })?;
        let template = self.writer.template(code_block, &accesses)?;
        self.latest.set(number, template, its, &parts);
        let sources = parts.iter().map(|part| Source::of(part, its));
        let sources: Vec<Source> = sources.collect();
        let sources = &sources[..];
        let doing = Doing { template, sources };
        self.progress.count(&doing);
        self.writer
            .executed(thread, template, its, its.len(), doing.addresses(its))?;
        Ok(rest)
    }

    /// Returns the writer's number of a code block, which is written at its first execution.
    fn code_block(&mut self, number: u32) -> Result<u32, Error> {
        let met = match self.blocks.get(&number).map(|block| &block.number) {
            Some(Number::Written(code_block)) => return Ok(*code_block),
            Some(Number::Defined(met)) => met.clone(),
            None => {
                return Err(Error::Unrecordable {
                    problem: format!("the plugin never defined code block {number}"),
                });
            }
        };
        let (module, start) = (met.module, met.start);
        let definition = met.definition();
        let code_block = match self.written.get(&definition) {
            Some(&code_block) => code_block,
            None => {
                let entry = match module {
                    Some(module) => self.modules.entry_at(module, start, &mut self.writer)?,
                    None => None,
                };
                let block = CodeBlock {
                    dependences: definition.3.0.clone(),
                    pointers: definition.3.1.clone(),
                    ..CodeBlock::new(start, definition.2.iter().copied())
                };
                let code_block = self.writer.code_block(&block, entry)?;
                self.written.insert(definition, code_block);
                code_block
            }
        };
        if let Some(block) = self.blocks.get_mut(&number) {
            block.number = Number::Written(code_block);
        }
        Ok(code_block)
    }

    /// Stores a code block reported by the plugin.
    fn define(&mut self, number: u32, met: Met, accesses: &[u64]) {
        if number < MOST_BLOCKS {
            self.blocks.insert(number, Block::new(met, accesses));
        }
    }

    /// Processes an event that is not part of an execution and follows all received words.
    fn mark(&mut self, incoming: &mut Incoming, event: Event) -> Result<(), Error> {
        let thread = incoming.thread;
        if let Event::Stamp(stamp) = event
            && incoming.words() > 0
        {
            incoming.stamp(stamp);
            return Ok(());
        }
        if let Event::ExecutionStamp(stamp) = event {
            // The received words are the execution that it also applies to, and no more.
            incoming.forget_stamp();
            return self.writer.stamp(thread, stamp);
        }
        self.take_in_all(incoming)?;
        match event {
            Event::Stamp(stamp) => self.writer.stamp(thread, stamp),
            Event::Request(number) => {
                self.progress.requests += 1;
                self.writer.numbered_request(thread, number)
            }
            Event::Connection(number) => self.writer.connection(thread, number),
            Event::SystemCall(number) => self.writer.system_call_begins(thread, number),
            Event::SystemCallReturned(result) => self.writer.system_call_returns(thread, result),
            Event::End => self.writer.end_request(thread),
            Event::ExecutionStamp(_)
            | Event::Execution { .. }
            | Event::ExecutionAt { .. }
            | Event::Data { .. } => Ok(()),
        }
    }
}

impl Sink for Transcript {
    type Error = Error;

    fn message(&mut self, message: Message) -> Result<(), Error> {
        match message {
            Message::Block {
                code_block,
                process,
                start,
                instruction_sizes,
                code,
                accesses,
            } => {
                let met = Met {
                    module: self.modules.at(process, start),
                    start,
                    instruction_sizes,
                    code,
                };
                self.define(code_block, met, &accesses);
                Ok(())
            }
            Message::Mapping {
                process,
                start,
                end,
                file_offset,
                path,
            } => {
                let mapping = Mapping {
                    process,
                    start,
                    end,
                    file_offset,
                    path,
                };
                self.modules.map(&mapping, &mut self.writer)
            }
            Message::Memory {
                process,
                since,
                start,
                end,
                object,
            } => {
                let own = corehop_traces::Mapping {
                    process_id: process,
                    since,
                    start,
                    end,
                    object: None,
                    offset: 0,
                };
                self.sharing.add(own, object, &mut self.writer)
            }
            placed @ (Message::Page { .. } | Message::Cpu { .. } | Message::LastingCall(_)) => {
                sharing::place(placed, &mut self.writer)
            }
            Message::Heap(change) => heap::add(change, &mut self.writer),
            Message::Program(path) => {
                self.modules.begins(path.into());
                Ok(())
            }
            Message::Handler(address) => self.writer.signal_handler(address),
            Message::Trouble(text) => {
                (self.observer)(events::Event::Warning(Warning::Plugin(text)));
                Ok(())
            }
        }
    }

    fn piece(&mut self, piece: Piece<'_>) -> Result<(), Error> {
        let mut incoming = self.incoming(&piece)?;
        let mut words = piece.words();
        loop {
            words = incoming.gather(words);
            let whole = incoming.whole();
            self.take_in(&mut incoming, whole)?;
            let Some((word, rest)) = words.split_first() else {
                break;
            };
            // Some word values encode no event.
            if let Some(event) = Event::decode(word) {
                self.mark(&mut incoming, event)?;
            }
            words = rest;
        }
        self.streams.insert(piece.stream, incoming);
        Ok(())
    }
}
