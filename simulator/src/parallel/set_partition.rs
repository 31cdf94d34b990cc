//! One set partition: its lines, numbered densely, and its references in replay order.

use super::order::{PlacedPiece, ReplayOrder};
use crate::filters::entry::{Entry, NEW_PIECE, PIECE};
use crate::hierarchy::lines::Lines;

/// Number of lines whose ids are found without hashing. With 64 set partitions, this is 64 KiB for
/// each host thread at a time.
const RECENT_LINES: usize = 1 << 10;

/// The lines of one set partition, and the read position in its stream of each waiting chunk.
pub(crate) struct SetPartition {
    index: usize,
    /// Number of bits of a reference below its line's quotient.
    shift: u32,
    /// Quotients of line numbers, indexed by line id.
    pub lines: Lines,
    /// For each waiting chunk, the read position.
    read: Vec<usize>,
}

impl SetPartition {
    /// Creates set partition `index` of `count`, a power of two, without lines.
    pub fn new(index: u64, count: u64) -> SetPartition {
        SetPartition {
            index: index as usize,
            shift: 2 + count.trailing_zeros(),
            lines: Lines::new(RECENT_LINES),
            read: Vec::new(),
        }
    }

    /// Returns the numbers of its lines, from the line with id `first`.
    pub fn line_numbers(&self, first: usize) -> impl Iterator<Item = u64> {
        let of = |&quotient: &u64| quotient << (self.shift - 2) | self.index as u64;
        self.lines.numbers()[first..].iter().map(of)
    }

    /// Appends the references of the placed pieces; the first piece has the index `first_piece`.
    pub fn gather(
        &mut self,
        order: &ReplayOrder,
        placed: &[PlacedPiece],
        first_piece: usize,
        entries: &mut Vec<Entry>,
    ) {
        self.read.resize(order.chunks(), 0);
        for (index, place) in (first_piece..).zip(placed) {
            let read = &mut self.read[place.chunk as usize];
            let stream = &order.chunk(place.chunk).streams[self.index];
            // A piece without references in this set partition has no mark.
            if stream.from(*read).first() != Some(&(u64::from(place.piece) << 2 | NEW_PIECE)) {
                continue;
            }
            entries.push(packed(index, PIECE));
            *read += 1;
            loop {
                let rest = stream.from(*read);
                let end = rest.iter().position(|entry| entry & 3 == NEW_PIECE);
                let references = &rest[..end.unwrap_or(rest.len())];
                entries.extend(references.iter().map(|&reference| {
                    let line = self.lines.id(reference >> self.shift, |_| ());
                    line.0 << 2 | (reference & 3) as u32
                }));
                *read += references.len();
                if end.is_some() || rest.is_empty() {
                    break;
                }
            }
        }
    }

    /// Forgets the chunks that do not stay.
    pub fn release(&mut self, staying: &[bool]) {
        let mut stays = staying.iter();
        self.read.retain(|_| *stays.next().unwrap_or(&false));
    }
}

fn packed(index: usize, kind: u32) -> Entry {
    let index = u32::try_from(index).ok().filter(|&index| index < 1 << 30);
    index.expect("fewer than 2^30 pieces and lines of a set partition") << 2 | kind
}
