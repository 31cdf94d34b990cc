//! Trace reduction: converts one chunk of a trace to short streams of line references, one for each
//! set partition.
//!
//! References that change nothing in any cache are dropped, as in the filters of Puzak ("Analysis
//! of cache replacement-algorithms", 1985) and of Wang and Baer ("Efficient trace-driven simulation
//! methods for cache performance analysis", 1991). Set partitions are simulated separately
//! ([`TraceFilter`] explains why), so each needs only its remaining references, in order. A *piece*
//! is what a thread executes without interruption: within it no core changes under any plan.

use super::entry::NEW_PIECE;
use super::stream::EntryStream;
use corehop_traces::{
    FunctionId, Kind, LineReference, Listener, Played, RequestId, ThreadId, TraceFilter,
};

/// The uninterrupted work of one thread between two places at which it may move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The thread.
    pub thread: ThreadId,
    /// The function it entered first, if threads may move there.
    pub entered: Option<FunctionId>,
    /// Number of the thread's executions before it.
    pub number: u64,
    /// The request it belongs to.
    pub request: Option<RequestId>,
    /// Number of lines referenced by [`corehop_traces::Kind`], including dropped references.
    pub references: [u64; 3],
}

/// A reduced chunk. Buffers are reused for the next chunk.
#[derive(Default)]
pub(crate) struct ReducedChunk {
    /// Its pieces in the thread's order, each with the stamp of its run.
    pub pieces: Vec<(u64, Piece)>,
    /// For each set partition, the [`LineReference::bits`] of its references; each piece is
    /// preceded by `index of the piece << 2 | NEW_PIECE`.
    pub streams: Vec<EntryStream>,
}

/// A listener that reduces the chunk it receives.
pub(crate) struct Reducer {
    reduced: ReducedChunk,
    thread: ThreadId,
    stamp: u64,
    /// Whether the next references may belong to the last piece.
    open: bool,
    /// `set_partition_count - 1`; the count is a power of two.
    mask: usize,
    /// The filter, with the state of the open piece.
    filter: TraceFilter,
    /// References of the open piece that are not in the room yet, followed by unused space.
    kept: Box<[LineReference; ENOUGH + TraceFilter::AT_ONCE]>,
    kept_count: usize,
    tails: [Tail; SET_PARTITIONS_MAXIMUM],
    /// Buffers for the next entries of each set partition, next to each other.
    room: Vec<u64>,
    /// Pages that belong to no stream.
    spare: Vec<Vec<u64>>,
}

/// The maximum number of set partitions.
pub(crate) const SET_PARTITIONS_MAXIMUM: usize = TraceFilter::MAX_SET_PARTITIONS;

/// Size of the room of a set partition: the entries that are appended to its stream at once, plus
/// one or two that may be written before it is found to be full. It is not a power of two, which
/// would map the rooms of all set partitions to the same few sets of the host's first-level cache.
const STRIDE: usize = EntryStream::AT_ONCE + 8;

/// Number of kept references that are distributed at once: the end of a short loop is mispredicted.
const ENOUGH: usize = 512;

/// Marks the absence of a position in the room.
const NOWHERE: u32 = u32::MAX;

/// The current end of a set partition's stream.
#[derive(Clone, Copy)]
struct Tail {
    /// Position of its next reference.
    next: u32,
    /// Position right after the mark of the open piece, for detecting that the piece has no
    /// references here.
    unless_kept: u32,
    /// Position of the last reference before its room is emptied, if no mark is written there.
    last: u32,
}

impl Reducer {
    /// Creates a reducer for lines of `set_partition_count` set partitions.
    ///
    /// # Panics
    /// If `set_partition_count` is not a power of two, or is more than 64.
    pub fn new(set_partition_count: u64) -> Reducer {
        let filter = TraceFilter::new(set_partition_count);
        let set_partition_count = set_partition_count as usize;
        let tail = |set_partition| Tail {
            next: (set_partition * STRIDE) as u32,
            unless_kept: NOWHERE,
            last: (set_partition * STRIDE + EntryStream::AT_ONCE) as u32 - 1,
        };
        Reducer {
            reduced: ReducedChunk::default(),
            thread: ThreadId(0),
            stamp: 0,
            open: false,
            mask: set_partition_count - 1,
            filter,
            kept: Box::new([LineReference::new(0, Kind::Fetch); ENOUGH + TraceFilter::AT_ONCE]),
            kept_count: 0,
            tails: std::array::from_fn(tail),
            room: vec![0; set_partition_count * STRIDE],
            spare: Vec::new(),
        }
    }

    /// Begins a chunk of `thread`. Only the buffers of `reduced` are used.
    pub fn begin(&mut self, thread: ThreadId, mut reduced: ReducedChunk) {
        reduced.pieces.clear();
        let streams = &mut reduced.streams;
        streams.resize_with(self.mask + 1, EntryStream::default);
        streams
            .iter_mut()
            .for_each(|stream| stream.empty(&mut self.spare));
        self.reduced = reduced;
        self.thread = thread;
        self.open = false;
    }

    /// Returns the reduced chunk.
    pub fn finish(&mut self) -> ReducedChunk {
        self.end_piece();
        for set_partition in 0..=self.mask {
            let first = set_partition * STRIDE;
            let entries = &self.room[first..self.tails[set_partition].next as usize];
            if !entries.is_empty() {
                self.reduced.streams[set_partition].append(entries, &mut self.spare);
            }
            self.tails[set_partition].next = first as u32;
        }
        std::mem::take(&mut self.reduced)
    }

