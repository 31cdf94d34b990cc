//! The words of one stream that have come in and wait until their executions are whole.
//!
//! An execution is whole when the next word of the stream says so, and that may come with a later
//! piece. A stamp may stand within one: the run that it begins, begins with the next.

use corehop_traces::ThreadId;
use corehop_wire::ring::{Words, word};

/// More words than an execution can have.
const TOO_MANY: usize = 1 << 17;

/// Executions of one stream, the last of which may go on.
pub struct Incoming {
    /// The writer's thread.
    pub thread: ThreadId,
    words: Vec<u64>,
    /// The last stamp that came after the beginning of the first execution.
    stamp: Option<u64>,
}

impl Incoming {
    /// A stream of which nothing has come in.
    pub fn new(thread: ThreadId) -> Incoming {
        Incoming {
            thread,
            words: Vec::new(),
            stamp: None,
        }
    }

    /// Number of words.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// Adds what is at the head of `words` and belongs to executions; what follows it.
    pub fn gather<'w>(&mut self, words: Words<'w>) -> Words<'w> {
        words.copy_while(&mut self.words, word::is_of_execution)
    }

    /// How many words are of executions that are whole whatever comes next: all but the last one.
    pub fn whole(&self) -> usize {
        let last = self
            .words
            .iter()
            .rposition(|&word| word::is_execution(word));
        let last = last.unwrap_or(0);
        // One that has too many is refused by whoever takes it in.
        if self.words.len() - last > TOO_MANY {
            return self.words.len();
        }
        last
    }

    /// Begins a run after the first execution, all that has come in.
    pub fn stamp(&mut self, stamp: u64) {
        self.stamp = Some(stamp);
    }

    /// Begins no run after the first execution: a later stamp holds for that one too.
    pub fn forget_stamp(&mut self) {
        self.stamp = None;
    }

    /// The first `count` words, whole executions: those before a stamp, and the stamp and those
    /// after it.
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

    /// Forgets the first `count` words, and with them the stamp.
    pub fn remove(&mut self, count: usize) {
        if count > 0 {
            self.words.drain(..count);
            self.stamp = None;
        }
    }
}
