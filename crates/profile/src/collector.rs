//! Receives the events of a replay, and counts them by instruction, by piece of memory, and, if
//! requested, by both together (`pairs`).
//!
//! It runs at every access, so it caches lookups. An access of a code block is usually by the same
//! instruction as the access at the same place of an earlier execution, and a line usually belongs
//! to one piece of memory. Fetches are counted by instruction only; the module follows from it.
//!
//! A trace has no stack pointers, but a call pushes its return address. If a function is entered
//! after an instruction that stored a word, and this instruction is not the one directly in front
//! of the function, the word is on the thread's stack.

use crate::cost::{Cost, Level, Missed, Walked};
use crate::fully_associative::Beside;
use crate::heap::Sites;
use crate::heap_lines::HeapLines;
use crate::pairs::{Pair, Pairs};
use crate::pieces::{Images, LinePiece, Piece};
use corehop_simulator::detail::{AnalysisTool, Attribution};
use corehop_simulator::{CacheLevel, Cause, CoreId, LineId, Machine, Observer};
use corehop_traces::execution::LINE_SHIFT;
use corehop_traces::{Access, CodeBlock, Execution, Kind, ThreadId, Trace};
use std::collections::HashMap;

/// Bytes of a return address.
const WORD: u16 = 8;

/// The source of accesses: an instruction that is fetched, loads, or stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    /// Guest address; for fetches, of the first byte fetched.
    pub pc: u64,
    pub kind: Kind,
    /// Owner of the code, numbered as in [`Attribution`].
    pub owner: u32,
}

/// A part of memory, and the thread that uses it as a stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataPiece {
    pub piece: Piece,
    /// The first thread that pushed a return address to it.
    pub stack_of: Option<ThreadId>,
}

/// The cost of an instruction's accesses to a piece.
pub(crate) struct PairCost {
    pub site: Site,
    pub piece: Piece,
    pub cost: Cost,
}

/// The counts of a profile.
pub(crate) struct Counted {
    /// By instruction.
    pub sites: Vec<(Site, Cost)>,
    /// By piece of memory, loads and stores only.
    pub pieces: Vec<(DataPiece, Cost)>,
    /// By both; empty unless requested.
    pub pairs: Vec<PairCost>,
}

impl Counted {
    /// Returns the sum of all costs.
    pub fn total(&self) -> Cost {
        let mut total = Cost::default();
        self.sites.iter().for_each(|(_, cost)| total += *cost);
        total
    }
}

/// An analysis tool that counts a profile.
pub(crate) trait Counting: AnalysisTool {
    /// Returns the counts, without places that have none.
    fn finish(self) -> Counted;
}

/// The line was not accessed yet.
const NOT_MET: u32 = u32::MAX;
/// The line belongs to several pieces.
const SEVERAL: u32 = u32::MAX - 1;

/// The instruction that made the access at one place of a code block.
#[derive(Clone, Copy)]
struct Maker {
    pc: u64,
    site: u32,
    kind: Kind,
}

/// The analysis tool.
pub(crate) struct Collector<'a, P> {
    trace: &'a Trace,
    attribution: &'a Attribution,
    images: &'a Images,
    pub beside: Beside,
    heap: HeapLines<'a>,

    /// By code block, then by an access's place in an execution.
    makers: Vec<Vec<Maker>>,
    site_of: HashMap<Site, u32>,
    sites: Vec<Site>,
    /// By site.
    site_accesses: Vec<u64>,
    site_missed: Vec<Missed>,
    site_hops: Vec<u64>,
    /// By site, up to the last one that missed a TLB.
    site_walked: Vec<Walked>,

    /// By line.
    piece_of_line: Vec<u32>,
    piece_of: HashMap<Piece, u32>,
    pieces: Vec<DataPiece>,
    /// By piece, and loads before stores.
    piece_accesses: Vec<[u64; 2]>,
    piece_missed: Vec<[Missed; 2]>,
    /// By piece, up to the last one that missed a TLB.
    piece_walked: Vec<Walked>,

    pairs: P,

    /// By code block: its last instruction.
    last_instructions: Vec<u64>,
    /// By thread: the piece that its last execution's last instruction stored a word to, and the
    /// address behind that instruction.
    pushed_to: Vec<Option<(u32, u64)>>,

    thread: ThreadId,
    code_block: u32,
    /// The next access's place in the execution.
    place: usize,
    /// The site of the execution's first access.
    first_site: u32,
    /// Of the current access: its instruction, its address, and its next line.
    site: u32,
    kind: Kind,
    size_bytes: u16,
    pc: u64,
    address: u64,
    next_line: u64,
    piece: u32,
}

