//! The pieces of memory that heap objects are, line by line, while a replay goes on.
//!
//! A collector keeps what each line belongs to. Whenever an object begins or ends, it forgets that
//! of the lines there, and only of those.

use crate::heap::{HeapLine, HeapMemory, LiveObjects, Sites};
use crate::pieces::{LinePiece, Piece};
use corehop_simulator::LineId;
use corehop_traces::Trace;
use corehop_traces::execution::LINE_SHIFT;
use std::collections::BTreeMap;
use std::ops::Range;

/// The heap as pieces.
pub(crate) struct HeapLines<'a> {
    objects: LiveObjects<'a>,
    sites: &'a Sites,
    /// Lines of which the collector knows the piece, by number.
    known: BTreeMap<u64, LineId>,
    stamp: u64,
}

impl<'a> HeapLines<'a> {
    /// Before the first run; without `sites`, there are no objects.
    pub fn new(trace: &'a Trace, sites: &'a Sites) -> HeapLines<'a> {
        HeapLines {
            objects: LiveObjects::of(trace),
            sites,
            known: BTreeMap::new(),
            stamp: 0,
        }
    }

    /// Begins a run, or goes on with it. Passes the lines to `forget` whose pieces may have
    /// changed.
    #[inline]
    pub fn run(&mut self, stamp: u64, forget: impl FnMut(LineId)) {
        if self.stamp != stamp && !self.sites.all.is_empty() {
            self.begin_run(stamp, forget);
        }
    }

    fn begin_run(&mut self, stamp: u64, mut forget: impl FnMut(LineId)) {
        self.stamp = stamp;
        let known = &self.known;
        self.objects.advance(stamp, |range| {
            let last = (range.end - 1) >> LINE_SHIFT;
            let lines = known.range(range.start >> LINE_SHIFT..=last);
            lines.for_each(|(_, &line)| forget(line));
        });
    }

    /// Returns the piece at an address, and its bytes; `None` if no allocator has returned it.
    pub fn piece_at(&self, address: u64) -> Option<(Piece, Range<u64>)> {
        let (bytes, memory) = self.objects.at(address)?;
        Some((self.piece(memory), bytes))
    }

    /// Adds a line of which the collector keeps the pieces from now on.
    pub fn add(&mut self, number: u64, line: LineId) {
        if !self.sites.all.is_empty() {
            self.known.insert(number, line);
        }
    }

    /// Returns the pieces of a line; `None` if no allocator has returned any of it.
    pub fn of_line(&self, number: u64) -> Option<LinePiece> {
        match self.objects.of_line(number) {
            HeapLine::Other => None,
            HeapLine::Whole(memory) => Some(LinePiece::Whole(self.piece(memory))),
            HeapLine::Several => Some(LinePiece::Several),
        }
    }

    fn piece(&self, memory: HeapMemory) -> Piece {
        match memory {
            HeapMemory::Object(event) => Piece::Object(self.sites.of_object(event)),
            HeapMemory::Freed => Piece::Freed,
        }
    }
}
