//! Received words of one stream that wait until their executions are complete.
//!
//! The next word of the stream shows that an execution is complete, and may arrive with a later
//! piece. A stamp may be within an execution: the run that it begins starts with the next one.

use corehop_traces::ThreadId;
use corehop_wire::ring::{Words, word};

/// More words than any execution has.
const TOO_MANY: usize = 1 << 17;

/// Executions of one stream; the last may be incomplete.
pub struct Incoming {
    /// The writer's thread.
    pub thread: ThreadId,
    words: Vec<u64>,
    /// The last stamp received after the beginning of the first execution.
    stamp: Option<u64>,
}

impl Incoming {
    /// Returns a stream without words.
    pub fn new(thread: ThreadId) -> Incoming {
        Incoming {
            thread,
            words: Vec::new(),
            stamp: None,
        }
    }

    /// Returns the number of words.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// Adds the words of executions at the head of `words`; returns the rest.
    pub fn gather<'w>(&mut self, words: Words<'w>) -> Words<'w> {
        words.copy_while(&mut self.words, word::is_of_execution)
    }

    /// Returns the number of words of complete executions: all except the last one.
    pub fn whole(&self) -> usize {
        let last = self
            .words
            .iter()
            .rposition(|&word| word::is_execution(word));
        let last = last.unwrap_or(0);
        // An execution with too many words is rejected when it is processed.
        if self.words.len() - last > TOO_MANY {
            return self.words.len();
        }
        last
    }

    /// Begins a run after the first execution, which is all that was received.
    pub fn stamp(&mut self, stamp: u64) {
        self.stamp = Some(stamp);
    }

    /// Begins no run after the first execution: a later stamp also applies to it.
    pub fn forget_stamp(&mut self) {
        self.stamp = None;
    }

    /// Returns the first `count` words, of complete executions: those before a stamp, and the stamp
    /// with those after it.
    pub fn around_stamp(&self, count: usize) -> (&[u64], Option<(u64, &[u64])>) {
        let words = &self.words[..count];
        let Some(stamp) = self.stamp.filter(|_| count > 0) else {
            return (words, None);
        };
        let others = words.iter().skip(1);
        let first = 1 + others.take_while(|&&word| word::is_data(word)).count();
        let (first, others) = words.split_at(first);
        (first, Some((stamp, others)))
    }

    /// Removes the first `count` words, and the stamp.
    pub fn remove(&mut self, count: usize) {
        if count > 0 {
            self.words.drain(..count);
            self.stamp = None;
        }
    }
}
