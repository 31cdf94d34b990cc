//! One block of a trace as short streams of line touches, one for each residue.
//!
//! Each residue of lines is simulated by itself ([`Thinner`] says why), and its touches in order
//! are all that it must be told, but those that change nothing. A *piece* is what a thread did
//! without interruption: in it no core changes, whatever the plan.

use super::entry::NEW_PIECE;
use super::stream::Stream;
use corehop_traces::{Kind, Listener, Played, Thinner, Touch};

/// What one thread did without interruption, between two places at which it may be moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Index of the thread.
    pub thread: u32,
    /// The function it entered first, if that is one at which threads may be moved.
    pub entered: Option<u32>,
    /// Executions of the thread before it.
    pub number: u64,
    /// The request it belongs to.
    pub request: Option<u32>,
    /// Lines touched, dropped ones included, by [`corehop_traces::Kind`].
    pub touches: [u64; 3],
}

/// A block, condensed. Buffers are kept from one block to the next.
#[derive(Default)]
pub(crate) struct Condensed {
    /// Its pieces in the thread's order, each with the stamp of its run.
    pub pieces: Vec<(u64, Piece)>,
    /// Number of executions.
    pub executions: u64,
    /// By residue, [`Touch::bits`] of its touches, and before those of each piece
    /// `index of the piece << 2 | NEW_PIECE`.
    pub streams: Vec<Stream>,
}

/// Condenses the block it listens to.
pub(crate) struct Condenser {
    condensed: Condensed,
    thread: u32,
    stamp: u64,
    /// Whether the touches to come may belong to the last piece.
    open: bool,
    /// `residues - 1`; residues are a power of two.
    mask: usize,
    /// Has heard of the open piece.
    thinner: Thinner,
    /// Touches of the open piece that are not in the room yet, and then unused room.
    kept: Box<[Touch; ENOUGH + Thinner::AT_ONCE]>,
    kept_count: usize,
    tails: [Tail; RESIDUES],
    /// Room for the next entries of each residue, side by side.
    room: Vec<u64>,
    /// Memory of no stream.
    spare: Vec<Vec<u64>>,
}

/// The most residues.
pub(crate) const RESIDUES: usize = Thinner::MOST_RESIDUES;

/// Entries of a residue that there is room for: what goes to its stream at once, and one or two
/// that may come before it is seen to be full. Not a power of two, which would put all residues'
/// rooms into the same few sets of the host's first-level cache.
const STRIDE: usize = Stream::AT_ONCE + 8;

/// So many touches kept are put into the room at once: a loop over few ends at an unforeseen place.
const ENOUGH: usize = 512;

/// No place in the room.
const NOWHERE: u32 = u32::MAX;

/// Where a residue's stream ends at present.
#[derive(Clone, Copy)]
struct Tail {
    /// Where its next touch goes.
    next: u32,
    /// Where that is if nothing of the open piece is there yet, right after the piece's mark.
    unless_kept: u32,
    /// Where the last touch goes before its room is emptied, if no mark goes there.
    last: u32,
}

impl Condenser {
    /// A condenser of lines of so many `residues`.
    ///
    /// # Panics
    /// When `residues` is no power of two, or more than 64.
    pub fn new(residues: u64) -> Condenser {
        let thinner = Thinner::new(residues);
        let residues = residues as usize;
        let tail = |residue| Tail {
            next: (residue * STRIDE) as u32,
            unless_kept: NOWHERE,
            last: (residue * STRIDE + Stream::AT_ONCE) as u32 - 1,
        };
        Condenser {
            condensed: Condensed::default(),
            thread: 0,
            stamp: 0,
            open: false,
            mask: residues - 1,
            thinner,
            kept: Box::new([Touch::new(0, Kind::Fetch); ENOUGH + Thinner::AT_ONCE]),
            kept_count: 0,
            tails: std::array::from_fn(tail),
            room: vec![0; residues * STRIDE],
            spare: Vec::new(),
        }
    }

    /// Begins to listen to a block of `thread`. Of `condensed`, only the room is used.
    pub fn begin(&mut self, thread: u32, mut condensed: Condensed) {
        condensed.pieces.clear();
        condensed.executions = 0;
        let streams = &mut condensed.streams;
        streams.resize_with(self.mask + 1, Stream::default);
        streams
            .iter_mut()
            .for_each(|stream| stream.empty(&mut self.spare));
        self.condensed = condensed;
        self.thread = thread;
        self.open = false;
    }

    /// What was heard since it began.
    pub fn finish(&mut self) -> Condensed {
        self.end_piece();
        for residue in 0..=self.mask {
            let first = residue * STRIDE;
            let entries = &self.room[first..self.tails[residue].next as usize];
            if !entries.is_empty() {
                self.condensed.streams[residue].append(entries, &mut self.spare);
            }
            self.tails[residue].next = first as u32;
        }
        std::mem::take(&mut self.condensed)
    }

    fn begin_piece(&mut self, played: &Played<'_>) {
        self.end_piece();
        let piece = Piece {
            thread: self.thread,
            entered: played.entered,
            number: played.number,
            request: played.request,
            touches: [0; 3],
        };
        self.condensed.pieces.push((self.stamp, piece));
        let mark = (self.condensed.pieces.len() as u64 - 1) << 2 | NEW_PIECE;
        for tail in &mut self.tails[..=self.mask] {
            self.room[tail.next as usize] = mark;
            tail.next += 1;
            tail.unless_kept = tail.next;
        }
        self.thinner.forget();
        self.open = true;
    }