impl<'a, P: Pairs> Collector<'a, P> {
    /// Creates the tool for this number of cores of a machine.
    pub fn new(
        trace: &'a Trace,
        (machine, cores): (&Machine, u32),
        attribution: &'a Attribution,
        (images, heap_sites): (&'a Images, &'a Sites),
        pairs: P,
    ) -> Collector<'a, P> {
        Collector {
            trace,
            attribution,
            images,
            beside: Beside::new(machine, cores),
            heap: HeapLines::new(trace, heap_sites),
            makers: vec![Vec::new(); trace.code_blocks().len()],
            site_of: HashMap::new(),
            sites: Vec::new(),
            site_accesses: Vec::new(),
            site_missed: Vec::new(),
            site_hops: Vec::new(),
            site_walked: Vec::new(),
            piece_of_line: Vec::new(),
            piece_of: HashMap::new(),
            pieces: Vec::new(),
            piece_accesses: Vec::new(),
            piece_missed: Vec::new(),
            piece_walked: Vec::new(),
            pairs,
            last_instructions: trace.code_blocks().iter().map(last_instruction).collect(),
            pushed_to: vec![None; trace.threads().len()],
            thread: ThreadId(0),
            code_block: 0,
            place: 0,
            first_site: 0,
            site: 0,
            kind: Kind::Fetch,
            size_bytes: 0,
            pc: 0,
            address: 0,
            next_line: 0,
            piece: 0,
        }
    }

    /// Finds the instruction of the current access, at this place for the first time.
    fn maker(&mut self, access: &Access) -> Maker {
        let site = Site {
            pc: access.pc,
            kind: access.kind,
            owner: self.attribution.owner_of(self.code_block) as u32,
        };
        let number = match self.site_of.get(&site) {
            Some(&number) => number,
            None => {
                let number = self.sites.len() as u32;
                self.site_of.insert(site, number);
                self.sites.push(site);
                self.site_accesses.push(0);
                self.site_missed.push(Missed::default());
                self.site_hops.push(0);
                number
            }
        };
        let maker = Maker {
            pc: access.pc,
            site: number,
            kind: access.kind,
        };
        let makers = &mut self.makers[self.code_block as usize];
        match makers.get_mut(self.place) {
            Some(known) => *known = maker,
            None => makers.resize(self.place + 1, maker),
        }
        maker
    }

    /// Returns the piece that the current access belongs to, in this line.
    #[inline]
    fn find_piece(&mut self, line: LineId) -> u32 {
        let number = self.next_line;
        let known = self.piece_of_line.get(line.index()).copied();
        match known.unwrap_or(NOT_MET) {
            NOT_MET => self.meet(line, number),
            SEVERAL => {
                let piece = self.piece_there(number);
                self.number(piece)
            }
            piece => piece,
        }
    }

    /// Returns the piece of the first byte of the access in this line.
    fn piece_there(&self, line: u64) -> Piece {
        let first = self.address.max(line << LINE_SHIFT);
        match self.images.part_at(self.trace, first) {
            page @ Piece::Page(_) => self.heap.piece_at(first).unwrap_or(page),
            piece => piece,
        }
    }

    fn meet(&mut self, line: LineId, number: u64) -> u32 {
        let piece = match self.images.of_line(self.trace, number) {
            LinePiece::Whole(page @ Piece::Page(_)) => {
                let of_heap = self.heap.of_line(number, line);
                of_heap.unwrap_or(LinePiece::Whole(page))
            }
            piece => piece,
        };
        let (kept, piece) = match piece {
            LinePiece::Whole(piece) => {
                let piece = self.number(piece);
                (piece, piece)
            }
            LinePiece::Several => {
                let piece = self.piece_there(number);
                (SEVERAL, self.number(piece))
            }
        };
        if line.index() >= self.piece_of_line.len() {
            self.piece_of_line.resize(line.index() + 1, NOT_MET);
        }
        self.piece_of_line[line.index()] = kept;
        piece
    }

    fn number(&mut self, piece: Piece) -> u32 {
        if let Some(&number) = self.piece_of.get(&piece) {
            return number;
        }
        let number = self.pieces.len() as u32;
        self.piece_of.insert(piece, number);
        self.pieces.push(DataPiece {
            piece,
            stack_of: None,
        });
        self.piece_accesses.push([0; 2]);
        self.piece_missed.push(Default::default());
        number
    }

    /// Adds the translation of the line that the current access referenced last.
    pub fn add_walk(&mut self, walked: Walked) {
        let add = |all: &mut Vec<Walked>, index: usize| {
            if index >= all.len() {
                all.resize(index + 1, Walked::default());
            }
            all[index] += walked;
        };
        add(&mut self.site_walked, self.site as usize);
        if self.kind != Kind::Fetch {
            add(&mut self.piece_walked, self.piece as usize);
            self.pairs.add_walk(walked);
        }
    }

    /// Adds to the misses of the current access.
    #[inline]
    fn count(&mut self, add: impl Fn(&mut Missed)) {
        add(&mut self.site_missed[self.site as usize]);
        if self.kind != Kind::Fetch {
            add(&mut self.piece_missed[self.piece as usize][self.kind as usize - 1]);
            self.pairs.count(add);
        }
    }
}

