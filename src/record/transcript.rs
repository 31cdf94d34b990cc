//! From the words of the shared memory to the calls of a trace's writer.
//!
//! QEMU translates the same code more than once (it drops translations, and several processes
//! translate for themselves), so code blocks are told apart by their contents, and only those that
//! are executed get into the trace.
//!
//! A code block nearly always makes the same accesses, so its execution is compared with the one
//! before as a whole, and only its addresses are handed on. To take in each access by itself takes
//! several times as long.

#[cfg(test)]
mod tests;

use super::latest::Latest;
use super::modules::{Mapping, Modules};
use crate::voice;
use corehop_ring::word;
use corehop_ring::{Event, Message, Piece, Sink, Words};
use corehop_traces::{CodeBlock, DataAccess, Error, Kind, Writer};
use std::collections::HashMap;

/// What has been recorded so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Requests begun.
    pub requests: u64,
    /// Loads and stores.
    pub data_accesses: u64,
    /// Runs of code blocks.
    pub executions: u64,
}

/// Writes what it receives.
pub struct Transcript {
    writer: Writer,
    modules: Modules,
    /// By the plugin's number.
    blocks: Vec<Block>,
    latest: Latest,
    written: HashMap<Definition, u32>,
    /// The writer's thread for each stream.
    threads: Vec<Option<u32>>,
    progress: Progress,
}

/// Module, address and instruction lengths. The module is the one that was there when the block was
/// met: later, but before the block's words are read, another may take its place.
type Definition = (Option<usize>, u64, Vec<u8>);

#[derive(Clone)]
enum Block {
    Unknown,
    Defined(Definition),
    /// The writer's number.
    Written(u32),
}

impl Transcript {
    /// Writes to `writer`.
    pub fn new(writer: Writer, modules: Modules) -> Transcript {
        Transcript {
            writer,
            modules,
            blocks: Vec::new(),
            latest: Latest::default(),
            written: HashMap::new(),
            threads: Vec::new(),
            progress: Progress::default(),
        }
    }

