//! What one connection does: the line references of its requests, one after the other.
//!
//! A reference takes 5 bytes: 4 for its line and kind, and one for where its address comes from.
//! How many instructions an execution has stands before its references, in an entry of its own,
//! and only where it is known. What a thread may be moved for are marks beside the entries, which
//! are few. Who replays with a prefetcher that goes by instructions has 4 more bytes a reference,
//! for the instruction.

use crate::{CameBy, LineId, PlacedThread, Split};
use corehop_traces::{FunctionId, Kind, ThreadId};

/// The requests of a connection.
#[derive(Default)]
pub(crate) struct Stream {
    /// `line << 2 | kind`, or `instructions << 2 | INSTRUCTIONS`.
    pub entries: Vec<u32>,
    /// By entry.
    pub address_from: Vec<u8>,
    /// By entry, the low half of the address of the instruction that makes the reference, if these
    /// are kept: as much as a table by instructions tells them apart by.
    pub instructions: Option<Vec<u32>>,
    /// The entry that each request begins with.
    pub requests: Vec<usize>,
    /// In the order of their places; the first at 0.
    pub marks: Vec<Mark>,
    /// How many entries are references.
    pub references: u64,
}

/// A place at which a thread may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The entry before which it is.
    pub at: usize,
    /// The thread in the trace.
    pub thread: ThreadId,
    /// How many executions it had made there.
    pub number: u64,
    /// The function of a split that is entered here.
    pub entered: Option<FunctionId>,
    /// That entry's call, if one begins: when it ends, as far as the trace says.
    pub call: Option<Option<u64>>,
}

impl Mark {
    /// A thread comes here. The stage that it is to be in from here on, and by what, if the mark
    /// says anything of it to this split; it may be the one that it is in. A stage is a core of
    /// the split.
    pub fn pass(&self, thread: &mut PlacedThread, split: &Split) -> Option<(u32, CameBy)> {
        let by = thread.come(split, (self.thread, self.number), self.entered, || {
            self.call
        });
        by.map(|by| (thread.core().0, by))
    }
}

/// An entry's two low bits.
pub(crate) const INSTRUCTIONS: u32 = 3;

impl Stream {
    /// A request begins.
    pub fn begin_request(&mut self) {
        self.requests.push(self.entries.len());
    }

    /// An execution of so many instructions begins.
    pub fn push_instructions(&mut self, count: u32) {
        if count > 0 {
            self.push(count << 2 | INSTRUCTIONS, 0, 0);
        }
    }

    /// A reference of the execution, by the instruction at `pc`.
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

    /// What [`Stream::instructions`] says of an entry, 0 where they are not kept.
    pub fn instruction(&self, entry: usize) -> u32 {
        let instructions = self.instructions.as_deref();
        instructions.map_or(0, |instructions| instructions[entry])
    }

    /// No more will come: gives back the room that is left.
    pub fn finish(&mut self) {
        self.entries.shrink_to_fit();
        self.address_from.shrink_to_fit();
        self.instructions.iter_mut().for_each(Vec::shrink_to_fit);
        self.requests.shrink_to_fit();
        self.marks.shrink_to_fit();
    }

    /// The entry after the last of a request.
    pub fn end_of(&self, request: usize) -> usize {
        let next = self.requests.get(request + 1);
        next.copied().unwrap_or(self.entries.len())
    }
}

/// The kind of a reference; `None` for an entry that is none.
#[inline(always)]
pub(crate) fn kind_of(entry: u32) -> Option<Kind> {
    match entry & 3 {
        0 => Some(Kind::Fetch),
        1 => Some(Kind::Load),
        2 => Some(Kind::Store),
        _ => None,
    }
}
