//! Prefetches of a sequential replay: those of the timed replay (`docs/reference/timed.md`), but
//! without clocks, so that no line is late.
//!
//! A prefetched line is unused until a reference misses its L1 and finds it in the L2. If the L2
//! loses the line before that, the next reference misses the L2 and is a first use as well. A list
//! of prefetched lines therefore need not track losses.

use crate::hierarchy::Insertion;
use crate::ids::{CoreId, LineId};
use crate::machine::Machine;
use crate::prefetchers::next_line::NextLine;
use crate::prefetchers::prefetcher::{Miss, Prefetcher};
use crate::prefetchers::registry::PrefetcherName;
use crate::prefetchers::stride::Stride;
use crate::report::observer::{CacheLevel, Cause, Observer, Translated};
use corehop_traces::{Access, Kind};
use std::collections::HashSet;

/// Lines of a page, which prefetches do not cross.
const LINES_PER_PAGE: u64 = 4096 / 64;

/// The prefetchers of all cores.
enum Prefetchers {
    NextLine(Vec<NextLine>),
    Stride(Vec<Stride>),
}

pub(super) struct Prefetching {
    prefetchers: Prefetchers,
    /// How soon an L2 replaces prefetched lines.
    pub insertion: Insertion,
    /// Cores that share an L2.
    shared_by: usize,
    /// Prefetched lines by L2, without those that a reference used.
    unused: HashSet<(usize, LineId)>,
}

/// Whether a reference missed its L1 and its L2.
#[derive(Clone, Copy, Default)]
pub(super) struct Missed {
    l1: bool,
    l2: bool,
}

impl Prefetching {
    /// Creates the prefetchers of this many cores; `None` if they never prefetch.
    pub fn new(name: PrefetcherName, machine: &Machine, cores: usize) -> Option<Prefetching> {
        let prefetchers = match name {
            PrefetcherName::None => return None,
            PrefetcherName::NextLine | PrefetcherName::NextLineMid => {
                Prefetchers::NextLine(of_cores(cores))
            }
            PrefetcherName::Stride => Prefetchers::Stride(of_cores(cores)),
        };
        Some(Prefetching {
            prefetchers,
            insertion: name.insertion(),
            shared_by: machine.l2.shared_by.max(1) as usize,
            unused: HashSet::new(),
        })
    }

    /// Returns the line to prefetch after a reference of `line`, if any.
    pub fn after(
        &mut self,
        core: CoreId,
        access: &Access,
        (line, id): (u64, LineId),
        missed: Missed,
    ) -> Option<u64> {
        if !missed.l1 {
            return None;
        }
        let was_unused = self.unused.remove(&(core.index() / self.shared_by, id));
        let miss = Miss {
            kind: access.kind,
            line,
            instruction: access.pc as u32,
            is_first_use: missed.l2 || was_unused,
        };
        let wanted = match &mut self.prefetchers {
            Prefetchers::NextLine(of) => of[core.index()].missed_l1(&miss),
            Prefetchers::Stride(of) => of[core.index()].missed_l1(&miss),
        };
        wanted.filter(|wanted| wanted / LINES_PER_PAGE == line / LINES_PER_PAGE)
    }

    /// Records that a prefetch of `core` brought the line to its L2.
    pub fn brought(&mut self, core: CoreId, line: LineId) {
        self.unused.insert((core.index() / self.shared_by, line));
    }
}

fn of_cores<P: Prefetcher>(cores: usize) -> Vec<P> {
    (0..cores).map(|_| P::default()).collect()
}

/// Passes each event of a reference to an observer, and remembers the misses.
pub(super) struct Watching<'o, O> {
    observer: &'o mut O,
    missed: Missed,
}

impl<'o, O: Observer> Watching<'o, O> {
    pub fn new(observer: &'o mut O) -> Watching<'o, O> {
        Watching {
            observer,
            missed: Missed::default(),
        }
    }

    pub fn missed(&self) -> Missed {
        self.missed
    }
}

impl<O: Observer> Observer for Watching<'_, O> {
    fn makes(&mut self, core: CoreId, access: &Access) {
        self.observer.makes(core, access);
    }

    fn accessed(&mut self, core: CoreId, kind: Kind, line: LineId) {
        self.observer.accessed(core, kind, line);
    }

    fn loads_from_l2(&mut self, core: CoreId, line: LineId) {
        self.observer.loads_from_l2(core, line);
    }

    fn walks(&mut self, core: CoreId) {
        self.observer.walks(core);
    }

    fn translated(&mut self, core: CoreId, kind: Kind, translated: &Translated) {
        self.observer.translated(core, kind, translated);
    }

    fn missed(&mut self, level: CacheLevel, core: CoreId, kind: Kind, cause: Cause, line: LineId) {
        match level {
            CacheLevel::L1I | CacheLevel::L1D => self.missed.l1 = true,
            CacheLevel::L2 => self.missed.l2 = true,
            CacheLevel::L3 => {}
        }
        self.observer.missed(level, core, kind, cause, line);
    }

    fn transferred(&mut self, core: CoreId, kind: Kind, line: LineId) {
        self.observer.transferred(core, kind, line);
    }

    fn hit_modified(&mut self, core: CoreId, kind: Kind, line: LineId) {
        self.observer.hit_modified(core, kind, line);
    }

    fn replaced(&mut self, level: CacheLevel, instance: usize, core: CoreId, line: LineId) {
        self.observer.replaced(level, instance, core, line);
    }

    fn invalidated(&mut self, cluster: usize, core: CoreId, line: LineId) {
        self.observer.invalidated(cluster, core, line);
    }
}