    /// Nothing more is of the last piece: takes back its mark where nothing was.
    fn end_piece(&mut self) {
        self.distribute();
        for tail in &mut self.tails {
            tail.next -= u32::from(tail.next == tail.unless_kept);
            tail.unless_kept = NOWHERE;
        }
    }

    /// Appends the touches kept to the streams of their residues.
    fn distribute(&mut self) {
        let mask = self.mask & (RESIDUES - 1);
        let (room, tails) = (&mut self.room[..], &mut self.tails);
        let kept = &self.kept[..std::mem::take(&mut self.kept_count)];
        for touch in kept {
            let bits = touch.bits();
            let residue = (bits >> 2) as usize & mask;
            let tail = &mut tails[residue];
            let next = tail.next;
            room[next as usize] = bits;
            tail.next = next + 1;
            if next >= tail.last {
                let stream = &mut self.condensed.streams[residue];
                let room = &mut room[residue * STRIDE..][..STRIDE];
                empty_room(tail, room, stream, &mut self.spare);
            }
        }
    }
}

/// Moves what has gathered in the room of a residue to its stream.
#[cold]
#[inline(never)]
fn empty_room(tail: &mut Tail, room: &mut [u64], stream: &mut Stream, spare: &mut Vec<Vec<u64>>) {
    stream.append(&room[..Stream::AT_ONCE], spare);
    // A touch may have come after a mark that filled it.
    room[0] = room[Stream::AT_ONCE];
    tail.next -= Stream::AT_ONCE as u32;
    tail.unless_kept = NOWHERE;
}

impl Listener for Condenser {
    fn run(&mut self, stamp: u64) {
        self.stamp = stamp;
        self.open = false;
    }

    fn played(&mut self, played: Played<'_>) {
        let same = |(_, piece): &(u64, Piece)| piece.request == played.request;
        let goes_on = self.open && played.entered.is_none() && !played.returned;
        if !goes_on || !self.condensed.pieces.last().is_some_and(same) {
            self.begin_piece(&played);
        }
        self.condensed.executions += u64::from(played.executions);
        if let Some((_, piece)) = self.condensed.pieces.last_mut() {
            for (sum, count) in piece.touches.iter_mut().zip(played.counts) {
                *sum += count;
            }
        }
        for touches in played.touches.chunks(Thinner::AT_ONCE) {
            let kept = self.kept[self.kept_count..].first_chunk_mut();
            self.kept_count += self.thinner.thin(touches, kept.expect("room for all"));
            if self.kept_count >= ENOUGH {
                self.distribute();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESIDUES: usize = 4;
    const KINDS: [Kind; 3] = [Kind::Fetch, Kind::Load, Kind::Store];

    /// Pieces of most lengths between no touches and more than a room holds.
    fn pieces() -> Vec<Vec<Touch>> {
        let mut state = 7u32;
        let mut random = move |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        let lengths = (0..3000).map(|piece| [3, 40, 2500][piece % 3]);
        let lengths: Vec<u32> = lengths.map(&mut random).collect();
        let mut piece = |length: u32| {
            let touch = |_| Touch::new(random(24).into(), KINDS[random(3) as usize]);
            (0..length).map(touch).collect()
        };
        lengths.into_iter().map(&mut piece).collect()
    }

    #[test]
    fn every_piece_is_found_again_in_the_streams_of_its_residues() {
        let mut condenser = Condenser::new(RESIDUES as u64);
        let mut expected = vec![Vec::new(); RESIDUES];
        // Twice, since rooms are used again.
        let mut condensed = Condensed::default();
        for _ in 0..2 {
            condenser.begin(0, std::mem::take(&mut condensed));
            condenser.run(0);
            expected.iter_mut().for_each(Vec::clear);
            for (index, touches) in pieces().iter().enumerate() {
                condenser.played(Played {
                    request: None,
                    number: index as u64,
                    returned: false,
                    entered: Some(0),
                    executions: 1,
                    touches,
                    counts: [0; 3],
                });
                let mut last = [None; RESIDUES];
                for &touch in touches {
                    let residue = touch.line() as usize % RESIDUES;
                    let (stream, last) = (&mut expected[residue], &mut last[residue]);
                    if last.is_none() {
                        stream.push((index as u64) << 2 | NEW_PIECE);
                    }
                    let stored = Touch::new(touch.line(), Kind::Store);
                    let loads_stored = touch.kind() == Kind::Load && *last == Some(stored);
                    if *last != Some(touch) && !loads_stored {
                        stream.push(touch.bits());
                        *last = Some(touch);
                    }
                }
            }
            condensed = condenser.finish();
        }
        for (stream, expected) in condensed.streams.iter().zip(&expected) {
            let mut entries = Vec::new();
            while !stream.from(entries.len()).is_empty() {
                entries.extend_from_slice(stream.from(entries.len()));
            }
            assert!(entries.len() > 4096);
            assert_eq!(&entries, expected);
        }
    }
}
