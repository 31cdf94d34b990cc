//! The plain replay: every access in recorded order, each on the core its thread is then on.
//!
//! A thread starts on the core its split says and moves when it enters a function of the split,
//! before that entry's own accesses, and back when a call ends that the split delegates. Where
//! nothing moves a thread it stays, also from one request to the next, as a patched server's thread
//! does. One loop over the executions is all of it.

use crate::error::Error;
use crate::hierarchy::Hierarchy;
use crate::hierarchy::geometry::Geometry;
use crate::hierarchy::lines::Lines;
use crate::hierarchy::page_map::PageMap;
use crate::ids::{CoreId, LineId};
use crate::machine::{Machine, WalkStart};
use crate::report::counters::Counters;
use crate::report::observer::{CacheLevel, Observer, Translated};
use crate::report::replay::Replay;
use crate::sequential::translator::Translator;
use crate::threads::split::Split;
use crate::threads::thread_placement::ThreadPlacement;
use crate::translation::PageSizes;
use corehop_traces::execution::LINE_SHIFT;
use corehop_traces::{Access, Calls, Execution, Kind, ThreadId};

/// Lines whose ids are found without hashing.
const RECENT_LINES: usize = 1 << 12;

/// A replay under way, fed one execution after the other. [`crate::replay()`] counts the same for a
/// whole trace, and faster; this one can be observed.
pub struct Replayer<'a> {
    machine: &'a Machine,
    hierarchy: Hierarchy,
    lines: Lines,
    split: &'a Split,
    thread_placement: ThreadPlacement<'a>,
    /// By core.
    moves: Vec<Moves>,
    /// Translates addresses, where this was asked for.
    translator: Option<Translator>,
}

/// What a core's caches do not count.
#[derive(Clone, Default)]
struct Moves {
    /// Lines referenced, by kind.
    accesses: [u64; 3],
    /// Hops that ended here.
    hops: u64,
}

impl<'a> Replayer<'a> {
    /// Empty caches, every thread on the core the split starts it on.
    ///
    /// # Errors
    /// [`Error::TooManyCores`] for a split that the machine is too small for.
    pub fn new(machine: &'a Machine, split: &'a Split) -> Result<Self, Error> {
        Replayer::on_cores(machine, split, split.cores())
    }

    /// The same with so many cores, for something that runs where the split has nobody go.
    pub(crate) fn on_cores(
        machine: &'a Machine,
        split: &'a Split,
        cores: u32,
    ) -> Result<Self, Error> {
        if cores > machine.cores {
            return Err(Error::TooManyCores {
                cores,
                machine: machine.name.clone(),
                machine_cores: machine.cores,
            });
        }
        Ok(Replayer {
            machine,
            hierarchy: Hierarchy::new(&Geometry::new(machine, cores, 1)),
            lines: Lines::new(RECENT_LINES),
            split,
            thread_placement: ThreadPlacement::new(split, None),
            moves: vec![Moves::default(); cores as usize],
            translator: None,
        })
    }

    /// Lets calls end where `calls` says, as far as the split delegates them: without, they never
    /// do. Call it before the first execution.
    #[must_use]
    pub fn with_calls(mut self, calls: Option<&'a Calls>) -> Self {
        self.thread_placement = ThreadPlacement::new(self.split, calls);
        self
    }

    /// Keeps pages where this map says in each L2. Call it before the first execution.
    #[must_use]
    pub fn with_page_map(mut self, map: &PageMap) -> Self {
        let geometry = Geometry::new(self.machine, self.split.cores(), 1).with_page_map(map);
        self.hierarchy = Hierarchy::new(&geometry);
        self
    }

    /// Translates addresses, with pages of these sizes. Call it before the first execution.
    ///
    /// # Errors
    /// [`Error::NoTranslation`] for a machine that does not say how.
    pub fn with_translation(mut self, page_sizes: &PageSizes) -> Result<Self, Error> {
        let cores = self.moves.len();
        self.translator = Some(Translator::new(self.machine, cores, page_sizes)?);
        Ok(self)
    }

    /// Replays one execution; returns the core it ran on.
    pub fn execute(&mut self, execution: &Execution) -> CoreId {
        self.execute_observed(execution, &mut ())
    }

    /// Replays one execution and tells `observer` what happens in the caches; returns the core it
    /// ran on.
    pub fn execute_observed(
        &mut self,
        execution: &Execution,
        observer: &mut impl Observer,
    ) -> CoreId {
        let Execution {
            thread,
            number,
            entry,
            ..
        } = *execution;
        let (left, core) = self.thread_placement.come(thread, number, entry);
        self.moves[core.index()].hops += u64::from(left != core);
        self.reference(core, execution.accesses, observer);
        core
    }

