//! Two analyses of one replay.

use corehop_simulator::detail::AnalysisTool;
use corehop_simulator::{CacheLevel, Cause, CoreId, LineId, Observer, Translated};
use corehop_traces::{Access, Execution, Kind};

/// Passes each event to the first, then to the second.
pub(crate) struct Both<A, B>(pub A, pub B);

impl<A: Observer, B: Observer> Observer for Both<A, B> {
    #[inline]
    fn makes(&mut self, core: CoreId, access: &Access) {
        self.0.makes(core, access);
        self.1.makes(core, access);
    }

    #[inline]
    fn repeats(&mut self, core: CoreId, access: &Access, line: LineId) {
        self.0.repeats(core, access, line);
        self.1.repeats(core, access, line);
    }

    #[inline]
    fn accessed(&mut self, core: CoreId, kind: Kind, line: LineId) {
        self.0.accessed(core, kind, line);
        self.1.accessed(core, kind, line);
    }

    fn loads_from_l2(&mut self, core: CoreId, line: LineId) {
        self.0.loads_from_l2(core, line);
        self.1.loads_from_l2(core, line);
    }

    fn walks(&mut self, core: CoreId) {
        self.0.walks(core);
        self.1.walks(core);
    }

    fn translated(&mut self, core: CoreId, kind: Kind, translated: &Translated) {
        self.0.translated(core, kind, translated);
        self.1.translated(core, kind, translated);
    }

    #[inline]
    fn missed(&mut self, level: CacheLevel, core: CoreId, kind: Kind, cause: Cause, line: LineId) {
        self.0.missed(level, core, kind, cause, line);
        self.1.missed(level, core, kind, cause, line);
    }

    fn transferred(&mut self, core: CoreId, kind: Kind, line: LineId) {
        self.0.transferred(core, kind, line);
        self.1.transferred(core, kind, line);
    }

    fn hit_modified(&mut self, core: CoreId, kind: Kind, line: LineId) {
        self.0.hit_modified(core, kind, line);
        self.1.hit_modified(core, kind, line);
    }

    fn replaced(&mut self, level: CacheLevel, instance: usize, core: CoreId, line: LineId) {
        self.0.replaced(level, instance, core, line);
        self.1.replaced(level, instance, core, line);
    }

    fn invalidated(&mut self, cluster: usize, core: CoreId, line: LineId) {
        self.0.invalidated(cluster, core, line);
        self.1.invalidated(cluster, core, line);
    }
}

impl<A: AnalysisTool, B: AnalysisTool> AnalysisTool for Both<A, B> {
    fn begin(&mut self, execution: &Execution<'_>) {
        self.0.begin(execution);
        self.1.begin(execution);
    }

    fn end(&mut self, hopped: bool) {
        self.0.end(hopped);
        self.1.end(hopped);
    }

    fn start_counting(&mut self) {
        self.0.start_counting();
        self.1.start_counting();
    }
}
