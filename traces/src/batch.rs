//! The loops in which playing blocks as touches spends its time.
//!
//! What repeats is handed out from where it stands among the touches of the block, which are kept
//! for that. A batch of other executions is laid out first, holes for the data included, and then
//! all its data addresses are found in one go. An execution has about two loads or stores, so a
//! loop over each one's own would end at an unforeseen place every time, which costs a processor
//! more than the loop does; copying a fixed eight and keeping what is needed costs less.

mod hand_out;

pub use hand_out::Whence;

use crate::address::{BASES, BY_STRIDE, Base, FROM_BASE, Memory};
use crate::block::Block;
use crate::execution::{Kind, LINE_SHIFT};
use crate::repeats::{End, Repeat};
use crate::shape::Templates;
use crate::sources::Sources;
use crate::touch::Touch;
use std::ops::Range;

/// A batch ends with the execution that reaches so many touches: all of its room together stays in
/// the first-level cache.
const ENOUGH: usize = 768;
/// The most executions of a repeat in one batch, for the same reason.
const REPEATED_AT_ONCE: u32 = 256;
/// What is copied at once. Most shapes have fewer touches.
const CHUNK: usize = 8;

/// A shape of the current block.
#[derive(Clone, Copy)]
struct Shape {
    first_touch: u32,
    first_slot: u32,
    touches: u16,
    data: u16,
    /// 1 + the function entered, if batches break at it, or 0.
    entered: u32,
}

/// A data access of a shape of the current block.
#[derive(Clone, Copy)]
struct Slot {
    memory: Memory,
    base: Base,
    kind: Kind,
    /// Where among the touches of an execution its own is.
    hole: u16,
    /// After the first one touched.
    further_bytes: u16,
}

/// A data access of the batch: its slot, and above the low half where its execution begins.
#[derive(Clone, Copy)]
struct DataRef(u64);

impl DataRef {
    fn slot(self) -> usize {
        self.0 as u32 as usize
    }

    fn begin(self) -> usize {
        (self.0 >> 32) as usize
    }
}

/// A data access that touches further lines than the first.
#[derive(Clone, Copy)]
struct Span {
    touch: usize,
    further_lines: u64,
}

/// Some executions of a block, all of one request.
pub struct Batch {
    shapes: Vec<Shape>,
    /// The shapes' touches, those of data without their line.
    templates: Vec<Touch>,
    slots: Vec<Slot>,
    /// How many of the block's places, data accesses, explicit addresses and repeats are used up.
    spelled: usize,
    accesses: usize,
    explicit: usize,
    repeats: usize,
    executions: u32,
    entered: Option<u32>,
    data_count: usize,
    /// The touches of a block with repeats, each in its place, but only those that are spelled out
    /// or repeated later; or the touches of the batch; and unused room.
    touches: Vec<Touch>,
    /// Those that the batch makes.
    own: Range<usize>,
    data: Vec<DataRef>,
    /// The latest addresses of data: that of the block's n-th at place n modulo their number.
    recent: [u64; BASES],
    /// Of the touches that are kept.
    spans: Vec<Span>,
    own_spans: Range<usize>,
    /// What the block's repeats repeat.
    sources: Sources,
    /// The executions so far that enter a function to break at, and which.
    entries: Vec<(u32, u32)>,
    spread: Vec<Touch>,
}

impl Batch {
    /// Room for the shapes of a trace.
    pub fn new(templates: &Templates) -> Batch {
        let room = ENOUGH + templates.longest() + CHUNK;
        Batch {
            shapes: Vec::new(),
            templates: Vec::new(),
            slots: Vec::new(),
            spelled: 0,
            accesses: 0,
            explicit: 0,
            repeats: 0,
            executions: 0,
            entered: None,
            data_count: 0,
            touches: vec![Touch::new(0, Kind::Fetch); room],
            own: 0..0,
            data: vec![DataRef(0); room],
            recent: [0; BASES],
            spans: Vec::new(),
            own_spans: 0..0,
            sources: Sources::default(),
            entries: Vec::new(),
            spread: Vec::new(),
        }
    }

