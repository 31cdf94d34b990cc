//! Receives the loads and stores of a replay, and counts them by line, thread, and instruction.
//!
//! The lines that threads share are known only at the end of the trace, so all lines are counted in
//! detail. A second pass over the shared lines would use less memory, but replay everything twice.
//! Instructions usually access bytes that they accessed recently, so a small table comes before the
//! hash map.

use super::SharingCost;
use super::taken::TakenObjects;
use super::takes::Sharers;
use crate::heap::Sites;
use corehop_simulator::detail::{AnalysisTool, Attribution};
use corehop_simulator::{CacheLevel, Cause, CoreId, LineId, Observer, Translated};
use corehop_traces::execution::LINE_SHIFT;
use corehop_traces::{Access, Execution, Kind, Trace};
use std::collections::HashMap;

/// The last byte of a line, from 0.
const LAST_BYTE: u64 = (1 << LINE_SHIFT) - 1;

/// Accesses that are counted together: one instruction of one thread, at one place of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub line: LineId,
    pub thread: u32,
    pub pc: u64,
    /// Owner of the code, numbered as in [`Attribution`].
    pub owner: u32,
    /// The first byte in the line.
    pub offset: u8,
    /// Bytes in the line.
    pub size_bytes: u8,
    pub is_store: bool,
}

impl Key {
    /// The key of no access: every access has at least one byte.
    const NONE: Key = Key {
        line: LineId(0),
        thread: 0,
        pc: 0,
        owner: 0,
        offset: 0,
        size_bytes: 0,
        is_store: false,
    };

    /// Returns its place in the table of recent keys.
    fn place(&self) -> usize {
        let line = u64::from(self.line.0) << 6 | u64::from(self.offset);
        let all = line.wrapping_add(self.pc << 32) ^ u64::from(self.thread) << 20;
        let product = all.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (product >> 32) as usize & (RECENT - 1)
    }
}

/// Keys whose numbers are found without hashing: a power of two.
const RECENT: usize = 1 << 14;

/// The events are of a fetch, or of a page walk.
const FETCH: u32 = u32::MAX;

/// The analysis tool.
pub(crate) struct SharingCollector<'a> {
    attribution: &'a Attribution,
    number_of: HashMap<Key, u32>,
    recent: Box<[(Key, u32)]>,
    /// By number.
    pub(super) counted: Vec<(Key, SharingCost)>,
    /// The cost of fetches and of page walks.
    pub(super) fetches: SharingCost,
    /// By line: the threads that access it, and its number (an address divided by 64).
    pub(super) lines: Vec<(Sharers, u64)>,
    pub(super) taken: TakenObjects<'a>,

    thread: u32,
    owner: u32,
    /// Of the current access: its instruction, its bytes, and its next line.
    pc: u64,
    first: u64,
    last: u64,
    next_line: u64,
    number: u32,
    /// Whether the events are of a page walk.
    is_walk: bool,
}

