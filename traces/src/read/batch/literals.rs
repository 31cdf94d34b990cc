//! Computes the references of literals.
//!
//! First the references of a batch are laid out, with holes for the data. Then all its data
//! addresses are computed in one loop. An execution has about two loads or stores, so a loop for
//! each execution would end unpredictably, which costs more than the loop itself. Copying a fixed
//! eight elements and keeping those needed costs less.

use crate::codec::address::{AddressHistory, BASES, BY_STRIDE, Base, FROM_BASE};
use crate::codec::template::Templates;
use crate::format::chunk::Chunk;
use crate::model::execution::{Kind, LINE_SHIFT};
use crate::model::ids::FunctionId;
use crate::model::reference::LineReference;

/// A batch ends with the execution that reaches this many references, so that its buffers fit into
/// the first-level cache.
pub const ENOUGH: usize = 768;
/// Number of references copied at once. Most templates have fewer.
const COPIED_AT_ONCE: usize = 8;

/// A template of the current chunk.
#[derive(Clone, Copy)]
struct ChunkTemplate {
    first_reference: u32,
    first_slot: u32,
    references: u16,
    data: u16,
    /// 1 + the function entered, if batches break at it, or 0.
    entered: u32,
}

/// A data access of a template of the current chunk.
#[derive(Clone, Copy)]
struct Slot {
    history: AddressHistory,
    base: Base,
    kind: Kind,
    /// Index of its reference among those of an execution.
    hole: u16,
    /// Number of bytes after the first.
    further_bytes: u16,
}

/// A data access of the batch: its slot in the low half, and the start of its execution above it.
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

/// A data access that references more than one line.
#[derive(Clone, Copy)]
pub struct Span {
    /// Index of the first line's reference.
    pub reference: usize,
    /// Number of lines after the first.
    pub further_lines: u64,
}

/// Some consecutive executions of a chunk, and their place in the chunk.
pub struct Literals {
    templates: Vec<ChunkTemplate>,
    /// The templates' references; those of data have no line yet.
    patterns: Vec<LineReference>,
    slots: Vec<Slot>,
    /// How many of the chunk's places, data accesses and explicit addresses are consumed.
    literals: usize,
    accesses: usize,
    explicit: usize,
    /// Number of executions.
    pub executions: u32,
    /// The function that the first one enters, if batches break at it.
    pub entered: Option<FunctionId>,
    /// Their references, followed by unused space.
    references: Vec<LineReference>,
    reference_count: usize,
    /// Those that reference more than one line.
    pub spans: Vec<Span>,
    /// Index of the first reference of each execution at a bound of the chunk, except the first
    /// execution.
    pub cuts: Vec<usize>,
    data: Vec<DataRef>,
    data_count: usize,
    /// The latest data addresses: the chunk's n-th is at index n modulo their number.
    recent: [u64; BASES],
}

impl Literals {
    /// Creates buffers for the templates of a trace.
    pub fn new(templates: &Templates) -> Literals {
        let room = ENOUGH + templates.longest() + COPIED_AT_ONCE;
        Literals {
            templates: Vec::new(),
            patterns: Vec::new(),
            slots: Vec::new(),
            literals: 0,
            accesses: 0,
            explicit: 0,
            executions: 0,
            entered: None,
            references: vec![LineReference::new(0, Kind::Fetch); room],
            reference_count: 0,
            spans: Vec::new(),
            cuts: Vec::new(),
            data: vec![DataRef(0); room],
            data_count: 0,
            recent: [0; BASES],
        }
    }

    /// Begins a chunk that was just decoded. `breaks` selects the functions to break at.
    pub fn begin_chunk(&mut self, templates: &Templates, chunk: &Chunk, breaks: &[bool]) {
        self.templates.clear();
        self.patterns.clear();
        self.slots.clear();
        (self.literals, self.accesses, self.explicit) = (0, 0, 0);
        self.recent = [0; BASES];
        for &number in &chunk.templates {
            let template = templates.get(number);
            let (first_reference, first_slot) = (self.patterns.len(), self.slots.len());
            for access in templates.accesses(&template) {
                if access.kind != Kind::Fetch {
                    self.slots.push(Slot {
                        history: AddressHistory::default(),
                        base: Base::new(chunk.bases[self.slots.len()]),
                        kind: access.kind,
                        hole: (self.patterns.len() - first_reference) as u16,
                        further_bytes: access.size_bytes - 1,
                    });
                }
                let line = access.address >> LINE_SHIFT;
                self.patterns.push(LineReference::new(line, access.kind));
            }
            let entry = template.entry.checked_sub(1);
            let breaks_here = entry.and_then(|function| breaks.get(function as usize));
            self.templates.push(ChunkTemplate {
                first_reference: first_reference as u32,
                first_slot: first_slot as u32,
                references: (self.patterns.len() - first_reference) as u16,
                data: (self.slots.len() - first_slot) as u16,
                entered: breaks_here.map_or(0, |&breaks| u32::from(breaks) * template.entry),
            });
        }
        let unused = LineReference::new(0, Kind::Fetch);
        self.patterns
            .resize(self.patterns.len() + COPIED_AT_ONCE, unused);
    }