    /// Goes to the beginning of a block that was just decoded. `breaks` are the functions to break
    /// at.
    pub fn begin_block(&mut self, templates: &Templates, block: &Block, breaks: &[bool]) {
        self.shapes.clear();
        self.templates.clear();
        self.slots.clear();
        (self.spelled, self.accesses, self.explicit) = (0, 0, 0);
        self.recent = [0; BASES];
        self.repeats = 0;
        self.own = 0..0;
        self.spans.clear();
        self.sources.find(&block.repeats);
        self.entries.clear();
        for &number in &block.shapes {
            let outline = templates.outline(number);
            let (first_touch, first_slot) = (self.templates.len(), self.slots.len());
            for access in templates.accesses(&outline) {
                if access.kind != Kind::Fetch {
                    self.slots.push(Slot {
                        memory: Memory::default(),
                        base: Base::new(block.bases[self.slots.len()]),
                        kind: access.kind,
                        hole: (self.templates.len() - first_touch) as u16,
                        further_bytes: access.size_bytes - 1,
                    });
                }
                let line = access.address >> LINE_SHIFT;
                self.templates.push(Touch::new(line, access.kind));
            }
            let entry = outline.entry.checked_sub(1);
            let breaks_here = entry.and_then(|function| breaks.get(function as usize));
            self.shapes.push(Shape {
                first_touch: first_touch as u32,
                first_slot: first_slot as u32,
                touches: (self.templates.len() - first_touch) as u16,
                data: (self.slots.len() - first_slot) as u16,
                entered: breaks_here.map_or(0, |&breaks| u32::from(breaks) * outline.entry),
            });
        }
        let unused = Touch::new(0, Kind::Fetch);
        self.templates.resize(self.templates.len() + CHUNK, unused);
        // Beyond the last touch is room for what a chunk copies and does not keep.
        let kept = block.ends.last().map_or(0, |end| end.touches());
        let room = (kept + CHUNK).max(self.data.len());
        if self.touches.len() < room {
            // Zeroed pages are taken from the system only once something is put there.
            self.touches = bytemuck::allocation::zeroed_vec(room);
        }
    }

    /// Plays some of the `executions`, at least one and the next ones; how many.
    pub fn fill(&mut self, block: &Block, executions: Range<u32>) -> u32 {
        let first = executions.start;
        let next = block.repeats.get(self.repeats);
        match next.filter(|repeat| repeat.place <= first) {
            Some(repeat) => self.repeat(block, repeat, executions),
            None => {
                let until = next.map_or(executions.end, |repeat| repeat.place);
                let count = until.min(executions.end) - first;
                let places = &block.places[self.spelled..][..count as usize];
                if block.repeats.is_empty() {
                    self.spans.clear();
                }
                self.lay_out(places, accesses_before(block, first).touches());
                let spans_before = self.spans.len();
                self.find_addresses(block);
                self.own_spans = spans_before..self.spans.len();
                self.spelled += self.executions as usize;
            }
        }
        let entered = self.entered.map(|function| (first, function));
        self.entries.extend(entered);
        self.executions
    }

    /// Finds the touches of executions that begin within a repeat.
    fn repeat(&mut self, block: &Block, repeat: &Repeat, executions: Range<u32>) {
        let first = executions.start;
        // What was repeated so far can be repeated as well.
        let periods = 1 + (first - repeat.place) / repeat.distance;
        let distance = repeat.distance * periods;
        let earlier = first - distance;
        let end = repeat.place + repeat.length;
        let most = executions.end.min(end) - first;
        let most = most.min(distance).min(REPEATED_AT_ONCE);
        let entry = self.entries.partition_point(|&(place, _)| place < earlier);
        let mut entries = self.entries[entry..].iter().peekable();
        self.entered = entries
            .next_if(|entry| entry.0 == earlier)
            .map(|entry| entry.1);
        let next = entries.next().map_or(u32::MAX, |entry| entry.0);
        let until = next.min(earlier + most);
        self.executions = until - earlier;
        let (begin, last) = (
            accesses_before(block, earlier),
            accesses_before(block, until),
        );
        let (from, to) = (begin.touches(), last.touches());
        self.own = from..to;
        self.data_count = last.data() - begin.data();
        let first_span = self.spans.partition_point(|span| span.touch < from);
        let spans = self.spans[first_span..].iter();
        let span_count = spans.take_while(|span| span.touch < to).count();
        self.own_spans = first_span..first_span + span_count;
        if self.sources.has_some_of(first..first + self.executions) {
            let here = accesses_before(block, first).touches();
            self.touches.copy_within(from..to, here);
            for place in self.own_spans.clone() {
                let span = self.spans[place];
                let touch = span.touch - from + here;
                self.spans.push(Span { touch, ..span });
            }
        }
        self.repeats += usize::from(first + self.executions == end);
    }

