//! The searched requests, prepared once so that each split costs little.
//!
//! Between two calls of candidates a thread cannot change core under any split, so that stretch, an
//! *occurrence* of a segment, is the unit that splits move about. The stream keeps the replay order
//! as *pieces*: uninterrupted parts of one occurrence (other threads run between them).
//!
//! Within a piece, an access to the line last accessed among all lines with the same *residue*
//! (line number modulo a divisor of all set counts) finds that line last touched in every cache it
//! could be in, and changes nothing by any policy if it is of the same type: it is dropped.
//! Lines of different residues never share a set of any private cache, which is why the residue's
//! own order is all that matters. Fetches and data use different L1 caches and are different types;
//! a load after a store of the line is dropped, a store after a load is not (it must reach the
//! other cores).
//! L2 misses, which the search ranks by, are the same with and without the dropped accesses.
//!
//! The searched requests come [`ROUNDS`] times over, because ten requests are too few to warm the
//! caches: in one round most misses are first touches, which every further core repeats, and
//! ranking by them shies away from splits that win in a long run.

use corehop_simulator::Machine;
use corehop_traces::{Error, Kind, Trace};
use std::collections::HashMap;
use std::ops::Range;

/// How often the searched requests are replayed in a row; all rounds count.
pub const ROUNDS: usize = 2;

/// One access to one line: the line's place in [`Stream::lines`], and the kind in the low two bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineAccess(u32);

impl LineAccess {
    fn new(line: u32, kind: Kind) -> Self {
        assert!(line < 1 << 30, "more lines than a stream can number");
        LineAccess(line << 2 | kind as u32)
    }

    /// The line, as an index into [`Stream::lines`].
    pub fn line(self) -> u32 {
        self.0 >> 2
    }

    /// Fetch, load or store.
    pub fn kind(self) -> Kind {
        match self.0 & 3 {
            0 => Kind::Fetch,
            1 => Kind::Load,
            _ => Kind::Store,
        }
    }
}

/// What a thread did between two candidate calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The thread, as the trace numbers it.
    pub thread: u32,
    /// The candidate whose call began it, as an index into the searched functions; `None` for what
    /// a thread did before its first.
    pub candidate: Option<u32>,
}

/// An uninterrupted part of an occurrence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Index of the occurrence.
    pub occurrence: u32,
    /// Its accesses.
    pub accesses: Range<usize>,
    /// The lines it stores to, each once: all that a core on which it does not run sees of it.
    pub stores: Range<usize>,
}

/// The searched requests in replay order, round after round.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// In order of their beginning.
    pub occurrences: Vec<Occurrence>,
    /// In replay order.
    pub pieces: Vec<Piece>,
    /// Line numbers (addresses divided by 64), each once, in the order of their first touch.
    pub lines: Vec<u64>,
    /// Condensed accesses of all pieces.
    pub accesses: Vec<LineAccess>,
    /// Stored lines of all pieces, as indices into `lines`.
    pub stores: Vec<u32>,
    /// Number of line accesses before condensing.
    pub uncondensed: u64,
}

impl Stream {
    /// Prepares [`ROUNDS`] rounds of `requests`, for splits at the entries of `functions` on
    /// `machine`.
    ///
    /// # Errors
    /// What reading the trace says.
    pub fn of(
        trace: &Trace,
        requests: &[u32],
        functions: &[u32],
        machine: &Machine,
    ) -> Result<Stream, Error> {
        let candidates: HashMap<u32, u32> = functions.iter().copied().zip(0..).collect();
        let mut builder = Builder::new(residues(machine));
        for _ in 0..ROUNDS {
            let mut executions = trace.executions_of(requests);
            while let Some(execution) = executions.next()? {
                let candidate = execution.entry.and_then(|f| candidates.get(&f).copied());
                builder.switch_to(execution.thread, candidate);
                for access in execution.accesses {
                    for line in access.lines() {
                        builder.access(line, access.kind);
                    }
                }
            }
        }
        Ok(builder.finish())
    }

