//! Receives the events of a replay, and counts them by changed object.
//!
//! Fetches and all other data are one row. The loads of page walks are in no row: the replay's TLB
//! counters have them.

use super::layout::Places;
use crate::cost::{Cost, Level, Missed};
use crate::fully_associative::Beside;
use corehop_simulator::detail::AnalysisTool;
use corehop_simulator::{CacheLevel, Cause, CoreId, LineId, Machine, Observer, Translated};
use corehop_traces::execution::LINE_SHIFT;
use corehop_traces::{Access, Execution, Kind, Trace};

/// The line was not accessed yet.
const NOT_MET: u32 = u32::MAX;
/// The line belongs to several rows.
const SEVERAL: u32 = u32::MAX - 1;

/// The analysis tool.
pub(super) struct Counting<'a> {
    trace: &'a Trace,
    places: &'a Places,
    beside: Beside,
    /// By row and kind: objects, then everything else.
    accesses: Vec<[u64; 3]>,
    missed: Vec<[Missed; 3]>,
    hops: u64,
    /// By line.
    row_of_line: Vec<u32>,

    /// Of the current access: its address, its next line, its row, and its kind.
    address: u64,
    next_line: u64,
    row: usize,
    kind: Kind,
    /// Whether the events are of a page walk.
    is_walk: bool,
}

/// The costs by row.
pub(super) struct CountedRows {
    pub objects: Vec<Cost>,
    pub rest: Cost,
}

impl<'a> Counting<'a> {
    /// Creates the tool for this number of cores of a machine, and objects at these places.
    pub fn new(
        trace: &'a Trace,
        (machine, cores): (&Machine, u32),
        (places, objects): (&'a Places, usize),
    ) -> Counting<'a> {
        Counting {
            trace,
            places,
            beside: Beside::new(machine, cores),
            accesses: vec![[0; 3]; objects + 1],
            missed: vec![Default::default(); objects + 1],
            hops: 0,
            row_of_line: Vec::new(),
            address: 0,
            next_line: 0,
            row: 0,
            kind: Kind::Fetch,
            is_walk: false,
        }
    }

    /// Returns the counts.
    pub fn finish(self) -> CountedRows {
        let rows = self.accesses.iter().zip(&self.missed);
        let cost = |(accesses, missed): (&[u64; 3], &[Missed; 3])| {
            let mut cost = Cost::default();
            for kind in [Kind::Fetch, Kind::Load, Kind::Store] {
                cost.add(kind, accesses[kind as usize], missed[kind as usize]);
            }
            cost
        };
        let mut objects: Vec<Cost> = rows.map(cost).collect();
        let mut rest = objects.pop().unwrap_or_default();
        rest.add_hops(self.hops);
        CountedRows { objects, rest }
    }

    fn rest(&self) -> usize {
        self.accesses.len() - 1
    }

    /// Returns the row of the current access in this line.
    #[inline]
    fn find_row(&mut self, line: LineId) -> usize {
        let known = self.row_of_line.get(line.index()).copied();
        match known.unwrap_or(NOT_MET) {
            NOT_MET => self.meet(line),
            SEVERAL => self.row_at(self.address.max(self.next_line << LINE_SHIFT)),
            row => row as usize,
        }
    }

    fn row_at(&self, located: u64) -> usize {
        let (_, address) = self.trace.owner(located);
        self.places.object(address).unwrap_or(self.rest())
    }

    fn meet(&mut self, line: LineId) -> usize {
        let (_, start) = self.trace.owner(self.next_line << LINE_SHIFT);
        let end = start.saturating_add(1 << LINE_SHIFT);
        let object = self.places.object(start);
        let row = match self.places.is_whole(start, end, object) {
            true => object.unwrap_or(self.rest()) as u32,
            false => SEVERAL,
        };
        if line.index() >= self.row_of_line.len() {
            self.row_of_line.resize(line.index() + 1, NOT_MET);
        }
        self.row_of_line[line.index()] = row;
        self.row_at(self.address.max(self.next_line << LINE_SHIFT))
    }

    #[inline]
    fn count(&mut self, kind: Kind, add: impl Fn(&mut Missed)) {
        if !self.is_walk {
            add(&mut self.missed[self.row][kind as usize]);
        }
    }
}

impl Observer for Counting<'_> {
    #[inline]
    fn makes(&mut self, _: CoreId, access: &Access) {
        self.kind = access.kind;
        self.address = access.address;
        self.next_line = access.address >> LINE_SHIFT;
    }

    #[inline]
    fn accessed(&mut self, core: CoreId, kind: Kind, line: LineId) {
        self.beside.access_l1(core.index(), kind, line);
        if self.is_walk {
            return;
        }
        self.row = match kind {
            Kind::Fetch => self.rest(),
            Kind::Load | Kind::Store => self.find_row(line),
        };
        self.next_line += 1;
        self.accesses[self.row][kind as usize] += 1;
    }

    fn loads_from_l2(&mut self, core: CoreId, line: LineId) {
        self.beside.access_l2(core.index(), line);
    }

    fn walks(&mut self, _: CoreId) {
        self.is_walk = true;
    }

    fn translated(&mut self, _: CoreId, _: Kind, _: &Translated) {
        self.is_walk = false;
    }

    #[inline]
    fn missed(&mut self, level: CacheLevel, core: CoreId, kind: Kind, cause: Cause, line: LineId) {
        let level = Level::from(level);
        let would_hit = self.beside.missed(level, core.index(), line);
        self.count(kind, |missed| {
            missed.by_level[level as usize].count(cause, would_hit)
        });
    }

    fn transferred(&mut self, _: CoreId, kind: Kind, _: LineId) {
        self.count(kind, |missed| missed.transfers += 1);
    }

    fn hit_modified(&mut self, _: CoreId, kind: Kind, _: LineId) {
        self.count(kind, |missed| missed.hit_modified += 1);
    }

    fn invalidated(&mut self, _: usize, _: CoreId, _: LineId) {
        self.count(self.kind, |missed| missed.invalidated_lines += 1);
    }
}

impl AnalysisTool for Counting<'_> {
    fn begin(&mut self, _: &Execution<'_>) {}

    fn end(&mut self, hopped: bool) {
        self.hops += u64::from(hopped);
    }

    fn start_counting(&mut self) {
        self.accesses.fill([0; 3]);
        self.missed.fill(Default::default());
        self.hops = 0;
    }
}
