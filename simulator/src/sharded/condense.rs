//! One block of a trace as short streams of line touches, one for each residue.
//!
//! Each residue of lines is a small world of its own ([`Thinner`] says why), and its touches in
//! order are all that it must be told, but those that change nothing. A *piece* is what a thread
//! did without interruption: in it no core changes, whatever the plan.

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

/// Marks, among the entries of a stream, that those after it are of another piece.
pub(crate) const NEW_PIECE: u64 = 3;

/// A block, condensed. Buffers are kept from one block to the next.
#[derive(Default)]
pub(crate) struct Condensed {
    /// Its pieces in the thread's order, each with the stamp of its run.
    pub pieces: Vec<(u64, Piece)>,
    /// Number of executions.
    pub executions: u64,
    /// By residue, [`Touch::bits`] of its touches, and before those of each piece
    /// `index of the piece << 2 | NEW_PIECE`.
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
    /// Has heard of the open piece.
    thinner: Thinner,
    /// The touches kept of those at hand.
    kept: Box<[Touch; ROOM]>,
    tails: [Tail; RESIDUES],
    /// Room for the next entries of each residue, side by side.
    room: Vec<u64>,
    /// So many more touches fit, wherever they fall.
    fits: usize,
}

/// The most residues.
pub(crate) const RESIDUES: usize = Thinner::MOST_RESIDUES;

/// Touches condensed at a time.
const ROOM: usize = Thinner::AT_ONCE;

/// Entries of a residue that are gathered before they go to its stream. Not a power of two, which
/// would put all residues' rooms into the same few sets of the host's first-level cache.
const STRIDE: usize = 2 * ROOM + 8;

/// Where a residue's stream ends at present.
#[derive(Clone, Copy, Default)]
struct Tail {
    /// Its last mark.
    mark: u64,
    /// Where its next entry goes.
    next: usize,
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
            mark: 0,
            next: residue * STRIDE,
        };
        Condenser {
            condensed: Condensed::default(),
            thread: 0,
            stamp: 0,
            open: false,
            mask: residues - 1,
            thinner,
            kept: Box::new([Touch::new(0, Kind::Fetch); ROOM]),
            tails: std::array::from_fn(tail),
            room: vec![0; residues * STRIDE],
            fits: STRIDE,
        }
    }

    /// Begins to listen to a block of `thread`, of so many executions. Of `condensed`, only the
    /// room is used.
    pub fn begin(&mut self, thread: u32, executions: u32, mut condensed: Condensed) {
        condensed.pieces.clear();
        condensed.executions = 0;
        condensed.streams.resize_with(self.mask + 1, Vec::new);
        // Of an execution's touches about one is kept.
        let expected = executions as usize / condensed.streams.len();
        for stream in &mut condensed.streams {
            stream.clear();
            stream.reserve(expected);
        }
        self.condensed = condensed;
        self.thread = thread;
        self.open = false;
        self.tails.iter_mut().for_each(|tail| tail.mark = 0);
    }

    /// What was heard since it began.
    pub fn finish(&mut self) -> Condensed {
        self.empty_room();
        std::mem::take(&mut self.condensed)
    }

    fn begin_piece(&mut self, played: &Played<'_>) {
        let piece = Piece {
            thread: self.thread,
            entered: played.entered,
            number: played.number,
            request: played.request,
            touches: [0; 3],
        };
        self.condensed.pieces.push((self.stamp, piece));
        self.thinner.forget();
        self.open = true;
    }

    /// Moves what was gathered to the streams.
    fn empty_room(&mut self) {
        let tails = self.tails.iter_mut().zip(self.room.chunks(STRIDE));
        for (residue, ((tail, room), stream)) in tails.zip(&mut self.condensed.streams).enumerate()
        {
            let first = residue * STRIDE;
            stream.extend_from_slice(&room[..tail.next - first]);
            tail.next = first;
        }
        self.fits = STRIDE;
    }

    /// Appends the first `count` touches kept to the streams of their residues.
    fn distribute(&mut self, count: usize) {
        let mark = (self.condensed.pieces.len() as u64 - 1) << 2 | NEW_PIECE;
        if self.fits < 2 * count {
            self.empty_room();
        }
        self.fits -= 2 * count;
        let (mask, room) = (self.mask & (RESIDUES - 1), &mut self.room[..]);
        for touch in &self.kept[..count] {
            let bits = touch.bits();
            let tail = &mut self.tails[(bits >> 2) as usize & mask];
            // The mark is put down in any case, and only gone past where it is a new one.
            let next = tail.next + usize::from(tail.mark != mark);
            room[tail.next] = mark;
            room[next] = bits;
            *tail = Tail {
                mark,
                next: next + 1,
            };
        }
    }
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
        for touches in played.touches.chunks(ROOM) {
            let count = self.thinner.thin(touches, &mut self.kept);
            self.distribute(count);
        }
    }
}
