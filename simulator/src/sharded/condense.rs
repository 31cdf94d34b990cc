//! One block of a trace as short streams of line touches, one for each residue.
//!
//! Lines of different *residues* (line number modulo a number that divides the set count of every
//! cache) never share a set of any cache, so each residue is a small world of its own, and its
//! touches in order are all that it must be told. Within a residue, a touch of the very line that
//! was touched last, by the same kind of access, in the same piece, changes nothing: the line is the
//! most recently used of its set, in the cache of that kind and in all the others where it ever
//! mattered, and it hits in the first level. It is dropped and only counted. So is a load after a
//! store of the line; a store after a load is not, because it must reach the other cores. A
//! *piece* is what a thread did without interruption: in it no core changes, whatever the plan.
//!
//! Three quarters of a recorded mariadbd's touches are dropped. Dropping more, such as fetches and
//! loads of two lines that alternate, is as exact, but saves another 8 % only and costs a branch.

use corehop_traces::{Kind, Listener, Touch};

/// What one thread did without interruption, between two functions that may move it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Index of the thread.
    pub thread: u32,
    /// The function it entered first, if that is one at which threads may be moved.
    pub entered: Option<u32>,
    /// The request it belongs to.
    pub request: Option<u32>,
    /// Lines touched, dropped ones included, by [`Kind`].
    pub touches: [u64; 3],
}

/// Marks, among the entries of a stream, that those after it are of another piece.
pub(crate) const NEW_PIECE: u64 = 3;

/// A block, condensed. Buffers are kept from one block to the next.
#[derive(Default)]
pub(crate) struct Condensed {
    /// Its pieces in the thread's order, each with the stamp of its run.
    pub pieces: Vec<(u64, Piece)>,
    /// Number of executions.
    pub executions: u64,
    streams: Vec<Stream>,
}

/// The touches of one residue: `quotient << 2 | kind`, where line = quotient * residues + residue;
/// or `index of the piece << 2 | NEW_PIECE`.
#[derive(Default)]
struct Stream {
    /// More room than is used, so that the loop that fills it need not ask.
    entries: Vec<u64>,
    used: usize,
}

impl Condensed {
    /// The stream of a residue.
    pub fn stream(&self, residue: usize) -> &[u64] {
        let stream = &self.streams[residue];
        &stream.entries[..stream.used]
    }
}

/// Condenses the block it listens to.
pub(crate) struct Condenser {
    condensed: Condensed,
    thread: u32,
    stamp: u64,
    /// Whether the touches to come may belong to the last piece.
    open: bool,
    /// `residues - 1`; residues are a power of two.
    mask: u64,
    shift: u32,
    /// By residue, the touch last kept in the open piece.
    last: Vec<u64>,
}

/// No touch: lines are addresses divided by 64, so the highest bits of a touch are zero.
const NONE: u64 = u64::MAX;

impl Condenser {
    /// Listens to a block of `thread`, and fills `room`, in which nothing is kept.
    pub fn new(thread: u32, residues: u64, mut room: Condensed) -> Condenser {
        assert!(residues.is_power_of_two(), "{residues} residues");
        room.pieces.clear();
        room.executions = 0;
        room.streams.resize_with(residues as usize, Stream::default);
        room.streams.iter_mut().for_each(|stream| stream.used = 0);
        Condenser {
            condensed: room,
            thread,
            stamp: 0,
            open: false,
            mask: residues - 1,
            shift: residues.trailing_zeros(),
            last: vec![NONE; residues as usize],
        }
    }

    /// What was heard.
    pub fn finish(self) -> Condensed {
        self.condensed
    }

    fn begin_piece(&mut self, request: Option<u32>, entered: Option<u32>) {
        let piece = Piece {
            thread: self.thread,
            entered,
            request,
            touches: [0; 3],
        };
        self.condensed.pieces.push((self.stamp, piece));
        self.last.fill(NONE);
        self.open = true;
    }

    /// Makes sure that every stream has room for `touches` more, and a mark.
    fn make_room(&mut self, touches: usize) {
        for stream in &mut self.condensed.streams {
            let needed = stream.used + touches + 1;
            if stream.entries.len() < needed {
                stream.entries.resize(needed.next_power_of_two(), 0);
            }
        }
    }
}

impl Listener for Condenser {
    fn run(&mut self, stamp: u64) {
        self.stamp = stamp;
        self.open = false;
    }

    fn played(
        &mut self,
        request: Option<u32>,
        entered: Option<u32>,
        executions: u32,
        touches: &[Touch],
    ) {
        let same = |(_, piece): &(u64, Piece)| piece.request == request;
        if !self.open || entered.is_some() || !self.condensed.pieces.last().is_some_and(same) {
            self.begin_piece(request, entered);
        }
        self.make_room(touches.len());
        self.condensed.executions += u64::from(executions);
        let count = |kind: Kind| touches.iter().filter(|touch| touch.kind() == kind).count() as u64;
        let (stores, fetches) = (count(Kind::Store), count(Kind::Fetch));
        let pieces = &mut self.condensed.pieces;
        let mark = (pieces.len() as u64 - 1) << 2 | NEW_PIECE;
        if let Some((_, piece)) = pieces.last_mut() {
            piece.touches[Kind::Fetch as usize] += fetches;
            piece.touches[Kind::Load as usize] += touches.len() as u64 - fetches - stores;
            piece.touches[Kind::Store as usize] += stores;
        }
        for &touch in touches {
            let residue = (touch.line() & self.mask) as usize;
            let (bits, last) = (touch.bits(), &mut self.last[residue]);
            let stream = &mut self.condensed.streams[residue];
            if *last == NONE {
                stream.entries[stream.used] = mark;
                stream.used += 1;
            }
            // A load is one less than a store of the same line.
            let keep = *last != bits && *last != bits + (bits & 1);
            stream.entries[stream.used] = touch.line() >> self.shift << 2 | bits & 3;
            stream.used += usize::from(keep);
            *last = if keep { bits } else { *last };
        }
    }
}
