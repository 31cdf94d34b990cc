//! The reading side: control first, then what every stream has published, in each stream's order
//! ([`crate::ring::reader`]).

use crate::ring::memory::Memory;
use crate::ring::message::Message;
use crate::ring::reader::{Found, Reader};
use crate::ring::word::Event;
use std::sync::atomic::{AtomicU64, Ordering};

/// Who receives what is read.
pub trait Sink {
    /// Why it can receive no more.
    type Error;

    /// Receives a message, before any word that refers to it.
    fn message(&mut self, message: Message) -> Result<(), Self::Error>;

    /// Receives words of one stream, which follow those it received before of that stream.
    fn piece(&mut self, piece: Piece<'_>) -> Result<(), Self::Error>;
}

/// Reads a memory; there is one for each.
#[derive(Debug)]
pub struct Drain<'m> {
    memory: &'m Memory,
    reader: Reader,
}

/// Words of one stream, in its order.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'m> {
    /// Number of the stream, dense from 0.
    pub stream: u32,
    /// Process that wrote it.
    pub process: u32,
    /// Thread that wrote it, as the operating system numbers it.
    pub thread: u32,
    words: &'m [AtomicU64],
}

impl Piece<'_> {
    /// The events in order. A word that nobody writes is left out.
    pub fn events(&self) -> impl Iterator<Item = Event> {
        self.words().iter().filter_map(Event::decode)
    }

    /// The words as they stand in the memory.
    pub fn words(&self) -> Words<'_> {
        Words(self.words)
    }
}

/// Words that stand in the memory. Its other side should leave them alone, and is not trusted to.
#[derive(Clone, Copy, Debug)]
pub struct Words<'m>(&'m [AtomicU64]);

impl<'m> Words<'m> {
    /// The words in order.
    #[inline]
    pub fn iter(self) -> impl ExactSizeIterator<Item = u64> + use<'m> {
        self.0.iter().map(|word| word.load(Ordering::Relaxed))
    }

    /// The first word and the others.
    #[inline]
    pub fn split_first(self) -> Option<(u64, Words<'m>)> {
        let (first, others) = self.0.split_first()?;
        Some((first.load(Ordering::Relaxed), Words(others)))
    }

    /// Copies the first words, up to one that does not belong to them; that one and the others.
    #[inline]
    pub fn copy_while(self, copy: &mut Vec<u64>, belongs: impl Fn(u64) -> bool) -> Words<'m> {
        let mut others = self.0;
        // Eight at a time, because they mostly all belong.
        while let Some((eight, rest)) = others.split_first_chunk::<8>() {
            let loaded = eight.each_ref().map(|word| word.load(Ordering::Relaxed));
            if !loaded.iter().fold(true, |all, &word| all & belongs(word)) {
                break;
            }
            copy.extend_from_slice(&loaded);
            others = rest;
        }
        let mut others = Words(others);
        while let Some((word, rest)) = others.split_first() {
            if !belongs(word) {
                break;
            }
            copy.push(word);
            others = rest;
        }
        others
    }
}

impl<'m> Drain<'m> {
    /// Starts reading `memory` from its beginning.
    pub fn new(memory: &'m Memory) -> Self {
        Drain {
            memory,
            reader: Reader::new(memory.settings().chunks),
        }
    }

    /// Hands over everything published when the pass began: all messages that its words refer to,
    /// then the words. Says how many words there were.
    pub fn pass<S: Sink>(&mut self, sink: &mut S) -> Result<u64, S::Error> {
        let found = Reader::look(self.memory.chunk_headers());
        self.memory.receive(|message| sink.message(message))?;
        let mut total = 0;
        for found in &found {
            total += self.read(found, sink)?;
        }
        Ok(total)
    }

    /// Hands over what comes next of a stream, if the chunk has it; how many words.
    fn read<S: Sink>(&mut self, found: &Found, sink: &mut S) -> Result<u64, S::Error> {
        let Some(range) = self.reader.next(found) else {
            return Ok(0);
        };
        let memory = self.memory;
        // None where a wild store of the server has made a length that cannot be.
        let words = memory.chunk_data(found.chunk).get(range).unwrap_or(&[]);
        let writer = found.published.writer;
        if !words.is_empty() {
            sink.piece(Piece {
                stream: writer.stream,
                process: writer.process,
                thread: writer.thread,
                words,
            })?;
        }
        let header = &memory.chunk_headers()[found.chunk as usize];
        if self.reader.advance(found, header) {
            let free = &memory.header().free_chunks.0;
            free.fetch_add(1, Ordering::Relaxed);
        }
        Ok(words.len() as u64)
    }
}