impl<'a> SharingCollector<'a> {
    /// Creates the tool for code with this attribution and heap objects of these places.
    pub fn new(
        trace: &'a Trace,
        attribution: &'a Attribution,
        heap_sites: &'a Sites,
    ) -> SharingCollector<'a> {
        SharingCollector {
            attribution,
            number_of: HashMap::new(),
            recent: vec![(Key::NONE, 0); RECENT].into(),
            counted: Vec::new(),
            fetches: SharingCost::default(),
            lines: Vec::new(),
            taken: TakenObjects::new(trace, heap_sites),
            thread: 0,
            owner: 0,
            pc: 0,
            first: 0,
            last: 0,
            next_line: 0,
            number: FETCH,
            is_walk: false,
        }
    }

    /// Counts an access of these bytes of a line.
    fn count(&mut self, kind: Kind, (line, number): (LineId, u64), (first, last): (u64, u64)) {
        let size_bytes = last - first + 1;
        let key = Key {
            line,
            thread: self.thread,
            pc: self.pc,
            owner: self.owner,
            offset: (first & LAST_BYTE) as u8,
            size_bytes: size_bytes as u8,
            is_store: kind == Kind::Store,
        };
        let counted = &mut self.counted;
        let recent = &mut self.recent[key.place()];
        if recent.0 != key {
            let number = *self.number_of.entry(key).or_insert_with(|| {
                counted.push((key, SharingCost::default()));
                counted.len() as u32 - 1
            });
            *recent = (key, number);
        }
        self.number = recent.1;
        if line.index() >= self.lines.len() {
            self.lines.resize_with(line.index() + 1, Default::default);
        }
        let (sharers, known) = &mut self.lines[line.index()];
        *known = number;
        let bytes = u64::MAX >> (LAST_BYTE + 1 - size_bytes) << key.offset;
        let taken = sharers.access(self.thread, key.is_store, bytes, self.number);
        let cost = &mut counted[self.number as usize].1;
        match key.is_store {
            true => cost.stores += 1,
            false => cost.loads += 1,
        }
        if taken.is_take {
            cost.false_sharing += 1;
            self.taken.take(line, first);
        }
        if let Some(take) = taken.is_true {
            let cost = &mut counted[take as usize].1;
            cost.false_sharing -= 1;
            cost.true_sharing += 1;
        }
    }

    /// Returns the cost that events of the current access are added to.
    #[inline]
    fn cost(&mut self) -> &mut SharingCost {
        match self.counted.get_mut(self.number as usize) {
            Some((_, cost)) => cost,
            None => &mut self.fetches,
        }
    }
}

impl Observer for SharingCollector<'_> {
    fn makes(&mut self, _: CoreId, access: &Access) {
        self.pc = access.pc;
        self.first = access.address;
        let size_bytes = u64::from(access.size_bytes.max(1));
        self.last = access.address.saturating_add(size_bytes - 1);
        self.next_line = access.address >> LINE_SHIFT;
    }

    fn accessed(&mut self, _: CoreId, kind: Kind, line: LineId) {
        if self.is_walk {
            self.fetches.loads += 1;
            return;
        }
        let number = self.next_line;
        self.next_line += 1;
        let start = number << LINE_SHIFT;
        let (first, last) = (self.first.max(start), self.last.min(start | LAST_BYTE));
        self.number = FETCH;
        if kind != Kind::Fetch && first <= last {
            self.count(kind, (line, number), (first, last));
        }
    }

    fn walks(&mut self, _: CoreId) {
        self.is_walk = true;
        self.number = FETCH;
    }

    fn translated(&mut self, _: CoreId, _: Kind, _: &Translated) {
        self.is_walk = false;
    }

    fn missed(&mut self, level: CacheLevel, _: CoreId, _: Kind, cause: Cause, _: LineId) {
        if level == CacheLevel::L2 && cause == Cause::Coherence {
            self.cost().coherence_misses += 1;
        }
    }

    fn transferred(&mut self, _: CoreId, _: Kind, _: LineId) {
        self.cost().transfers += 1;
    }

    fn hit_modified(&mut self, _: CoreId, _: Kind, _: LineId) {
        self.cost().hit_modified += 1;
    }

    fn invalidated(&mut self, _: usize, _: CoreId, _: LineId) {
        self.cost().invalidated_lines += 1;
    }
}

impl AnalysisTool for SharingCollector<'_> {
    fn begin(&mut self, execution: &Execution<'_>) {
        self.thread = execution.thread.0;
        self.owner = self.attribution.owner_of(execution.code_block) as u32;
        self.taken.run(execution.stamp);
    }

    fn end(&mut self, _hopped: bool) {}

    fn start_counting(&mut self) {
        self.number_of.clear();
        self.recent.fill((Key::NONE, 0));
        self.counted.clear();
        self.fetches = SharingCost::default();
        self.lines.clear();
        self.taken.clear();
    }
}