    /// What has been recorded so far.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// Makes what was recorded so far survive a kill of the recorder, in a moment.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.writer.flush_soon()
    }

    /// Adds what the user notes, when the server has begun so many requests.
    pub fn note(&mut self, requests: u64, text: &str) -> Result<(), Error> {
        self.writer.note(requests, text)
    }

    /// The writer, to finish the trace.
    pub fn into_writer(self) -> Writer {
        self.writer
    }

    fn thread(&mut self, piece: &Piece<'_>) -> Result<u32, Error> {
        let stream = piece.stream as usize;
        if stream >= self.threads.len() {
            self.threads.resize(stream + 1, None);
        }
        if let Some(thread) = self.threads[stream] {
            return Ok(thread);
        }
        let thread = self.writer.thread(piece.process, piece.thread)?;
        self.threads[stream] = Some(thread);
        Ok(thread)
    }

    /// Takes in an execution of a code block of the plugin's number, which `words` follow. What
    /// comes after its accesses; or all of them, if more accesses may come.
    #[inline]
    fn execution<'w>(
        &mut self,
        thread: u32,
        number: u32,
        words: Words<'w>,
    ) -> Result<Words<'w>, Error> {
        self.progress.executions += 1;
        if let Some((shape, forms)) = self.latest.of(number) {
            let (data, rest) = words.split_at(forms.len());
            if ends_execution(rest) && data.iter().map(word::form).eq(forms.iter().copied()) {
                self.executed(thread, shape, data)?;
                return Ok(rest);
            }
        }
        self.new_execution(thread, number, words)
    }

    /// The same for one that does other than the last of its code block, or may not be over.
    #[cold]
    fn new_execution<'w>(
        &mut self,
        thread: u32,
        number: u32,
        words: Words<'w>,
    ) -> Result<Words<'w>, Error> {
        let code_block = self.code_block(number)?;
        let count = words.iter().take_while(|&word| word::is_data(word)).count();
        let (data, rest) = words.split_at(count);
        if !ends_execution(rest) {
            self.writer.execution(thread, code_block)?;
            return Ok(words);
        }
        let accesses: Vec<DataAccess> = data.iter().filter_map(access_of).collect();
        let shape = self.writer.shape(code_block, &accesses)?;
        self.latest.set(number, shape, data.iter().map(word::form));
        self.executed(thread, shape, data)?;
        Ok(rest)
    }

    /// Writes an execution of a shape that the writer knows, from the words of its accesses.
    #[inline]
    fn executed(&mut self, thread: u32, shape: u32, data: Words<'_>) -> Result<(), Error> {
        let addresses = data.iter().map(word::address);
        self.progress.data_accesses += addresses.len() as u64;
        self.writer.executed(thread, shape, addresses)
    }

    /// The writer's number of a code block, which is written when it is first executed.
    fn code_block(&mut self, number: u32) -> Result<u32, Error> {
        let definition = match self.blocks.get(number as usize) {
            Some(Block::Written(code_block)) => return Ok(*code_block),
            Some(Block::Defined(definition)) => definition.clone(),
            _ => {
                return Err(Error::Unrecordable {
                    problem: format!("the plugin never defined code block {number}"),
                });
            }
        };
        let (module, start) = (definition.0, definition.1);
        let code_block = match self.written.get(&definition) {
            Some(&code_block) => code_block,
            None => {
                let entry = match module {
                    Some(module) => self.modules.entry_at(module, start, &mut self.writer)?,
                    None => None,
                };
                let block = CodeBlock::new(start, definition.2.iter().copied());
                let code_block = self.writer.code_block(&block, entry)?;
                self.written.insert(definition, code_block);
                code_block
            }
        };
        self.blocks[number as usize] = Block::Written(code_block);
        Ok(code_block)
    }

    /// Takes in an event, which `rest` follows. What comes next.
    #[inline]
    fn event<'w>(
        &mut self,
        thread: u32,
        event: Event,
        rest: Words<'w>,
    ) -> Result<Words<'w>, Error> {
        match event {
            Event::Execution { code_block } => return self.execution(thread, code_block, rest),
            Event::Data {
                address,
                instruction,
                size_shift,
                store,
            } => {
                self.progress.data_accesses += 1;
                let (kind, size_bytes) = kind_and_size_bytes(store, size_shift);
                self.writer
                    .data(thread, instruction, kind, size_bytes, address)?;
            }
            Event::Stamp(stamp) => self.writer.stamp(thread, stamp)?,
            Event::Request(number) => {
                self.progress.requests += 1;
                self.writer.numbered_request(thread, number)?;
            }
            Event::Connection(number) => self.writer.connection(thread, number)?,
            Event::End => self.writer.end_request(thread)?,
        }
        Ok(rest)
    }
}

/// Whether the execution before these words makes no access among or after them.
fn ends_execution(words: Words<'_>) -> bool {
    let next = words.split_first();
    next.is_some_and(|(next, _)| word::ends_execution(next))
}

fn access_of(word: u64) -> Option<DataAccess> {
    let Some(Event::Data {
        instruction,
        size_shift,
        store,
        ..
    }) = Event::decode(word)
    else {
        return None;
    };
    let (kind, size_bytes) = kind_and_size_bytes(store, size_shift);
    DataAccess::new(instruction, kind, size_bytes)
}

fn kind_and_size_bytes(store: bool, size_shift: u8) -> (Kind, u16) {
    let kind = if store { Kind::Store } else { Kind::Load };
    (kind, 1 << size_shift)
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
            } => {
                let module = self.modules.at(process, start);
                let place = code_block as usize;
                if place >= self.blocks.len() {
                    self.blocks.resize(place + 1, Block::Unknown);
                }
                self.blocks[place] = Block::Defined((module, start, instruction_sizes));
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
            Message::Trouble(text) => {
                voice::warn(&format!("recording: {text}"));
                Ok(())
            }
        }
    }

    fn piece(&mut self, piece: Piece<'_>) -> Result<(), Error> {
        let thread = self.thread(&piece)?;
        let mut words = piece.words();
        while let Some((word, rest)) = words.split_first() {
            words = match Event::decode(word) {
                Some(event) => self.event(thread, event, rest)?,
                // A word that nobody writes.
                None => rest,
            };
        }
        Ok(())
    }
}
