//! One block of a trace as short streams of line touches, one for each residue.
//!
//! Lines of different *residues* (line number modulo a number that divides the set count of every
//! cache) never share a set of any cache, so each residue is a small world of its own, and its
//! touches in order are all that it must be told. Within a residue, a touch of the very line that
//! was touched last, by the same kind of access, in the same piece, changes nothing: it hits in the
//! first level, and a policy that sees a line twice in a row does as if it saw it once. It is
//! dropped and only counted. So is a load after a store of the line; a store after a load is not,
//! because it must reach the other cores. A *piece* is what a thread did without interruption: in
//! it no core changes, whatever the plan.
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
    /// By residue, its touches: `quotient << 2 | kind`, where line = quotient * residues + residue;
    /// and before those of each piece `index of the piece << 2 | NEW_PIECE`.
    pub streams: Vec<Vec<u64>>,
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
    shift: u32,
    tails: [Tail; RESIDUES],
    /// Room for the next entries of each residue, side by side.
    room: Vec<u64>,
    /// So many more touches fit, wherever they fall.
    fits: usize,
}

/// The most residues.
pub(crate) const RESIDUES: usize = 64;

/// Entries of a residue that are gathered before they go to its stream: 16 KiB.
const ROOM: usize = 1 << 11;

/// Where a residue's stream ends at present.
#[derive(Clone, Copy, Default)]
struct Tail {
    /// The touch last kept in the open piece.
    last: u64,
    /// Where its next entry goes.
    next: usize,
}

/// No touch: lines are addresses divided by 64, so the highest bits of a touch are zero.
const NONE: u64 = u64::MAX;

impl Condenser {
    /// Listens to a block of `thread`, and fills `condensed`, of which only the room is used.
    ///
    /// # Panics
    /// When `residues` is no power of two, or more than 64.
    pub fn new(thread: u32, residues: u64, mut condensed: Condensed) -> Condenser {
        let residues = residues as usize;
        assert!(
            residues.is_power_of_two() && residues <= RESIDUES,
            "{residues} residues"
        );
        condensed.pieces.clear();
        condensed.executions = 0;
        condensed.streams.resize_with(residues, Vec::new);
        condensed.streams.iter_mut().for_each(Vec::clear);
        let tail = |residue| Tail {
            last: NONE,
            next: residue * ROOM,
        };
        Condenser {
            condensed,
            thread,
            stamp: 0,
            open: false,
            mask: residues - 1,
            shift: residues.trailing_zeros(),
            tails: std::array::from_fn(tail),
            room: vec![0; residues * ROOM],
            fits: ROOM,
        }
    }

    /// What was heard.
    pub fn finish(mut self) -> Condensed {
        self.empty_room();
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
        self.tails.iter_mut().for_each(|tail| tail.last = NONE);
        self.open = true;
    }

    /// Moves what was gathered to the streams.
    fn empty_room(&mut self) {
        let tails = self.tails.iter_mut().zip(self.room.chunks(ROOM));
        for (residue, ((tail, room), stream)) in tails.zip(&mut self.condensed.streams).enumerate()
        {
            let first = residue * ROOM;
            stream.extend_from_slice(&room[..tail.next - first]);
            tail.next = first;
        }
        self.fits = ROOM;
    }

    /// Condenses touches of the open piece, at most as many as fit.
    fn condense(&mut self, touches: &[Touch]) {
        let mark = (self.condensed.pieces.len() as u64 - 1) << 2 | NEW_PIECE;
        let room = &mut self.room[..];
        for &touch in touches {
            let tail = &mut self.tails[(touch.line() as usize & self.mask) % RESIDUES];
            let bits = touch.bits();
            // A load is one less than a store of the same line.
            if tail.last == bits || tail.last == bits + (bits & 1) {
                continue;
            }
            if tail.last == NONE {
                room[tail.next] = mark;
                tail.next += 1;
            }
            tail.last = bits;
            room[tail.next] = touch.line() >> self.shift << 2 | bits & 3;
            tail.next += 1;
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
        self.condensed.executions += u64::from(executions);
        let count = |kind: Kind| touches.iter().filter(|touch| touch.kind() == kind).count() as u64;
        let (stores, fetches) = (count(Kind::Store), count(Kind::Fetch));
        if let Some((_, piece)) = self.condensed.pieces.last_mut() {
            piece.touches[Kind::Fetch as usize] += fetches;
            piece.touches[Kind::Load as usize] += touches.len() as u64 - fetches - stores;
            piece.touches[Kind::Store as usize] += stores;
        }
        for touches in touches.chunks(ROOM - 1) {
            // Each piece has one mark a residue besides its touches.
            if self.fits < touches.len() + 1 {
                self.empty_room();
            }
            self.fits -= (touches.len() + 1).min(self.fits);
            self.condense(touches);
        }
    }
}
