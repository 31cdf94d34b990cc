//! The sequential replay: makes every access in recorded order, each on the current core of its
//! thread.
//!
//! A thread starts on the core that its split defines. It moves when it enters a function of the
//! split, before the accesses of that entry, and returns when a call that the split delegates ends.
//! Otherwise it stays, also across requests, like a patched server's thread. The implementation is
//! one loop over the executions.

use crate::error::Error;
use crate::hierarchy::Hierarchy;
use crate::hierarchy::geometry::Geometry;
use crate::hierarchy::lines::Lines;
use crate::hierarchy::page_map::PageMap;
use crate::ids::{CoreId, LineId};
use crate::machine::{Machine, WalkStart};
use crate::prefetchers::registry::PrefetcherName;
use crate::report::counters::Counters;
use crate::report::observer::{Observer, Translated};
use crate::report::replay::Replay;
use crate::sequential::prefetching::{Prefetching, Watching};
use crate::sequential::repetitions::Repetitions;
use crate::threads::split::Split;
use crate::threads::thread_placement::ThreadPlacement;
use crate::translation::{PageSizes, Translator};
use corehop_traces::execution::LINE_SHIFT;
use corehop_traces::{Access, Calls, Execution, Kind, LineReference, ThreadId};
use std::ops::RangeInclusive;

/// Number of lines whose ids are found without hashing.
const RECENT_LINES: usize = 1 << 14;

/// A replay in progress, which receives one execution at a time. [`crate::replay()`] computes the
/// same counts for a whole trace, faster; this one can be observed.
pub struct Replayer<'a> {
    machine: &'a Machine,
    hierarchy: Hierarchy,
    lines: Lines,
    repetitions: Repetitions,
    split: &'a Split,
    thread_placement: ThreadPlacement<'a>,
    /// Counts of each core.
    moves: Vec<Moves>,
    /// Translates addresses, if requested.
    translator: Option<Translator>,
    /// Prefetches, if requested.
    prefetching: Option<Prefetching>,
}

/// Counts of a core that do not depend on its caches.
#[derive(Clone, Default)]
struct Moves {
    /// Number of lines referenced, by kind.
    accesses: [u64; 3],
    /// Number of hops that ended on this core.
    hops: u64,
}

impl<'a> Replayer<'a> {
    /// Creates a replay with empty caches and every thread on its start core in the split.
    ///
    /// # Errors
    /// [`Error::TooManyCores`] if the split needs more cores than the machine has.
    pub fn new(machine: &'a Machine, split: &'a Split) -> Result<Self, Error> {
        Replayer::on_cores(machine, split, split.cores())
    }