impl<P: Pairs> Counting for Collector<'_, P> {
    fn finish(self) -> Counted {
        let pairs = self.pairs.finish().into_iter().map(|(pair, counts)| {
            let site = self.sites[pair.site as usize];
            let piece = self.pieces[pair.piece as usize].piece;
            let mut cost = Cost::default();
            cost.add(site.kind, counts.accesses, counts.missed);
            cost.add_walked(&counts.walked);
            PairCost { site, piece, cost }
        });
        let pairs = pairs.collect();
        let sites = self.sites.into_iter().enumerate().map(|(index, site)| {
            let mut cost = Cost::default();
            cost.add(
                site.kind,
                self.site_accesses[index],
                self.site_missed[index],
            );
            cost.add_hops(self.site_hops[index]);
            add_walked(&self.site_walked, index, &mut cost);
            (site, cost)
        });
        let pieces = self.pieces.into_iter().enumerate().map(|(index, piece)| {
            let [loads, stores] = self.piece_accesses[index];
            let [load_missed, store_missed] = self.piece_missed[index];
            let mut cost = Cost::default();
            cost.add(Kind::Load, loads, load_missed);
            cost.add(Kind::Store, stores, store_missed);
            add_walked(&self.piece_walked, index, &mut cost);
            (piece, cost)
        });
        let is_used = |cost: &Cost| *cost != Cost::default();
        Counted {
            sites: sites.filter(|(_, cost)| is_used(cost)).collect(),
            // A piece that is not counted may still show where a stack is.
            pieces: pieces.collect(),
            pairs,
        }
    }
}

/// Adds the walks of the site or piece with this index.
fn add_walked(all: &[Walked], index: usize, cost: &mut Cost) {
    if let Some(walked) = all.get(index) {
        cost.add_walked(walked);
    }
}

