//! Receives the events of a replay, and counts them by instruction, by piece of memory, and, if
//! requested, by both together (`pairs`).
//!
//! It runs at every access, so it does little there. All executions of a template make their
//! accesses by the same instructions, so counting executions counts these accesses.
//! Fetches are counted by instruction only; the module follows from it.
//!
//! A trace has no stack pointers, but a call pushes its return address. If a function is entered
//! after an instruction that stored a word, and this instruction is not the one directly in front
//! of the function, the word is on the thread's stack.

use crate::cost::{Cost, Level, Missed, Walked};
use crate::fully_associative::Beside;
use crate::heap::Sites;
use crate::numbered::Numbered;
use crate::numbered_pieces::NumberedPieces;
use crate::pairs::{Pair, Pairs};
use crate::pieces::{Images, Piece};
use corehop_simulator::detail::{AnalysisTool, Attribution};
use corehop_simulator::{CacheLevel, Cause, CoreId, LineId, Machine, Observer};
use corehop_traces::execution::LINE_SHIFT;
use corehop_traces::{Access, CodeBlock, Execution, Kind, ThreadId, Trace};

/// Bytes of a return address.
const WORD: u16 = 8;

/// The source of accesses: an instruction that is fetched, loads, or stores. Without views by
/// instruction, all instructions of an owner are one, with address 0.
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

/// A template that was not executed yet.
const NOT_MET: u32 = u32::MAX;

/// The executions of a template.
#[derive(Clone, Copy)]
struct TemplateUse {
    /// Index of its accesses' sites, or [`NOT_MET`].
    first_site: u32,
    accesses: u32,
    executions: u64,
    /// The address behind its last instruction, if that one stores a word.
    pushed_at: Option<u64>,
}

/// The counts of memory, by piece.
struct MemoryCounts<'a> {
    pieces: NumberedPieces<'a>,
    /// By piece, loads before stores.
    accesses: Vec<[u64; 2]>,
    missed: Vec<[Missed; 2]>,
    /// By piece, up to the last one that missed a TLB.
    walked: Vec<Walked>,
    /// By piece, up to the last one that is a stack: the thread.
    stack_of: Vec<Option<ThreadId>>,
    /// By thread: the piece that its last execution's last instruction stored a word to, and the
    /// address behind that instruction.
    pushed_to: Vec<Option<(u32, u64)>>,
}

/// The analysis tool.
pub(crate) struct Collector<'a, P> {
    trace: &'a Trace,
    attribution: &'a Attribution,
    pub beside: Beside,
    /// Whether instructions are counted separately.
    by_instruction: bool,

    /// By template.
    templates: Vec<TemplateUse>,
    /// The sites of each template's accesses.
    sites_of_accesses: Vec<u32>,
    sites: Numbered<Site>,
    /// By site: the lines that its accesses referenced besides their first.
    site_further_lines: Vec<u64>,
    site_missed: Vec<Missed>,
    site_hops: Vec<u64>,
    /// By site, up to the last one that missed a TLB.
    site_walked: Vec<Walked>,

    memory: Option<MemoryCounts<'a>>,
    pairs: P,

    thread: ThreadId,
    template: u32,
    /// Index of the next access's site.
    next_site: usize,
    /// Of the current access: its instruction, its address, and its next line.
    site: u32,
    kind: Kind,
    address: u64,
    next_line: u64,
    piece: u32,
}

impl<'a, P: Pairs> Collector<'a, P> {
    /// Creates the tool for this number of cores of a machine. Without `memory`, it counts by
    /// source only.
    pub fn new(
        trace: &'a Trace,
        (machine, cores): (&Machine, u32),
        (attribution, by_instruction): (&'a Attribution, bool),
        memory: Option<(&'a Images, &'a Sites)>,
        pairs: P,
    ) -> Collector<'a, P> {
        let memory = memory.map(|(images, heap_sites)| MemoryCounts {
            pieces: NumberedPieces::new(trace, images, heap_sites),
            accesses: Vec::new(),
            missed: Vec::new(),
            walked: Vec::new(),
            stack_of: Vec::new(),
            pushed_to: vec![None; trace.threads().len()],
        });
        Collector {
            trace,
            attribution,
            beside: Beside::new(machine, cores),
            by_instruction,
            templates: Vec::new(),
            sites_of_accesses: Vec::new(),
            sites: Numbered::default(),
            site_further_lines: Vec::new(),
            site_missed: Vec::new(),
            site_hops: Vec::new(),
            site_walked: Vec::new(),
            memory,
            pairs,
            thread: ThreadId(0),
            template: 0,
            next_site: 0,
            site: 0,
            kind: Kind::Fetch,
            address: 0,
            next_line: 0,
            piece: 0,
        }
    }