    /// Has `core` make these accesses, whoever is there.
    pub(crate) fn reference(
        &mut self,
        core: CoreId,
        accesses: &[Access],
        observer: &mut impl Observer,
    ) {
        for access in accesses {
            observer.makes(core, access);
            let mut page = None;
            for line in access.lines() {
                if self.translator.is_some() {
                    self.translate((core, access.kind), line, &mut page, observer);
                }
                let id = self.id(line);
                self.moves[core.index()].accesses[access.kind as usize] += 1;
                self.hierarchy.access(core, access.kind, id, observer);
            }
        }
    }

    /// Translates the address of `line`, unless it is of `page`, to which the same access was
    /// before.
    fn translate(
        &mut self,
        (core, kind): (CoreId, Kind),
        line: u64,
        page: &mut Option<u64>,
        observer: &mut impl Observer,
    ) {
        let Some(translator) = &mut self.translator else {
            return;
        };
        let Some(lookup) = translator.translate((core, kind), line, page) else {
            return;
        };
        let start = translator.start;
        let walk_misses = match lookup.walk() {
            [] => [0; 3],
            entries => self.walk(core, start, entries, observer),
        };
        let translated = Translated {
            missed_l1: lookup.missed_l1,
            walk_loads: lookup.walk().len() as u64,
            walk_misses,
        };
        if let Some(translator) = &mut self.translator {
            translator.count((core, kind), &translated);
        }
        observer.translated(core, kind, &translated);
    }

    /// Reads these entries of page tables; returns how many the L1D, the L2, and the L3 missed.
    fn walk(
        &mut self,
        core: CoreId,
        start: WalkStart,
        entries: &[u64],
        observer: &mut impl Observer,
    ) -> [u64; 3] {
        let before = self.load_misses(core);
        for &address in entries {
            match start {
                WalkStart::L1d => {
                    let id = self.id(address >> LINE_SHIFT);
                    self.moves[core.index()].accesses[Kind::Load as usize] += 1;
                    self.hierarchy.access(core, Kind::Load, id, observer);
                }
                WalkStart::L2 => {
                    let id = self.id(address >> LINE_SHIFT);
                    self.hierarchy.load_from_l2(core, id, observer);
                }
                WalkStart::None => {}
            }
        }
        let after = self.load_misses(core);
        std::array::from_fn(|level| after[level] - before[level])
    }

    /// How many loads of a core missed its L1D, its L2, and the L3.
    fn load_misses(&self, core: CoreId) -> [u64; 3] {
        let tally = &self.hierarchy.tally()[core.index()];
        [CacheLevel::L1D, CacheLevel::L2, CacheLevel::L3]
            .map(|level| tally.misses(level, Kind::Load).total())
    }

    #[inline]
    fn id(&mut self, line: u64) -> LineId {
        let hierarchy = &mut self.hierarchy;
        self.lines.id(line, |line| {
            hierarchy.line(line);
        })
    }

    /// The core that `thread` is on.
    pub fn core_of(&self, thread: ThreadId) -> CoreId {
        self.thread_placement.core_of(thread)
    }

    /// The line number (an address divided by 64) of a line that an [`Observer`] was told of.
    ///
    /// # Panics
    /// When no line has that id.
    pub fn line_number(&self, id: LineId) -> u64 {
        self.lines.numbers()[id.index()]
    }

    /// Starts counting afresh; caches and threads stay as they are.
    pub fn start_counting(&mut self) {
        self.hierarchy.start_counting();
        self.moves.fill(Moves::default());
        if let Some(translator) = &mut self.translator {
            translator.start_counting();
        }
    }

    /// What was counted. The number of requests is zero: only the caller knows which there were.
    pub fn finish(self) -> Replay {
        let of_core = self.hierarchy.tally().iter().zip(&self.moves);
        let per_core: Vec<Counters> = of_core
            .map(|(tally, moves)| tally.counters(moves.accesses, moves.hops, self.machine))
            .collect();
        let counters: Counters = per_core.iter().copied().sum();
        Replay {
            counters,
            per_core,
            hops: self.moves.iter().map(|moves| moves.hops).sum(),
            accesses: counters.accesses(),
            requests: 0,
            tlbs: self
                .translator
                .map_or(Vec::new(), Translator::into_counters),
        }
    }
}
