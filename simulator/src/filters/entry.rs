//! The entries of a stream of references: a reference to a line, or the mark of a piece.

use crate::ids::LineId;
use corehop_traces::Kind;

/// Kind bits that mark the start of another piece in a stream.
pub(crate) const NEW_PIECE: u64 = 3;

/// An entry of a set partition's stream: `line id << 2 | kind`, or `index of the piece << 2 | 3`.
pub(crate) type Entry = u32;

/// The kind bits of an entry that is not a reference.
pub(crate) const PIECE: u32 = NEW_PIECE as u32;

/// Returns the kind of an entry that is a reference. It uses a table, because the next kind is hard
/// for a processor to predict.
#[inline(always)]
pub(crate) fn kind(entry: Entry) -> Kind {
    const KINDS: [Kind; 4] = [Kind::Fetch, Kind::Load, Kind::Store, Kind::Store];
    KINDS[(entry & 3) as usize]
}

/// Returns the line of an entry that is a reference.
#[inline(always)]
pub(crate) fn line(entry: Entry) -> LineId {
    LineId(entry >> 2)
}

/// Returns each piece of a stream: its mark and its references.
pub(crate) fn pieces(entries: &[Entry]) -> impl Iterator<Item = (Entry, &[Entry])> {
    let pieces = entries.chunk_by(|_, next| next & 3 != PIECE);
    pieces.map(|piece| (piece[0], &piece[1..]))
}