    /// Does the same with this many cores, for work on cores that the split does not use.
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
            repetitions: Repetitions::new(Geometry::set_partition_count_of(machine)),
            split,
            thread_placement: ThreadPlacement::new(split, None),
            moves: vec![Moves::default(); cores as usize],
            translator: None,
            prefetching: None,
        })
    }

    /// Ends the calls that the split delegates where `calls` contains their end; without `calls`,
    /// they never end. Must be called before the first execution.
    #[must_use]
    pub fn with_calls(mut self, calls: Option<&'a Calls>) -> Self {
        self.thread_placement = ThreadPlacement::new(self.split, calls);
        self
    }

    /// Places pages by this map in each L2. Must be called before the first execution.
    #[must_use]
    pub fn with_page_map(mut self, map: &PageMap) -> Self {
        let geometry = Geometry::new(self.machine, self.split.cores(), 1).with_page_map(map);
        self.hierarchy = Hierarchy::new(&geometry);
        // Lines of any two pages may share a set of the L2.
        self.repetitions = Repetitions::new(1);
        self
    }

    /// Translates addresses with pages of these sizes. Must be called before the first execution.
    ///
    /// # Errors
    /// [`Error::NoTranslation`] if the machine file does not describe translation.
    pub fn with_translation(mut self, page_sizes: &PageSizes) -> Result<Self, Error> {
        let Some(translation) = &self.machine.translation else {
            let machine = self.machine.name.clone();
            return Err(Error::NoTranslation { machine });
        };
        let cores = self.moves.len();
        self.translator = Some(Translator::new(translation, cores, page_sizes));
        Ok(self)
    }

    /// Gives each core this prefetcher, whose lines come to the L2 at once
    /// (`docs/reference/timed.md`). Must be called before the first execution.
    #[must_use]
    pub fn with_prefetcher(mut self, name: PrefetcherName) -> Self {
        self.prefetching = Prefetching::new(name, self.machine, self.moves.len());
        self
    }

    /// Replays one execution; returns the core it ran on.
    pub fn execute(&mut self, execution: &Execution) -> CoreId {
        self.execute_observed(execution, &mut ())
    }

    /// Replays one execution and reports the events in the caches to `observer`; returns the core
    /// it ran on.
    pub fn execute_observed(
        &mut self,
        execution: &Execution,
        observer: &mut impl Observer,
    ) -> CoreId {
        self.follow(execution, observer).0
    }

    /// Does the same; returns also whether the thread hopped before.
    #[inline(always)]
    pub(crate) fn follow(
        &mut self,
        execution: &Execution,
        observer: &mut impl Observer,
    ) -> (CoreId, bool) {
        let Execution {
            thread,
            number,
            entry,
            ..
        } = *execution;
        let (left, core) = self.thread_placement.come(thread, number, entry);
        let hopped = left != core;
        self.moves[core.index()].hops += u64::from(hopped);
        self.reference(core, execution.accesses, observer);
        (core, hopped)
    }

    /// Makes these accesses on `core`, regardless of thread positions.
    pub(crate) fn reference(
        &mut self,
        core: CoreId,
        accesses: &[Access],
        observer: &mut impl Observer,
    ) {
        self.repetitions.on_core(core);
        let is_plain = self.translator.is_none() && self.prefetching.is_none();
        for access in accesses {
            let (first, last) = access.lines().into_inner();
            if is_plain && first == last {
                self.access_line(core, access, first, observer);
            } else {
                self.access_lines(core, access, first..=last, observer);
            }
        }
    }

    /// Makes an access within a line, without translation and prefetches.
    #[inline(always)]
    fn access_line(
        &mut self,
        core: CoreId,
        access: &Access,
        line: u64,
        observer: &mut impl Observer,
    ) {
        let kind = access.kind;
        self.moves[core.index()].accesses[kind as usize] += 1;
        let reference = LineReference::new(line, kind);
        if let Some(id) = self.repetitions.find(reference) {
            observer.repeats(core, access, id);
            return;
        }
        observer.makes(core, access);
        let id = self.id(line);
        self.repetitions.add(reference, id);
        self.hierarchy.access(core, kind, id, observer);
    }

    /// Makes an access of these lines.
    fn access_lines(
        &mut self,
        core: CoreId,
        access: &Access,
        lines: RangeInclusive<u64>,
        observer: &mut impl Observer,
    ) {
        observer.makes(core, access);
        let mut page = None;
        for line in lines {
            if self.translator.is_some() {
                self.translate((core, access.kind), line, &mut page, observer);
            }
            let id = self.id(line);
            let reference = LineReference::new(line, access.kind);
            self.repetitions.add(reference, id);
            self.moves[core.index()].accesses[access.kind as usize] += 1;
            match self.prefetching {
                None => self.hierarchy.access(core, access.kind, id, observer),
                Some(_) => self.access_and_prefetch(core, access, (line, id), observer),
            }
        }
    }

    /// References a line of `access`, and brings the line that the prefetcher then requests.
    fn access_and_prefetch(
        &mut self,
        core: CoreId,
        access: &Access,
        (line, id): (u64, LineId),
        observer: &mut impl Observer,
    ) {
        let mut watching = Watching::new(observer);
        self.hierarchy.access(core, access.kind, id, &mut watching);
        let missed = watching.missed();
        let Some(prefetching) = &mut self.prefetching else {
            return;
        };
        if let Some(wanted) = prefetching.after(core, access, (line, id), missed) {
            let insertion = prefetching.insertion;
            let id = self.id(wanted);
            if self.hierarchy.prefetch(core, (id, insertion), &mut ())
                && let Some(prefetching) = &mut self.prefetching
            {
                prefetching.brought(core, id);
            }
        }
    }

    /// Translates the address of `line`, unless it is in `page`, which the same access already
    /// looked up.
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
            entries => {
                observer.walks(core);
                self.walk(core, start, entries, observer)
            }
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

    /// Reads these page-table entries; returns how many missed in the L1D, the L2 and the L3.
    fn walk(
        &mut self,
        core: CoreId,
        start: WalkStart,
        entries: &[u64],
        observer: &mut impl Observer,
    ) -> [u64; 3] {
        let misses = |of: &Self| of.hierarchy.tally()[core.index()].load_misses();
        let before = misses(self);
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
        let after = misses(self);
        std::array::from_fn(|level| after[level] - before[level])
    }

    #[inline]
    fn id(&mut self, line: u64) -> LineId {
        let hierarchy = &mut self.hierarchy;
        self.lines.id(line, |line| {
            hierarchy.line(line);
        })
    }

    /// Returns the core that `thread` is on.
    pub fn core_of(&self, thread: ThreadId) -> CoreId {
        self.thread_placement.core_of(thread)
    }

    /// Returns the line number (an address divided by 64) of a line id that an [`Observer`]
    /// received.
    ///
    /// # Panics
    /// If no line has that id.
    pub fn line_number(&self, id: LineId) -> u64 {
        self.lines.numbers()[id.index()]
    }

    /// Resets the counts; caches and threads do not change.
    pub fn start_counting(&mut self) {
        self.hierarchy.start_counting();
        self.moves.fill(Moves::default());
        if let Some(translator) = &mut self.translator {
            translator.start_counting();
        }
    }

    /// Returns the counts. The number of requests is zero, because only the caller knows it.
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
                .map_or(Vec::new(), |translator| translator.counters().to_vec()),
        }
    }
}
