//! `stride`: the line that an instruction will come to if it goes on as before.
//!
//! The reference prediction table of Chen and Baer ("Effective hardware-based data prefetching for
//! high-performance processors", IEEE Transactions on Computers 44(5), 1995, their basic scheme):
//! by instruction, the line that it referenced last, how far that was from the one before, and how
//! often that foretold the next. Theirs is told of all references, by bytes. This one sits at the
//! L2, as next-line does, and is told of those that missed their L1D, by lines: a walk in steps
//! smaller than a line is then one of steps of a line, and asked for a line ahead, while a stride
//! of one line and a half is none. Intel's is at the L1D, of loads alone, and takes strides of up
//! to 2 KiB (64 and IA-32 architectures optimization reference manual, *Data prefetching*).

use super::prefetcher::{Miss, Prefetcher};
use corehop_traces::Kind;

/// Instructions that the table holds; each has one place in it, by the low bits of its address.
const ENTRIES: usize = 256;

pub(crate) struct Stride {
    table: Box<[Option<Entry>; ENTRIES]>,
}

/// What is known of an instruction.
#[derive(Clone, Copy)]
struct Entry {
    instruction: u32,
    line: u64,
    /// In lines.
    stride: i64,
    state: State,
}

/// How well the stride foretold.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Initial,
    Transient,
    Steady,
    NoPrediction,
}

impl Default for Stride {
    fn default() -> Stride {
        Stride {
            table: Box::new([None; ENTRIES]),
        }
    }
}

impl Prefetcher for Stride {
    fn missed_l1(&mut self, miss: &Miss) -> Option<u64> {
        if miss.kind == Kind::Fetch {
            return None;
        }
        let place = &mut self.table[miss.instruction as usize % ENTRIES];
        let known = place.filter(|entry| entry.instruction == miss.instruction);
        let entry = known.map_or_else(|| Entry::new(miss), |entry| entry.after(miss.line));
        *place = Some(entry);
        let predicts = entry.state != State::NoPrediction && entry.stride != 0;
        predicts.then(|| miss.line.wrapping_add_signed(entry.stride))
    }
}

impl Entry {
    fn new(miss: &Miss) -> Entry {
        Entry {
            instruction: miss.instruction,
            line: miss.line,
            stride: 0,
            state: State::Initial,
        }
    }

    /// The entry after a reference to this line.
    fn after(self, line: u64) -> Entry {
        let stride = line.wrapping_sub(self.line) as i64;
        let (state, stride) = match (self.state, stride == self.stride) {
            (State::Initial | State::Transient | State::Steady, true) => (State::Steady, stride),
            (State::NoPrediction, true) => (State::Transient, stride),
            (State::Initial, false) => (State::Transient, stride),
            (State::Transient | State::NoPrediction, false) => (State::NoPrediction, stride),
            // One that was right so far keeps its stride: a loop has begun again, perhaps.
            (State::Steady, false) => (State::Initial, self.stride),
        };
        Entry {
            line,
            stride,
            state,
            ..self
        }
    }
}