    /// Numbers the instructions of a template that is executed for the first time.
    #[cold]
    fn meet(&mut self, execution: &Execution<'_>) {
        let template = execution.template as usize;
        if template >= self.templates.len() {
            let none = TemplateUse {
                first_site: NOT_MET,
                accesses: 0,
                executions: 0,
                pushed_at: None,
            };
            self.templates.resize(template + 1, none);
        }
        let block = &self.trace.code_blocks()[execution.code_block as usize];
        let last_access = execution.accesses.last();
        self.templates[template] = TemplateUse {
            first_site: self.sites_of_accesses.len() as u32,
            accesses: execution.accesses.len() as u32,
            executions: 0,
            pushed_at: last_access.and_then(|last| pushed_at(block, last)),
        };
        let owner = self.attribution.owner_of(execution.code_block) as u32;
        for access in execution.accesses {
            let site = self.number(Site {
                pc: if self.by_instruction { access.pc } else { 0 },
                kind: access.kind,
                owner,
            });
            self.sites_of_accesses.push(site);
        }
    }

    fn number(&mut self, site: Site) -> u32 {
        let number = self.sites.of(site);
        if number == self.site_missed.len() {
            self.site_further_lines.push(0);
            self.site_missed.push(Missed::default());
            self.site_hops.push(0);
        }
        number as u32
    }

    /// References a line by an access that begins at `address`.
    #[inline(always)]
    fn reference(&mut self, core: CoreId, kind: Kind, line: (LineId, u64), address: u64) {
        self.beside.access_l1(core.index(), kind, line.0);
        if kind != Kind::Fetch
            && let Some(memory) = &mut self.memory
        {
            let (site, piece) = (self.site, memory.count(kind, line, address));
            self.piece = piece;
            self.pairs.accessed(Pair { site, piece });
        }
    }

    /// Adds the translation of the line that the current access referenced last.
    pub fn add_walk(&mut self, walked: Walked) {
        add_walked_at(&mut self.site_walked, self.site, walked);
        if self.kind == Kind::Fetch {
            return;
        }
        if let Some(memory) = &mut self.memory {
            add_walked_at(&mut memory.walked, self.piece, walked);
            self.pairs.add_walk(walked);
        }
    }

    /// Adds to the misses of the current access.
    #[inline]
    fn count(&mut self, add: impl Fn(&mut Missed)) {
        add(&mut self.site_missed[self.site as usize]);
        if self.kind == Kind::Fetch {
            return;
        }
        if let Some(memory) = &mut self.memory {
            add(&mut memory.missed[self.piece as usize][self.kind as usize - 1]);
            self.pairs.count(add);
        }
    }

    /// Returns the number of accesses by site.
    fn site_accesses(&self) -> Vec<u64> {
        let mut accesses = self.site_further_lines.clone();
        for of in &self.templates {
            let sites = self.sites_of_accesses.iter().skip(of.first_site as usize);
            for &site in sites.take(of.accesses as usize) {
                accesses[site as usize] += of.executions;
            }
        }
        accesses
    }
}

impl MemoryCounts<'_> {
    /// Counts an access of a line to a piece, and returns the piece.
    #[inline]
    fn count(&mut self, kind: Kind, line: (LineId, u64), address: u64) -> u32 {
        let piece = self.pieces.find(line, address);
        if piece as usize >= self.accesses.len() {
            let pieces = self.pieces.all().len();
            self.accesses.resize(pieces, [0; 2]);
            self.missed.resize(pieces, Default::default());
        }
        self.accesses[piece as usize][kind as usize - 1] += 1;
        piece
    }

    /// Notes a stack if this execution shows that the previous one of its thread pushed an address.
    #[inline]
    fn enter(&mut self, trace: &Trace, execution: &Execution<'_>) {
        if let (Some((piece, next)), Some(_)) =
            (self.pushed_to[execution.thread.index()], execution.entry)
            && trace.code_blocks()[execution.code_block as usize].start != next
        {
            let piece = piece as usize;
            if piece >= self.stack_of.len() {
                self.stack_of.resize(piece + 1, None);
            }
            self.stack_of[piece].get_or_insert(execution.thread);
        }
    }

    fn start_counting(&mut self) {
        self.accesses.fill([0; 2]);
        self.missed.fill(Default::default());
        self.walked.clear();
    }

    fn finish(self) -> Vec<(DataPiece, Cost)> {
        let pieces = self.pieces.all().iter().copied().enumerate();
        let piece = |(index, piece)| {
            let [loads, stores] = self.accesses[index];
            let [load_missed, store_missed] = self.missed[index];
            let mut cost = Cost::default();
            cost.add(Kind::Load, loads, load_missed);
            cost.add(Kind::Store, stores, store_missed);
            add_walked(&self.walked, index, &mut cost);
            let stack_of = self.stack_of.get(index).copied().flatten();
            (DataPiece { piece, stack_of }, cost)
        };
        // A piece that is not counted may still show where a stack is.
        pieces.map(piece).collect()
    }
}