    fn begin_piece(&mut self, played: &Played<'_>) {
        self.end_piece();
        let piece = Piece {
            thread: self.thread,
            entered: played.entered,
            number: played.number,
            request: played.request,
            references: [0; 3],
        };
        self.reduced.pieces.push((self.stamp, piece));
        let mark = (self.reduced.pieces.len() as u64 - 1) << 2 | NEW_PIECE;
        for tail in &mut self.tails[..=self.mask] {
            self.room[tail.next as usize] = mark;
            tail.next += 1;
            tail.unless_kept = tail.next;
        }
        self.filter.forget();
        self.open = true;
    }

    /// Ends the last piece: removes its mark from streams without its references.
    fn end_piece(&mut self) {
        self.distribute();
        for tail in &mut self.tails {
            tail.next -= u32::from(tail.next == tail.unless_kept);
            tail.unless_kept = NOWHERE;
        }
    }

    /// Appends the kept references to the streams of their set partitions.
    fn distribute(&mut self) {
        let mask = self.mask & (SET_PARTITIONS_MAXIMUM - 1);
        let (room, tails) = (&mut self.room[..], &mut self.tails);
        let kept = &self.kept[..std::mem::take(&mut self.kept_count)];
        for reference in kept {
            let bits = reference.bits();
            let set_partition = (bits >> 2) as usize & mask;
            let tail = &mut tails[set_partition];
            let next = tail.next;
            room[next as usize] = bits;
            tail.next = next + 1;
            if next >= tail.last {
                let stream = &mut self.reduced.streams[set_partition];
                let room = &mut room[set_partition * STRIDE..][..STRIDE];
                empty_room(tail, room, stream, &mut self.spare);
            }
        }
    }
}

/// Moves the entries in the room of a set partition to its stream.
#[cold]
#[inline(never)]
fn empty_room(
    tail: &mut Tail,
    room: &mut [u64],
    stream: &mut EntryStream,
    spare: &mut Vec<Vec<u64>>,
) {
    stream.append(&room[..EntryStream::AT_ONCE], spare);
    // A reference may follow a mark that filled the room.
    room[0] = room[EntryStream::AT_ONCE];
    tail.next -= EntryStream::AT_ONCE as u32;
    tail.unless_kept = NOWHERE;
}

impl Listener for Reducer {
    fn run(&mut self, stamp: u64) {
        self.stamp = stamp;
        self.open = false;
    }

    fn played(&mut self, played: Played<'_>) {
        let same = |(_, piece): &(u64, Piece)| piece.request == played.request;
        let goes_on = self.open && played.entered.is_none() && !played.returned;
        if !goes_on || !self.reduced.pieces.last().is_some_and(same) {
            self.begin_piece(&played);
        }
        if let Some((_, piece)) = self.reduced.pieces.last_mut() {
            for (sum, count) in piece.references.iter_mut().zip(played.counts) {
                *sum += count;
            }
        }
        for references in played.references.chunks(TraceFilter::AT_ONCE) {
            let kept = self.kept[self.kept_count..].first_chunk_mut();
            self.kept_count += self.filter.strip(references, kept.expect("room for all"));
            if self.kept_count >= ENOUGH {
                self.distribute();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET_PARTITIONS: usize = 4;
    const KINDS: [Kind; 3] = [Kind::Fetch, Kind::Load, Kind::Store];

    /// Pieces of most lengths from zero references to more than a room holds.
    fn pieces() -> Vec<Vec<LineReference>> {
        let mut state = 7u32;
        let mut random = move |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        let lengths = (0..3000).map(|piece| [3, 40, 2500][piece % 3]);
        let lengths: Vec<u32> = lengths.map(&mut random).collect();
        let mut piece = |length: u32| {
            let reference = |_| LineReference::new(random(24).into(), KINDS[random(3) as usize]);
            (0..length).map(reference).collect()
        };
        lengths.into_iter().map(&mut piece).collect()
    }

    #[test]
    fn every_piece_is_found_again_in_the_streams_of_its_set_partitions() {
        let mut reducer = Reducer::new(SET_PARTITIONS as u64);
        let mut expected = vec![Vec::new(); SET_PARTITIONS];
        // Twice, because rooms are reused.
        let mut reduced = ReducedChunk::default();
        for _ in 0..2 {
            reducer.begin(ThreadId(0), std::mem::take(&mut reduced));
            reducer.run(0);
            expected.iter_mut().for_each(Vec::clear);
            for (index, references) in pieces().iter().enumerate() {
                reducer.played(Played {
                    request: None,
                    number: index as u64,
                    returned: false,
                    entered: Some(FunctionId(0)),
                    executions: 1,
                    references,
                    counts: [0; 3],
                });
                let mut last = [None; SET_PARTITIONS];
                for &reference in references {
                    let set_partition = reference.line() as usize % SET_PARTITIONS;
                    let (stream, last) = (&mut expected[set_partition], &mut last[set_partition]);
                    if last.is_none() {
                        stream.push((index as u64) << 2 | NEW_PIECE);
                    }
                    let stored = LineReference::new(reference.line(), Kind::Store);
                    let loads_stored = reference.kind() == Kind::Load && *last == Some(stored);
                    if *last != Some(reference) && !loads_stored {
                        stream.push(reference.bits());
                        *last = Some(reference);
                    }
                }
            }
            reduced = reducer.finish();
        }
        for (stream, expected) in reduced.streams.iter().zip(&expected) {
            let mut entries = Vec::new();
            while !stream.from(entries.len()).is_empty() {
                entries.extend_from_slice(stream.from(entries.len()));
            }
            assert!(entries.len() > 4096);
            assert_eq!(&entries, expected);
        }
    }
}
