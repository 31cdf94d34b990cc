//! Counts by instruction and piece of memory together, besides what [`Collector`] counts.
//!
//! The collector finds the instruction and the piece of each access. So this costs a lookup for
//! each access of data, and memory for each pair that occurs.

use crate::collector::{Collector, Counted, Counting, Pair, Site};
use crate::cost::{Cost, Level, Missed};
use crate::pieces::Piece;
use corehop_simulator::detail::AnalysisTool;
use corehop_simulator::{CacheLevel, Cause, CoreId, LineId, Observer};
use corehop_traces::{Access, Execution, Kind};
use std::collections::HashMap;

/// The cost of an instruction's accesses to a piece.
pub(crate) struct PairCost {
    pub site: Site,
    pub piece: Piece,
    pub cost: Cost,
}

/// The analysis tool.
pub(crate) struct PairCollector<'a> {
    collector: Collector<'a>,
    number_of: HashMap<Pair, u32>,
    pairs: Vec<Pair>,
    /// By pair.
    accesses: Vec<u64>,
    missed: Vec<Missed>,
    /// By site, its latest pair: most instructions access one piece.
    latest: Vec<Option<u32>>,
    /// The pair of the current access; `None` for fetches.
    current: Option<u32>,
}

impl<'a> PairCollector<'a> {
    /// Counts pairs besides this collector.
    pub fn new(collector: Collector<'a>) -> PairCollector<'a> {
        PairCollector {
            collector,
            number_of: HashMap::new(),
            pairs: Vec::new(),
            accesses: Vec::new(),
            missed: Vec::new(),
            latest: Vec::new(),
            current: None,
        }
    }

    /// Returns the collector's counts, and those of pairs that have any.
    pub fn finish(self) -> (Counted, Vec<PairCost>) {
        let counts = self.accesses.into_iter().zip(self.missed);
        let used = self.pairs.into_iter().zip(counts);
        let used = used.filter(|(_, (accesses, _))| *accesses > 0);
        let costs = used.map(|(pair, (accesses, missed))| {
            let (site, piece) = self.collector.of_pair(pair);
            let mut cost = Cost::default();
            cost.add(site.kind, accesses, missed);
            PairCost { site, piece, cost }
        });
        let costs = costs.collect();
        (self.collector.finish(), costs)
    }

    /// Returns the number of a pair.
    fn number(&mut self, pair: Pair) -> u32 {
        let site = pair.site as usize;
        if site >= self.latest.len() {
            self.latest.resize(site + 1, None);
        }
        if let Some(latest) = self.latest[site]
            && self.pairs[latest as usize] == pair
        {
            return latest;
        }
        let next = self.pairs.len() as u32;
        let number = *self.number_of.entry(pair).or_insert(next);
        if number == next {
            self.pairs.push(pair);
            self.accesses.push(0);
            self.missed.push(Missed::default());
        }
        self.latest[site] = Some(number);
        number
    }

    /// Adds to the misses of the current pair.
    fn count(&mut self, add: impl Fn(&mut Missed)) {
        if let Some(current) = self.current {
            add(&mut self.missed[current as usize]);
        }
    }
}

impl Observer for PairCollector<'_> {
    #[inline]
    fn makes(&mut self, core: CoreId, access: &Access) {
        self.collector.makes(core, access);
    }

    #[inline]
    fn accessed(&mut self, core: CoreId, kind: Kind, line: LineId) {
        self.collector.accessed(core, kind, line);
        self.current = self.collector.pair().map(|pair| self.number(pair));
        if let Some(current) = self.current {
            self.accesses[current as usize] += 1;
        }
    }

    #[inline]
    fn missed(&mut self, level: CacheLevel, core: CoreId, _: Kind, cause: Cause, line: LineId) {
        let level = Level::from(level);
        let would_hit = self.collector.count_miss((level, core), cause, line);
        self.count(|missed| missed.by_level[level as usize].count(cause, would_hit));
    }

    fn transferred(&mut self, core: CoreId, kind: Kind, line: LineId) {
        self.collector.transferred(core, kind, line);
        self.count(|missed| missed.transfers += 1);
    }

    fn hit_modified(&mut self, core: CoreId, kind: Kind, line: LineId) {
        self.collector.hit_modified(core, kind, line);
        self.count(|missed| missed.hit_modified += 1);
    }

    fn invalidated(&mut self, cluster: usize, core: CoreId, line: LineId) {
        self.collector.invalidated(cluster, core, line);
        self.count(|missed| missed.invalidated_lines += 1);
    }
}

impl AnalysisTool for PairCollector<'_> {
    fn begin(&mut self, execution: &Execution<'_>) {
        self.collector.begin(execution);
    }

    fn end(&mut self, hopped: bool) {
        self.collector.end(hopped);
    }

    fn start_counting(&mut self) {
        self.collector.start_counting();
        self.accesses.fill(0);
        self.missed.fill(Missed::default());
    }
}