impl<P: Pairs> Counting for Collector<'_, P> {
    fn finish(self) -> Counted {
        let accesses = self.site_accesses();
        let pieces = self
            .memory
            .as_ref()
            .map_or(&[][..], |memory| memory.pieces.all());
        let pairs = self.pairs.finish().into_iter().map(|(pair, counts)| {
            let site = self.sites.all()[pair.site as usize];
            let piece = pieces[pair.piece as usize];
            let mut cost = Cost::default();
            cost.add(site.kind, counts.accesses, counts.missed);
            cost.add_walked(&counts.walked);
            PairCost { site, piece, cost }
        });
        let pairs = pairs.collect();
        let sites = self.sites.all().iter().copied().enumerate();
        let sites = sites.map(|(index, site)| {
            let mut cost = Cost::default();
            cost.add(site.kind, accesses[index], self.site_missed[index]);
            cost.add_hops(self.site_hops[index]);
            add_walked(&self.site_walked, index, &mut cost);
            (site, cost)
        });
        let is_used = |cost: &Cost| *cost != Cost::default();
        Counted {
            sites: sites.filter(|(_, cost)| is_used(cost)).collect(),
            pieces: self.memory.map_or(Vec::new(), MemoryCounts::finish),
            pairs,
        }
    }
}

/// Adds to the walks of the site or piece with this number.
fn add_walked_at(all: &mut Vec<Walked>, number: u32, walked: Walked) {
    let index = number as usize;
    if index >= all.len() {
        all.resize(index + 1, Walked::default());
    }
    all[index] += walked;
}

/// Adds the walks of the site or piece with this index.
fn add_walked(all: &[Walked], index: usize, cost: &mut Cost) {
    if let Some(walked) = all.get(index) {
        cost.add_walked(walked);
    }
}

/// Returns the address behind the last instruction of a block whose last access this is, if that
/// instruction stores a word.
fn pushed_at(block: &CodeBlock, last_access: &Access) -> Option<u64> {
    let last = block.instructions.last()?;
    let pc = block.start.wrapping_add(last.offset.into());
    let is_push =
        last_access.kind == Kind::Store && last_access.size_bytes == WORD && last_access.pc == pc;
    is_push.then(|| pc.wrapping_add(last.size_bytes.into()))
}

impl<P: Pairs> Observer for Collector<'_, P> {
    #[inline]
    fn makes(&mut self, _: CoreId, access: &Access) {
        self.site = self.sites_of_accesses[self.next_site];
        self.next_site += 1;
        self.kind = access.kind;
        self.address = access.address;
        let lines = access.lines();
        self.next_line = *lines.start();
        if lines.start() != lines.end() {
            self.site_further_lines[self.site as usize] += lines.end() - lines.start();
        }
    }

    #[inline(always)]
    fn repeats(&mut self, core: CoreId, access: &Access, line: LineId) {
        self.site = self.sites_of_accesses[self.next_site];
        self.next_site += 1;
        let line = (line, access.address >> LINE_SHIFT);
        self.reference(core, access.kind, line, access.address);
    }

    #[inline]
    fn accessed(&mut self, core: CoreId, kind: Kind, line: LineId) {
        self.reference(core, kind, (line, self.next_line), self.address);
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
    #[inline]
    fn begin(&mut self, execution: &Execution<'_>) {
        self.thread = execution.thread;
        self.template = execution.template;
        let known = self.templates.get(execution.template as usize);
        if known.is_none_or(|known| known.first_site == NOT_MET) {
            self.meet(execution);
        }
        let template = &mut self.templates[execution.template as usize];
        template.executions += 1;
        self.next_site = template.first_site as usize;
        if let Some(memory) = &mut self.memory {
            memory.pieces.run(execution.stamp);
            memory.enter(self.trace, execution);
        }
    }

    #[inline]
    fn end(&mut self, hopped: bool) {
        let template = &self.templates[self.template as usize];
        if let Some(memory) = &mut self.memory {
            let pushed = template.pushed_at.map(|next| (self.piece, next));
            memory.pushed_to[self.thread.index()] = pushed;
        }
        if hopped && template.accesses > 0 {
            let first = self.sites_of_accesses[template.first_site as usize];
            self.site_hops[first as usize] += 1;
        }
    }

    fn start_counting(&mut self) {
        for template in &mut self.templates {
            template.executions = 0;
        }
        self.site_further_lines.fill(0);
        self.site_missed.fill(Missed::default());
        self.site_hops.fill(0);
        self.site_walked.clear();
        if let Some(memory) = &mut self.memory {
            memory.start_counting();
        }
        self.pairs.start_counting();
    }
}
