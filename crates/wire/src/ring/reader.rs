//! The order in which the reader reads chunks.
//!
//! A chunk is read while its thread still writes it. So the last words of a killed server are not
//! lost, and the last words of an idle thread do not wait for a full chunk. Scanning all chunks
//! takes time, during which a thread may fill a chunk that was already scanned and continue in one
//! that is scanned later. So a stream's next chunk is read only after its previous one was read to
//! the end.

use crate::ring::chunk::{Atomic, ChunkHeader, Published};
use std::collections::HashMap;
use std::ops::Range;

/// The progress of a reader.
#[derive(Debug)]
pub(crate) struct Reader {
    /// Number of words already read of each chunk that is in use.
    consumed: Vec<u32>,
    /// For each stream, the sequence number of the chunk to read now, if it is not the first.
    expected: HashMap<u32, u32>,
}

/// A chunk that may have something to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) chunk: u32,
    pub(crate) published: Published,
}

impl Reader {
    /// Starts reading this number of chunks.
    pub(crate) fn new(chunks: u32) -> Reader {
        Reader {
            consumed: vec![0; chunks as usize],
            expected: HashMap::new(),
        }
    }

    /// Returns what is published now, with each stream's chunks in order.
    pub(crate) fn look<A: Atomic<u32>>(headers: &[ChunkHeader<A>]) -> Vec<Found> {
        let found = (0..).zip(headers).filter_map(|(chunk, header)| {
            let published = header.published()?;
            Some(Found { chunk, published })
        });
        let mut found: Vec<Found> = found.collect();
        found.sort_unstable_by_key(|found| {
            let writer = found.published.writer;
            (writer.stream, writer.sequence)
        });
        found
    }

    /// Returns the range of a chunk's words that are next in its stream; `None` until the stream's
    /// earlier chunks are read to their ends.
    pub(crate) fn next(&self, found: &Found) -> Option<Range<usize>> {
        let Published { writer, length, .. } = found.published;
        let expected = self.expected.get(&writer.stream).copied().unwrap_or(0);
        let consumed = self.consumed[found.chunk as usize];
        (expected == writer.sequence).then_some(consumed as usize..length as usize)
    }

    /// Records that these words were read. Frees the chunk if they were its last; returns whether
    /// it did.
    pub(crate) fn advance<A: Atomic<u32>>(
        &mut self,
        found: &Found,
        header: &ChunkHeader<A>,
    ) -> bool {
        let Published {
            writer,
            length,
            is_full,
        } = found.published;
        let consumed = &mut self.consumed[found.chunk as usize];
        *consumed = length;
        if is_full {
            *consumed = 0;
            let next = writer.sequence.wrapping_add(1);
            self.expected.insert(writer.stream, next);
            header.free();
        }
        is_full
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::chunk::{Writer, is_atomic};
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU32, AtomicU64};
    use std::sync::atomic::Ordering;

    is_atomic!(AtomicU32, u32);
    is_atomic!(AtomicU64, u64);

    const WORDS: usize = 2;

    /// Chunks of two words.
    struct Chunks {
        headers: Vec<ChunkHeader<AtomicU32>>,
        words: Vec<[AtomicU64; WORDS]>,
    }

    impl Chunks {
        fn new(chunks: usize) -> Chunks {
            let words = || [AtomicU64::new(0), AtomicU64::new(0)];
            Chunks {
                headers: (0..chunks).map(|_| ChunkHeader::default()).collect(),
                words: (0..chunks).map(|_| words()).collect(),
            }
        }

        /// Writes these words as one stream, and waits for chunks.
        fn write(&self, stream: u32, words: &[u64]) {
            for (sequence, words) in (0..).zip(words.chunks(WORDS)) {
                let chunk = loop {
                    match self.headers.iter().position(ChunkHeader::claim) {
                        Some(chunk) => break chunk,
                        None => loom::thread::yield_now(),
                    }
                };
                let (header, room) = (&self.headers[chunk], &self.words[chunk]);
                header.begin(Writer {
                    stream,
                    sequence,
                    process: 1,
                    thread: stream,
                });
                for &word in words {
                    assert!(header.push(room, word), "a chunk that was claimed has room");
                }
                header.finish();
            }
        }

        /// Reads all streams until this many words are read.
        fn read(&self, until: usize) -> HashMap<u32, Vec<u64>> {
            let mut reader = Reader::new(self.headers.len() as u32);
            let mut read: HashMap<u32, Vec<u64>> = HashMap::new();
            while read.values().map(Vec::len).sum::<usize>() < until {
                for found in Reader::look(&self.headers) {
                    let Some(range) = reader.next(&found) else {
                        continue;
                    };
                    let chunk = found.chunk as usize;
                    let words = self.words[chunk][range].iter();
                    let words = words.map(|word| Atomic::load(word, Ordering::Relaxed));
                    let stream = found.published.writer.stream;
                    read.entry(stream).or_default().extend(words);
                    reader.advance(&found, &self.headers[chunk]);
                }
                loom::thread::yield_now();
            }
            read
        }
    }

    /// Tries all thread interleavings with up to this many preemptions.
    fn try_all(preemptions: usize, of: impl Fn() + Sync + Send + 'static) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(preemptions);
        model.check(of);
    }

    /// Sends one stream's words through this many chunks: it fills one and begins another.
    fn three_words_through(chunks: usize) {
        try_all(3, move || {
            let chunks = Arc::new(Chunks::new(chunks));
            let writer = {
                let chunks = Arc::clone(&chunks);
                loom::thread::spawn(move || chunks.write(0, &[1, 2, 3]))
            };
            assert_eq!(chunks.read(3), HashMap::from([(0, vec![1, 2, 3])]));
            writer.join().unwrap();
        });
    }

    #[test]
    fn a_reader_beside_the_writer_gets_every_word_once_and_in_order() {
        three_words_through(2);
    }

    #[test]
    fn a_writer_waits_for_a_chunk_that_the_reader_frees() {
        three_words_through(1);
    }

    #[test]
    fn two_writers_never_share_a_chunk() {
        try_all(2, || {
            let chunks = Arc::new(Chunks::new(2));
            let write = |stream: u32, word: u64| {
                let chunks = Arc::clone(&chunks);
                loom::thread::spawn(move || chunks.write(stream, &[word]))
            };
            let writers = [write(0, 1), write(1, 2)];
            let expected = HashMap::from([(0, vec![1]), (1, vec![2])]);
            assert_eq!(chunks.read(2), expected);
            for writer in writers {
                writer.join().unwrap();
            }
        });
    }
}
