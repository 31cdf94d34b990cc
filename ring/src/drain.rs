//! The reading side: control first, then what every stream has published, in each stream's order.
//!
//! A chunk is read while its thread still writes it, so what a server did just before it was
//! killed is not lost and an idle thread's last words do not wait for a full chunk. Looking at all
//! chunks takes time, in which a thread may have moved on to one that is seen and filled one that
//! was not: so a stream's next chunk is read only after its last one was read to the end.

use crate::header::{ChunkHeader, state};
use crate::memory::Memory;
use crate::message::Message;
use crate::word::Event;
use std::collections::HashMap;
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
    /// Words already read of each chunk that is in use.
    consumed: Vec<u32>,
    /// Of each stream, the sequence of the chunk to read now, if it is not the first.
    expected: HashMap<u32, u32>,
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

struct Found {
    stream: u32,
    sequence: u32,
    chunk: u32,
    state: u32,
    length: u32,
}

impl<'m> Drain<'m> {
    /// Starts reading `memory` from its beginning.
    pub fn new(memory: &'m Memory) -> Self {
        Drain {
            memory,
            consumed: vec![0; memory.settings().chunks as usize],
            expected: HashMap::new(),
        }
    }

    /// Hands over everything published when the pass began: all messages that its words refer to,
    /// then the words. Says how many words there were.
    pub fn pass<S: Sink>(&mut self, sink: &mut S) -> Result<u64, S::Error> {
        let mut found: Vec<Found> = (0..self.memory.settings().chunks)
            .filter_map(|chunk| self.look_at(chunk))
            .collect();
        found.sort_unstable_by_key(|found| (found.stream, found.sequence));
        self.memory.receive(|message| sink.message(message))?;
        let mut total = 0;
        for found in found {
            let expected = self.expected.get(&found.stream).copied().unwrap_or(0);
            if expected != found.sequence {
                continue;
            }
            total += u64::from(self.read(&found, sink)?);
        }
        Ok(total)
    }

    /// A chunk's state and length. The state is read first: what a full chunk's length says is
    /// final, and an owned one may grow and be read further in the next pass.
    fn look_at(&self, chunk: u32) -> Option<Found> {
        let header: &ChunkHeader = self.memory.chunk(chunk);
        let state = header.state.load(Ordering::Acquire);
        if !matches!(state, state::OWNED | state::FULL) {
            return None;
        }
        Some(Found {
            stream: header.stream.load(Ordering::Relaxed),
            sequence: header.sequence.load(Ordering::Relaxed),
            chunk,
            state,
            length: header.length.load(Ordering::Acquire),
        })
    }

    fn read<S: Sink>(&mut self, found: &Found, sink: &mut S) -> Result<u32, S::Error> {
        let memory = self.memory;
        let header = memory.chunk(found.chunk);
        let consumed = &mut self.consumed[found.chunk as usize];
        let range = *consumed as usize..found.length as usize;
        // None where a wild store of the server has made a length that cannot be.
        let words = memory.chunk_data(found.chunk).get(range).unwrap_or(&[]);
        if !words.is_empty() {
            sink.piece(Piece {
                stream: found.stream,
                process: header.process.load(Ordering::Relaxed),
                thread: header.thread.load(Ordering::Relaxed),
                words,
            })?;
        }
        *consumed = found.length;
        if found.state == state::FULL {
            *consumed = 0;
            let next = found.sequence.wrapping_add(1);
            self.expected.insert(found.stream, next);
            header.state.store(state::FREE, Ordering::Release);
            memory
                .header()
                .free_chunks
                .0
                .fetch_add(1, Ordering::Relaxed);
        }
        Ok(words.len() as u32)
    }
}