/// Returns the address of the last instruction of a block.
fn last_instruction(block: &CodeBlock) -> u64 {
    let last = block.instructions.last();
    let offset = last.map_or(0, |instruction| u64::from(instruction.offset));
    block.start.wrapping_add(offset)
}

impl<P: Pairs> Observer for Collector<'_, P> {
    #[inline]
    fn makes(&mut self, _: CoreId, access: &Access) {
        let known = self.makers[self.code_block as usize]
            .get(self.place)
            .copied();
        let known = known.filter(|maker| maker.pc == access.pc && maker.kind == access.kind);
        let maker = known.unwrap_or_else(|| self.maker(access));
        if self.place == 0 {
            self.first_site = maker.site;
        }
        self.place += 1;
        self.site = maker.site;
        self.kind = maker.kind;
        self.size_bytes = access.size_bytes;
        self.pc = access.pc;
        self.address = access.address;
        self.next_line = access.address >> LINE_SHIFT;
    }

    #[inline]
    fn accessed(&mut self, core: CoreId, kind: Kind, line: LineId) {
        self.site_accesses[self.site as usize] += 1;
        self.beside.access_l1(core.index(), kind, line);
        if kind != Kind::Fetch {
            self.piece = self.find_piece(line);
            self.piece_accesses[self.piece as usize][kind as usize - 1] += 1;
            let (site, piece) = (self.site, self.piece);
            self.pairs.accessed(Pair { site, piece });
        }
        self.next_line += 1;
    }

    #[inline]
    fn missed(&mut self, level: CacheLevel, core: CoreId, _: Kind, cause: Cause, line: LineId) {
        let level = Level::from(level);
        let would_hit = self.beside.missed(level, core.index(), line);
        self.count(|missed| missed.by_level[level as usize].count(cause, would_hit));
    }

    fn transferred(&mut self, _: CoreId, _: Kind, _: LineId) {
        self.count(|missed| missed.transfers += 1);
    }

    fn hit_modified(&mut self, _: CoreId, _: Kind, _: LineId) {
        self.count(|missed| missed.hit_modified += 1);
    }

    fn invalidated(&mut self, _: usize, _: CoreId, _: LineId) {
        self.count(|missed| missed.invalidated_lines += 1);
    }
}

impl<P: Pairs> AnalysisTool for Collector<'_, P> {
    fn begin(&mut self, execution: &Execution<'_>) {
        let pieces = &mut self.piece_of_line;
        let forget = |line: LineId| pieces[line.index()] = NOT_MET;
        self.heap.run(execution.stamp, forget);
        self.thread = execution.thread;
        self.code_block = execution.code_block;
        self.place = 0;
        let pushed_to = self.pushed_to[execution.thread.index()];
        if let (Some((piece, next)), Some(_)) = (pushed_to, execution.entry)
            && self.trace.code_blocks()[execution.code_block as usize].start != next
        {
            let piece = &mut self.pieces[piece as usize];
            piece.stack_of = piece.stack_of.or(Some(execution.thread));
        }
    }

    fn end(&mut self, hopped: bool) {
        let is_push = self.kind == Kind::Store
            && self.size_bytes == WORD
            && self.pc == self.last_instructions[self.code_block as usize];
        self.pushed_to[self.thread.index()] = is_push.then(|| {
            let block = &self.trace.code_blocks()[self.code_block as usize];
            let size = block.instructions.last().map_or(0, |last| last.size_bytes);
            (self.piece, self.pc.wrapping_add(size.into()))
        });
        if hopped {
            self.site_hops[self.first_site as usize] += 1;
        }
    }

    fn start_counting(&mut self) {
        self.site_accesses.fill(0);
        self.site_missed.fill(Missed::default());
        self.site_hops.fill(0);
        self.site_walked.clear();
        self.piece_accesses.fill([0; 2]);
        self.piece_missed.fill(Default::default());
        self.piece_walked.clear();
        self.pairs.start_counting();
    }
}
