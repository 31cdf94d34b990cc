//! Numbers the pieces of memory, and finds the piece of each access.
//!
//! A replay asks at every load and store, so the answer is kept by line. A line usually belongs to
//! one piece; of one that belongs to several, such as one of small objects on the heap, it is kept
//! for each four bytes. What is kept is forgotten when an object on the heap begins or ends there.

use crate::heap::Sites;
use crate::heap_lines::HeapLines;
use crate::numbered::Numbered;
use crate::pieces::{Images, LinePiece, Piece};
use corehop_simulator::LineId;
use corehop_traces::execution::LINE_SHIFT;
use corehop_traces::{PAGE_SHIFT, Trace};
use std::ops::Range;

/// What was not accessed yet: a line, or a part of one.
const NOT_MET: u32 = u32::MAX;

/// A line on the heap that was accessed, and on which objects have begun or ended since.
const CHANGED: u32 = u32::MAX - 1;

/// Bit that is set for a line that belongs to several pieces; the others are its index in the
/// parts.
const SEVERAL: u32 = 1 << 31;

/// log2 of the size of a part of a line in bytes.
const PART_SHIFT: u32 = 2;

/// For each part of a line, its piece if it belongs to one, and was accessed.
type Parts = [u32; PARTS];

/// Number of parts of a line.
const PARTS: usize = 1 << (LINE_SHIFT - PART_SHIFT);

/// The pieces met so far.
pub(crate) struct NumberedPieces<'a> {
    trace: &'a Trace,
    images: &'a Images,
    heap: HeapLines<'a>,
    /// By line: its piece, or that it has several.
    of_line: Vec<u32>,
    parts: Vec<Parts>,
    /// Indices of `parts` that no line has any more.
    spare: Vec<u32>,
    all: Numbered<Piece>,
}

impl<'a> NumberedPieces<'a> {
    /// Before the first access; without heap sites, the heap is not divided.
    pub fn new(trace: &'a Trace, images: &'a Images, heap_sites: &'a Sites) -> NumberedPieces<'a> {
        NumberedPieces {
            trace,
            images,
            heap: HeapLines::new(trace, heap_sites),
            of_line: Vec::new(),
            parts: Vec::new(),
            spare: Vec::new(),
            all: Numbered::default(),
        }
    }

    /// Begins a run, or goes on with it: objects on the heap may have begun or ended.
    #[inline]
    pub fn run(&mut self, stamp: u64) {
        let (of_line, spare) = (&mut self.of_line, &mut self.spare);
        self.heap.run(stamp, |line| {
            let kept = std::mem::replace(&mut of_line[line.index()], CHANGED);
            if kept != CHANGED && kept & SEVERAL != 0 {
                spare.push(kept & !SEVERAL);
            }
        });
    }

    /// Returns the number of the piece that an access is to, in a line with this number in the
    /// trace: that of the line's first byte from `address` on.
    #[inline]
    pub fn find(&mut self, (line, number): (LineId, u64), address: u64) -> u32 {
        let kept = self.of_line.get(line.index()).copied();
        let kept = match kept.unwrap_or(NOT_MET) {
            NOT_MET => self.meet(line, number),
            CHANGED => {
                let pieces = self.heap.of_line(number);
                self.keep(line, pieces.unwrap_or(page_of(number)))
            }
            kept => kept,
        };
        match kept & SEVERAL {
            0 => kept,
            _ => self.find_part(kept & !SEVERAL, address.max(number << LINE_SHIFT)),
        }
    }

    /// Returns the number of the piece of this byte, in a line with these parts.
    fn find_part(&mut self, parts: u32, address: u64) -> u32 {
        let part = (address >> PART_SHIFT) as usize % PARTS;
        let kept = self.parts[parts as usize][part];
        if kept != NOT_MET {
            return kept;
        }
        let (piece, bytes) = self.piece_at(address);
        let number = self.number(piece);
        let first = address >> PART_SHIFT << PART_SHIFT;
        let mut of_part = first..first + (1 << PART_SHIFT);
        let is_whole = (bytes.start <= of_part.start && of_part.end <= bytes.end)
            || of_part.all(|byte| self.piece_at(byte).0 == piece);
        if is_whole {
            self.parts[parts as usize][part] = number;
        }
        number
    }

    /// Finds the pieces of a line that is accessed for the first time.
    #[cold]
    fn meet(&mut self, line: LineId, number: u64) -> u32 {
        if line.index() >= self.of_line.len() {
            self.of_line.resize(line.index() + 1, NOT_MET);
        }
        let pieces = match self.images.of_line(self.trace, number) {
            LinePiece::Whole(page @ Piece::Page(_)) => {
                self.heap.add(number, line);
                let of_heap = self.heap.of_line(number);
                of_heap.unwrap_or(LinePiece::Whole(page))
            }
            pieces => pieces,
        };
        self.keep(line, pieces)
    }

    /// Keeps the pieces of a line, and returns what is kept.
    fn keep(&mut self, line: LineId, pieces: LinePiece) -> u32 {
        let kept = match pieces {
            LinePiece::Whole(piece) => self.number(piece),
            LinePiece::Several => SEVERAL | self.new_parts(),
        };
        self.of_line[line.index()] = kept;
        kept
    }

    /// Returns the index of the parts of another line.
    fn new_parts(&mut self) -> u32 {
        let parts = [NOT_MET; PARTS];
        match self.spare.pop() {
            Some(index) => {
                self.parts[index as usize] = parts;
                index
            }
            None => {
                self.parts.push(parts);
                self.parts.len() as u32 - 1
            }
        }
    }

    /// Returns the piece at an address, and some of its bytes there.
    fn piece_at(&self, address: u64) -> (Piece, Range<u64>) {
        let byte = address..address + 1;
        match self.images.part_at(self.trace, address) {
            page @ Piece::Page(_) => self.heap.piece_at(address).unwrap_or((page, byte)),
            piece => (piece, byte),
        }
    }

    fn number(&mut self, piece: Piece) -> u32 {
        self.all.of(piece) as u32
    }

    /// Returns the pieces by number.
    pub fn all(&self) -> &[Piece] {
        self.all.all()
    }
}

/// Returns the page of a line outside all images, by the line's number.
fn page_of(line: u64) -> LinePiece {
    LinePiece::Whole(Piece::Page(line >> (PAGE_SHIFT - LINE_SHIFT)))
}