    /// Plays at least one of the next `most` executions, which are literals. `bounds` has the
    /// chunk's next bounds, ascending, counted from the first of these executions.
    pub fn play(&mut self, chunk: &Chunk, most: u32, bounds: impl Iterator<Item = u32>) {
        let places = &chunk.places[self.literals..][..most as usize];
        self.lay_out(places, bounds);
        self.find_addresses(chunk);
        self.literals += self.executions as usize;
    }

    /// Returns the references of the executions, with one for an access that spans lines.
    pub fn references(&self) -> &[LineReference] {
        &self.references[..self.reference_count]
    }

    /// Writes the references of executions, without the lines of data, and collects the data
    /// accesses.
    fn lay_out(&mut self, places: &[u16], mut bounds: impl Iterator<Item = u32>) {
        let first = self.templates[usize::from(places[0])];
        self.entered = first.entered.checked_sub(1).map(FunctionId);
        let (mut references, mut data, mut executions) = (0, 0, 0);
        self.cuts.clear();
        let mut bound = bounds.next();
        for &place in places {
            let template = self.templates[usize::from(place)];
            if template.entered != 0 && executions > 0 {
                break;
            }
            if bound == Some(executions) {
                self.cuts.push(references);
                bound = bounds.next();
            }
            let pattern = &self.patterns[template.first_reference as usize..];
            let first = DataRef((references as u64) << 32 | u64::from(template.first_slot));
            let own = usize::from(template.references);
            let length = if own <= COPIED_AT_ONCE {
                COPIED_AT_ONCE
            } else {
                own
            };
            if own <= COPIED_AT_ONCE {
                self.references[references..references + COPIED_AT_ONCE]
                    .copy_from_slice(&pattern[..COPIED_AT_ONCE]);
                number(first, &mut self.data[data..data + COPIED_AT_ONCE]);
            } else {
                self.references[references..references + length]
                    .copy_from_slice(&pattern[..length]);
                number(
                    first,
                    &mut self.data[data..data + usize::from(template.data)],
                );
            }
            references += own;
            data += usize::from(template.data);
            executions += 1;
            if references >= ENOUGH {
                break;
            }
        }
        self.reference_count = references;
        self.data_count = data;
        self.executions = executions;
    }

    /// Computes the data addresses and writes their references.
    fn find_addresses(&mut self, chunk: &Chunk) {
        let count = self.data_count;
        let hows = &chunk.hows[self.accesses..][..count];
        let mut explicit = chunk.explicit[self.explicit..].iter();
        let explicit_before = explicit.len();
        let data = &self.data[..count];
        let slots = &mut self.slots[..];
        let references = &mut self.references[..];
        self.spans.clear();
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
                FROM_BASE => base.wrapping_add(slot.history.from_base),
                BY_STRIDE => slot.history.next_by_stride(),
                _ => {
                    let next = explicit.next().expect("as many as were counted");
                    next.address(slot.history.last)
                }
            };
            latest = address;
            slot.history.update(base, address);
            recent[position % BASES] = address;
            let reference = data.begin() + usize::from(slot.hole);
            let line = address >> LINE_SHIFT;
            references[reference] = LineReference::new(line, slot.kind);
            let in_line = address % (1 << LINE_SHIFT);
            if in_line + u64::from(slot.further_bytes) >= 1 << LINE_SHIFT {
                let last = address.saturating_add(u64::from(slot.further_bytes));
                let further_lines = (last >> LINE_SHIFT) - line;
                self.spans.push(Span {
                    reference,
                    further_lines,
                });
            }
        }
        self.recent = recent;
        self.accesses += count;
        self.explicit += explicit_before - explicit.len();
    }
}

/// Assigns consecutive slots, starting with `first`.
#[inline(always)]
fn number(first: DataRef, room: &mut [DataRef]) {
    for (place, data) in room.iter_mut().enumerate() {
        *data = DataRef(first.0 + place as u64);
    }
}
