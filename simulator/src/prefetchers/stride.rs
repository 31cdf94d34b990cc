//! `stride`: prefetches the line that an instruction will reference next if its stride continues.
//!
//! The reference prediction table of Chen and Baer ("Effective hardware-based data prefetching for
//! high-performance processors", IEEE Transactions on Computers 44(5), 1995, their basic scheme).
//! For each instruction, it holds the last referenced line, its distance from the previous one, and
//! how well that predicted the next. Theirs receives all references, in bytes. This one is at the
//! L2, like next-line, and receives those that missed their L1D, in lines. Steps smaller than a
//! line then appear as steps of one line, and are prefetched one line ahead; a stride of one and a
//! half lines is not constant. Intel's is at the L1D, for loads only, and handles strides up to 2
//! KiB (64 and IA-32 architectures optimization reference manual, *Data prefetching*).
//!
//! These are all rules. Each core's table has 256 places and observes loads and stores. An
//! instruction has the place of its address modulo 256 and is identified by the low 32 bits (in an
//! imported trace, if that has addresses). A place has the line that the instruction missed last, a
//! stride in whole lines, and a state.
//!
//! - An instruction that does not have its place takes it: *initial*, stride 0.
//! - If the distance from the last line equals the stride, *initial*, *transient*, and *steady*
//!   become *steady*; *no prediction* becomes *transient*.
//! - If it differs, *initial* becomes *transient*, and *transient* and *no prediction* become *no
//!   prediction*; the distance is the new stride. *Steady* becomes *initial* and keeps its stride.
//! - Then, unless the state is *no prediction* or the stride 0, it requests the line one stride
//!   ahead.

use super::prefetcher::{Miss, Prefetcher};
use corehop_traces::Kind;

/// Number of entries in the table; the low bits of an instruction's address select its entry.
const ENTRIES: usize = 256;

pub(crate) struct Stride {
    table: Box<[Option<Entry>; ENTRIES]>,
}

/// The state of an instruction.
#[derive(Clone, Copy)]
struct Entry {
    instruction: u32,
    line: u64,
    /// Distance between the last two lines, in lines.
    stride: i64,
    state: State,
}

/// How well the stride predicted.
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

    /// Returns the entry after a reference to this line.
    fn after(self, line: u64) -> Entry {
        let stride = line.wrapping_sub(self.line) as i64;
        let (state, stride) = match (self.state, stride == self.stride) {
            (State::Initial | State::Transient | State::Steady, true) => (State::Steady, stride),
            (State::NoPrediction, true) => (State::Transient, stride),
            (State::Initial, false) => (State::Transient, stride),
            (State::Transient | State::NoPrediction, false) => (State::NoPrediction, stride),
            // A stride that was right so far is kept: a loop may have started again.
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
