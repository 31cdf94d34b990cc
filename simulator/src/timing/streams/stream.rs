//! The line references of one connection's requests, in order.
//!
//! A reference takes 5 bytes: 4 for its line and kind, and one for the source of its address. If
//! the number of instructions of an execution is known, it is in a separate entry before the
//! references. If branches are kept, an entry behind the references has the one by which the
//! execution continues. Places at which a thread may move are marks outside the entries, because
//! they are few. With a prefetcher that uses instructions, a reference takes 4 more bytes for the
//! instruction.

use crate::{CameBy, LineId, PlacedThread, Split};
use corehop_traces::{FunctionId, Kind, ThreadId};

/// The requests of a connection.
#[derive(Default)]
pub(crate) struct Stream {
    /// `line << 2 | kind`, `instructions << 3 | INSTRUCTIONS`, or `branch << 3 | BRANCH`.
    pub entries: Vec<u32>,
    /// For each entry, the source of the address, or of what the branch depends on.
    pub address_from: Vec<u8>,
    /// For each entry, the low half of the address of the instruction that makes the reference, if
    /// these are kept. A table indexed by instruction needs no more bits.
    pub instructions: Option<Vec<u32>>,
    /// The first entry of each request.
    pub requests: Vec<usize>,
    /// In order of position; the first at 0.
    pub marks: Vec<Mark>,
    /// Number of entries that are references.
    pub references: u64,
}

/// A place at which a thread may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The entry before which the mark is.
    pub at: usize,
    /// The thread in the trace.
    pub thread: ThreadId,
    /// Number of executions that the thread had made there.
    pub number: u64,
    /// The function of a split that is entered here.
    pub entered: Option<FunctionId>,
    /// The call that this entry begins, if any: its end, as far as the trace contains it.
    pub call: Option<Option<u64>>,
}

impl Mark {
    /// Moves a thread past this mark. Returns the thread's stage from here on and the cause, if the
    /// mark affects this split; the stage may be unchanged. A stage is a core of the split.
    pub fn pass(&self, thread: &mut PlacedThread, split: &Split) -> Option<(u32, CameBy)> {
        let by = thread.come(split, (self.thread, self.number), self.entered, || {
            self.call
        });
        by.map(|by| (thread.core().0, by))
    }
}

/// The three low bits of an entry that holds a number of instructions.
const INSTRUCTIONS: u32 = 3;
/// Those of an entry that holds the index of a branch in its place ([`super::branches`]).
const BRANCH: u32 = 7;

/// An entry that is no reference.
pub(crate) enum Other {
    /// The next instructions, as many.
    Instructions(u32),
    /// A branch, by its index.
    Branch(usize),
}

impl Stream {
    /// Begins a request.
    pub fn begin_request(&mut self) {
        self.requests.push(self.entries.len());
    }

    /// Begins an execution with this many instructions.
    pub fn push_instructions(&mut self, count: u32) {
        if count > 0 {
            self.push(count << 3 | INSTRUCTIONS, 0, 0);
        }
    }

    /// Ends an execution with the branch at this index, which depends on this load.
    pub fn push_branch(&mut self, branch: u32, depends_on: u8) {
        self.push(branch << 3 | BRANCH, depends_on, 0);
    }

    /// Appends a reference of the execution, by the instruction at `pc`.
    #[inline]
    pub fn push_reference(&mut self, (line, kind): (LineId, Kind), address_from: u8, pc: u64) {
        self.push(line.0 << 2 | kind as u32, address_from, pc as u32);
        self.references += 1;
    }

    #[inline]
    fn push(&mut self, entry: u32, address_from: u8, instruction: u32) {
        self.entries.push(entry);
        self.address_from.push(address_from);
        if let Some(instructions) = &mut self.instructions {
            instructions.push(instruction);
        }
    }

    /// Returns the value of [`Stream::instructions`] for an entry, or 0 if they are not kept.
    pub fn instruction(&self, entry: usize) -> u32 {
        let instructions = self.instructions.as_deref();
        instructions.map_or(0, |instructions| instructions[entry])
    }

    /// Releases unused memory after the last reference.
    pub fn finish(&mut self) {
        self.entries.shrink_to_fit();
        self.address_from.shrink_to_fit();
        self.instructions.iter_mut().for_each(Vec::shrink_to_fit);
        self.requests.shrink_to_fit();
        self.marks.shrink_to_fit();
    }

    /// Returns the index after the last entry of a request.
    pub fn end_of(&self, request: usize) -> usize {
        let next = self.requests.get(request + 1);
        next.copied().unwrap_or(self.entries.len())
    }
}

/// Returns the kind of a reference; other entries are the error.
#[inline(always)]
pub(crate) fn kind_of(entry: u32) -> Result<Kind, Other> {
    match entry & 3 {
        0 => Ok(Kind::Fetch),
        1 => Ok(Kind::Load),
        2 => Ok(Kind::Store),
        _ if entry & 7 == BRANCH => Err(Other::Branch((entry >> 3) as usize)),
        _ => Err(Other::Instructions(entry >> 3)),
    }
}