    /// Puts down the touches of executions, those of data without their lines, from `begin` on, and
    /// what data there is.
    fn lay_out(&mut self, places: &[u16], begin: usize) {
        let first = self.shapes[usize::from(places[0])];
        self.entered = first.entered.checked_sub(1);
        let (mut touches, mut data, mut executions) = (begin, 0, 0);
        let enough = touches + ENOUGH;
        for &place in places {
            let shape = self.shapes[usize::from(place)];
            if shape.entered != 0 && executions > 0 {
                break;
            }
            let template = &self.templates[shape.first_touch as usize..];
            let first = DataRef((touches as u64) << 32 | u64::from(shape.first_slot));
            let own = usize::from(shape.touches);
            let length = if own <= CHUNK { CHUNK } else { own };
            if own <= CHUNK {
                self.touches[touches..touches + CHUNK].copy_from_slice(&template[..CHUNK]);
                number(first, &mut self.data[data..data + CHUNK]);
            } else {
                self.touches[touches..touches + length].copy_from_slice(&template[..length]);
                number(first, &mut self.data[data..data + usize::from(shape.data)]);
            }
            touches += own;
            data += usize::from(shape.data);
            executions += 1;
            if touches >= enough {
                break;
            }
        }
        self.own = begin..touches;
        self.data_count = data;
        self.executions = executions;
    }

    /// Finds the addresses of the data, and puts their touches into place.
    fn find_addresses(&mut self, block: &Block) {
        let count = self.data_count;
        let hows = &block.hows[self.accesses..][..count];
        let mut explicit = block.explicit[self.explicit..].iter();
        let explicit_before = explicit.len();
        let data = &self.data[..count];
        let slots = &mut self.slots[..];
        let touches = &mut self.touches[..];
        let mut recent = self.recent;
        let mut latest = recent[self.accesses.wrapping_sub(1) % BASES];
        for place in 0..count {
            let position = self.accesses + place;
            let data = data[place];
            let slot = &mut slots[data.slot()];
            let back = usize::from(slot.base.back);
            let before = recent[position.wrapping_sub(back) % BASES];
            let before = std::hint::select_unpredictable(back == 1, latest, before);
            let base = slot.base.address(before);
            let address = match hows[place] {
                FROM_BASE => base.wrapping_add(slot.memory.from_base),
                BY_STRIDE => slot.memory.next_by_stride(),
                _ => {
                    let next = explicit.next().expect("as many as were counted");
                    next.address(slot.memory.last)
                }
            };
            latest = address;
            slot.memory.update(base, address);
            recent[position % BASES] = address;
            let touch = data.begin() + usize::from(slot.hole);
            let line = address >> LINE_SHIFT;
            touches[touch] = Touch::new(line, slot.kind);
            let in_line = address % (1 << LINE_SHIFT);
            if in_line + u64::from(slot.further_bytes) >= 1 << LINE_SHIFT {
                let last = address.saturating_add(u64::from(slot.further_bytes));
                let further_lines = (last >> LINE_SHIFT) - line;
                self.spans.push(Span {
                    touch,
                    further_lines,
                });
            }
        }
        self.recent = recent;
        self.accesses += count;
        self.explicit += explicit_before - explicit.len();
    }
}

/// Where the accesses before an execution end. Of a block without repeats none are kept.
fn accesses_before(block: &Block, execution: u32) -> End {
    let before = execution.checked_sub(1);
    let end = before.and_then(|before| block.ends.get(before as usize));
    end.copied().unwrap_or_default()
}

/// Numbers consecutive slots.
#[inline(always)]
fn number(first: DataRef, room: &mut [DataRef]) {
    for (place, data) in room.iter_mut().enumerate() {
        *data = DataRef(first.0 + place as u64);
    }
}
