//! Receives the events of a replay that translates addresses, and attributes page walks.
//!
//! The loads of a walk count for the access that caused it: for its instruction, and for the object
//! that it accesses. The walk comes before the access of the line, so its cost is kept until then.
//! A replay without translation uses the [`Collector`] alone, which has no test for walks.

use crate::collector::{Collector, Counted, Counting};
use crate::cost::{Level, Walked};
use crate::pairs::Pairs;
use corehop_simulator::detail::AnalysisTool;
use corehop_simulator::{CacheLevel, Cause, CoreId, LineId, Observer, Translated};
use corehop_traces::{Access, Execution, Kind};

/// The analysis tool.
pub(crate) struct WalkCollector<'a, P> {
    collector: Collector<'a, P>,
    /// Whether the events are of a page walk.
    is_walk: bool,
    /// Of the line that the current access references next.
    walked: Walked,
}

impl<'a, P> WalkCollector<'a, P> {
    /// Passes all other events to `collector`.
    pub fn new(collector: Collector<'a, P>) -> WalkCollector<'a, P> {
        WalkCollector {
            collector,
            is_walk: false,
            walked: Walked::default(),
        }
    }
}

impl<P: Pairs> Counting for WalkCollector<'_, P> {
    fn finish(self) -> Counted {
        self.collector.finish()
    }
}

impl<P: Pairs> Observer for WalkCollector<'_, P> {
    #[inline]
    fn makes(&mut self, core: CoreId, access: &Access) {
        self.collector.makes(core, access);
    }

    #[inline]
    fn accessed(&mut self, core: CoreId, kind: Kind, line: LineId) {
        if self.is_walk {
            self.walked.loads += 1;
            self.collector.beside.access_l1(core.index(), kind, line);
            return;
        }
        self.collector.accessed(core, kind, line);
        if self.walked.l1_misses > 0 {
            self.collector.add_walk(std::mem::take(&mut self.walked));
        }
    }

    fn loads_from_l2(&mut self, core: CoreId, line: LineId) {
        self.walked.l2_loads += 1;
        self.collector.beside.access_l2(core.index(), line);
    }

    fn walks(&mut self, _: CoreId) {
        self.is_walk = true;
    }

    fn translated(&mut self, _: CoreId, _: Kind, translated: &Translated) {
        self.is_walk = false;
        self.walked.l1_misses += u64::from(translated.missed_l1);
        self.walked.walks += u64::from(translated.walk_loads > 0);
    }

    #[inline]
    fn missed(&mut self, level: CacheLevel, core: CoreId, kind: Kind, cause: Cause, line: LineId) {
        if !self.is_walk {
            self.collector.missed(level, core, kind, cause, line);
            return;
        }
        let level = Level::from(level);
        let would_hit = self.collector.beside.missed(level, core.index(), line);
        self.walked.missed.by_level[level as usize].count(cause, would_hit);
    }

    fn transferred(&mut self, core: CoreId, kind: Kind, line: LineId) {
        match self.is_walk {
            true => self.walked.missed.transfers += 1,
            false => self.collector.transferred(core, kind, line),
        }
    }

    fn hit_modified(&mut self, core: CoreId, kind: Kind, line: LineId) {
        match self.is_walk {
            true => self.walked.missed.hit_modified += 1,
            false => self.collector.hit_modified(core, kind, line),
        }
    }

    fn invalidated(&mut self, cluster: usize, core: CoreId, line: LineId) {
        // Walks do not store.
        self.collector.invalidated(cluster, core, line);
    }
}

impl<P: Pairs> AnalysisTool for WalkCollector<'_, P> {
    fn begin(&mut self, execution: &Execution<'_>) {
        self.collector.begin(execution);
    }

    fn end(&mut self, hopped: bool) {
        self.collector.end(hopped);
    }

    fn start_counting(&mut self) {
        self.collector.start_counting();
    }
}
