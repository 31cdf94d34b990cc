//! The reading side: control messages first, then each stream's published words in order
//! ([`crate::ring::reader`]).

use crate::ring::memory::Memory;
use crate::ring::message::Message;
use crate::ring::reader::{Found, Reader};
use crate::ring::word::Event;
use std::sync::atomic::{AtomicU64, Ordering};

/// Receives what is read.
pub trait Sink {
    /// Why it cannot receive more.
    type Error;

    /// Receives a message, before any word that refers to it.
    fn message(&mut self, message: Message) -> Result<(), Self::Error>;

    /// Receives words of one stream, which follow those of that stream received before.
    fn piece(&mut self, piece: Piece<'_>) -> Result<(), Self::Error>;
}

/// Reads a memory; each memory has one reader.
#[derive(Debug)]
pub struct Drain<'m> {
    memory: &'m Memory,
    reader: Reader,
}

/// Words of one stream, in order.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'m> {
    /// Number of the stream, from 0 without gaps.
    pub stream: u32,
    /// Process that wrote it.
    pub process: u32,
    /// The operating system's number of the thread that wrote it.
    pub thread: u32,
    words: &'m [AtomicU64],
}

impl Piece<'_> {
    /// Returns the events in order. An invalid word is omitted.
    pub fn events(&self) -> impl Iterator<Item = Event> {
        self.words().iter().filter_map(Event::decode)
    }

    /// Returns the words in the memory.
    pub fn words(&self) -> Words<'_> {
        Words(self.words)
    }
}

/// Words in the memory. The writing side should not change them, but it is not trusted.
#[derive(Clone, Copy, Debug)]
pub struct Words<'m>(&'m [AtomicU64]);

impl<'m> Words<'m> {
    /// Returns the words in order.
    #[inline]
    pub fn iter(self) -> impl ExactSizeIterator<Item = u64> + use<'m> {
        self.0.iter().map(|word| word.load(Ordering::Relaxed))
    }

    /// Returns the first word and the others.
    #[inline]
    pub fn split_first(self) -> Option<(u64, Words<'m>)> {
        let (first, others) = self.0.split_first()?;
        Some((first.load(Ordering::Relaxed), Words(others)))
    }

    /// Copies the leading words for which `belongs` is true; returns the others.
    #[inline]
    pub fn copy_while(self, copy: &mut Vec<u64>, belongs: impl Fn(u64) -> bool) -> Words<'m> {
        let mut others = self.0;
        // Eight at a time, because usually all belong.
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

    /// Passes everything published at the start of the pass to `sink`: all messages that its words
    /// refer to, then the words. Returns the number of words.
    pub fn pass<S: Sink>(&mut self, sink: &mut S) -> Result<u64, S::Error> {
        let found = Reader::look(self.memory.chunk_headers());
        self.memory.receive(|message| sink.message(message))?;
        let mut total = 0;
        for found in &found {
            total += self.read(found, sink)?;
        }
        Ok(total)
    }

    /// Passes the next words of a stream to `sink`, if the chunk has them; returns their number.
    fn read<S: Sink>(&mut self, found: &Found, sink: &mut S) -> Result<u64, S::Error> {
        let Some(range) = self.reader.next(found) else {
            return Ok(0);
        };
        let memory = self.memory;
        // `None` if a wild store of the server has made a length impossible.
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