    /// Builds a stream from (thread, candidate called, accesses) by hand.
    pub fn from_parts<'a>(
        parts: impl IntoIterator<Item = (u32, Option<u32>, &'a [(u64, Kind)])>,
        machine: &Machine,
    ) -> Stream {
        let mut builder = Builder::new(residues(machine));
        for (thread, candidate, accesses) in parts {
            builder.switch_to(thread, candidate);
            for &(line, kind) in accesses {
                builder.access(line, kind);
            }
        }
        builder.finish()
    }
}

/// The number of worlds that lines fall into: lines that differ in line number modulo this never
/// share a set of a private cache, because it divides every private set count.
fn residues(machine: &Machine) -> u64 {
    let gcd = |mut a: u64, mut b: u64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let sets = [&machine.l1i, &machine.l1d, &machine.l2].map(|level| level.sets());
    gcd(gcd(sets[0], sets[1]), sets[2])
}

struct Builder {
    stream: Stream,
    /// Per thread, the occurrence it is in.
    current: HashMap<u32, u32>,
    residues: u64,
    /// Per residue, its last access, if that was in the open piece.
    last: Vec<Option<(u64, Kind)>>,
    touched: Vec<usize>,
    /// Indices of the stream's lines.
    ids: HashMap<u64, u32>,
}

impl Builder {
    fn new(residues: u64) -> Self {
        let last = vec![None; residues as usize];
        let (stream, current) = (Stream::default(), HashMap::new());
        Builder {
            stream,
            current,
            residues,
            last,
            touched: Vec::new(),
            ids: HashMap::new(),
        }
    }

    /// The next accesses are `thread`'s, which has just called `candidate` or none.
    fn switch_to(&mut self, thread: u32, candidate: Option<u32>) {
        let known = self.current.get(&thread).copied();
        let occurrence = match (known, candidate) {
            (Some(occurrence), None) => occurrence,
            _ => {
                self.stream
                    .occurrences
                    .push(Occurrence { thread, candidate });
                let index = self.stream.occurrences.len() as u32 - 1;
                self.current.insert(thread, index);
                index
            }
        };
        let open = self.stream.pieces.last().map(|piece| piece.occurrence);
        if open != Some(occurrence) {
            self.close_piece();
            let (accesses, stores) = (self.stream.accesses.len(), self.stream.stores.len());
            self.stream.pieces.push(Piece {
                occurrence,
                accesses: accesses..accesses,
                stores: stores..stores,
            });
        }
    }

    fn access(&mut self, line: u64, kind: Kind) {
        self.stream.uncondensed += 1;
        let residue = (line % self.residues) as usize;
        let repeats = match self.last[residue] {
            Some((last, before)) if last == line => {
                before == kind || (before, kind) == (Kind::Store, Kind::Load)
            }
            Some(_) => false,
            None => {
                self.touched.push(residue);
                false
            }
        };
        if !repeats {
            self.last[residue] = Some((line, kind));
            let id = *self.ids.entry(line).or_insert_with(|| {
                self.stream.lines.push(line);
                self.stream.lines.len() as u32 - 1
            });
            self.stream.accesses.push(LineAccess::new(id, kind));
        }
    }

    fn close_piece(&mut self) {
        for residue in self.touched.drain(..) {
            self.last[residue] = None;
        }
        let Some(piece) = self.stream.pieces.last_mut() else {
            return;
        };
        piece.accesses.end = self.stream.accesses.len();
        let accesses = &self.stream.accesses[piece.accesses.clone()];
        let stores = accesses
            .iter()
            .filter(|a| a.kind() == Kind::Store)
            .map(|a| a.line());
        let mut lines: Vec<u32> = stores.collect();
        lines.sort_unstable();
        lines.dedup();
        self.stream.stores.extend(lines);
        piece.stores.end = self.stream.stores.len();
    }

    fn finish(mut self) -> Stream {
        self.close_piece();
        self.stream
    }
}
