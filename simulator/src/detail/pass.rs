//! One sequential replay that feeds all parts of the detail, access by access.
//!
//! The engine reports each access, miss and lost line to an [`Observer`]. All parts share one
//! observer, so that they analyse the same replay and their sums equal its totals. Lines are the
//! engine's own ids. The work cannot be distributed over host cores: a stack distance needs every
//! access in order.

use super::analysis::{AnalysisTool, follow};
use super::attribution::{Attribution, CodeOwner};
use super::cores::{CoreUse, CoreUses};
use super::interference::{Interference, Interfering};
use super::reuse_distance::{LruStack, ReuseDistances};
use super::segments::Segments;
use super::sums::Sums;
use super::working_set::{WorkingSet, WorkingSets};
use crate::error::Error;
use crate::ids::{CoreId, LineId};
use crate::machine::Machine;
use crate::options::ReplayOptions;
use crate::report::counters::Counters;
use crate::report::observer::{CacheLevel, Cause, Observer, Translated};
use crate::report::replay::Replay;
use crate::report::tlb_counters::TlbCounters;
use crate::threads::split::Split;
use crate::threads::thread_placement::{ThreadPlacement, delegated_calls};
use corehop_traces::{Calls, Execution, Kind, Trace};
use std::cmp::Reverse;

/// Results of a replay beyond its totals. All of them exclude the warm-up.
#[derive(Clone, Debug)]
pub struct Detail {
    /// All executed code, most L2 misses first; the sum equals the replay's counters.
    pub functions: Vec<FunctionCost>,
    /// Costs by segment number; the sum equals the replay's counters.
    pub segments: Vec<Cost>,
    /// Lines that segments lost to each other.
    pub interference: Interference,
    /// Stack distances of all accesses.
    pub reuse_distances: ReuseDistances,
    /// Working sets of requests, in order; without requests truncated by the end of the recording.
    pub working_sets: Vec<WorkingSet>,
    /// Activity of each core of the split.
    pub cores: Vec<CoreUse>,
}

/// Cache counters of a part of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Number of times a thread entered it at a function's entry. A return from a called function
    /// is not an entry.
    pub entries: u64,
    /// Its accesses and misses. Invalidated lines are those that its stores removed from other
    /// cores; cycles include the hops at its entries.
    pub counters: Counters,
    /// Its translations; zero without address translation.
    pub tlbs: TlbCounters,
}

/// Cache counters of some code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionCost {
    /// The owner of the code.
    pub owner: CodeOwner,
    /// Its cost, without the functions it calls.
    pub cost: Cost,
}

/// Replays `trace` like [`crate::replay()`], and analyses each part of it.
///
/// # Errors
/// Those of [`crate::replay()`].
pub fn replay_in_detail(
    trace: &Trace,
    machine: &Machine,
    split: &Split,
    segments: &Segments,
    options: &ReplayOptions,
) -> Result<(Replay, Detail), Error> {
    let calls = delegated_calls(trace, [split, segments.as_split()])?;
    let attribution = Attribution::of(trace);
    let mut collector = Collector::new(
        machine,
        split.cores(),
        &attribution,
        (segments, calls.as_ref()),
    );
    let on = (machine, split);
    let (replay, counted) = follow(trace, on, calls.as_ref(), options, &mut collector)?;
    let mut detail = collector.finish(machine);
    let of_cores = detail.cores.iter_mut().map(|core| &mut core.working_sets);
    for sets in of_cores.chain([&mut detail.working_sets]) {
        sets.retain(|set| counted.have(trace, set.request));
    }
    Ok((replay, detail))
}

fn cost(sums: &Sums, machine: &Machine) -> Cost {
    Cost {
        entries: sums.entries,
        counters: sums.counters(machine),
        tlbs: sums.tlbs,
    }
}

/// The observer that feeds all parts.
struct Collector<'a> {
    attribution: &'a Attribution,
    segments: &'a Segments,
    /// Number of cores that share an L2.
    cores_per_l2: usize,
    by_owner: Vec<Sums>,
    by_segment: Vec<Sums>,
    /// The segments of threads, represented as cores.
    segments_of_threads: ThreadPlacement<'a>,
    /// The owner of the executing code, and its segment.
    owner: usize,
    segment: u32,
    stack: LruStack,
    distances: ReuseDistances,
    working_sets: WorkingSets,
    interfering: Interfering,
    cores: CoreUses,
}

impl<'a> Collector<'a> {
    fn new(
        machine: &Machine,
        cores: u32,
        attribution: &'a Attribution,
        (segments, calls): (&'a Segments, Option<&'a Calls>),
    ) -> Self {
        let l2s = cores.div_ceil(machine.l2.shared_by) as usize;
        Collector {
            attribution,
            segments,
            cores_per_l2: machine.l2.shared_by as usize,
            by_owner: vec![Sums::default(); attribution.owners()],
            by_segment: vec![Sums::default(); segments.names().len()],
            segments_of_threads: ThreadPlacement::new(segments.as_split(), calls),
            owner: 0,
            segment: 0,
            stack: LruStack::default(),
            distances: ReuseDistances::default(),
            working_sets: WorkingSets::default(),
            interfering: Interfering::new(l2s, segments.names().len()),
            cores: CoreUses::new(cores as usize, attribution.owners()),
        }
    }

    #[inline]
    fn sums(&mut self, add: impl Fn(&mut Sums)) {
        add(&mut self.by_owner[self.owner]);
        add(&mut self.by_segment[self.segment as usize]);
    }

    #[inline]
    fn reference(&mut self, core: CoreId, kind: Kind, line: LineId) {
        self.distances.count(kind, self.stack.reference(line));
        self.working_sets.reference(kind, line);
        self.cores.reference(core, kind, line);
        let l2 = core.index() / self.cores_per_l2;
        self.interfering.reference(l2, line, self.segment);
    }

    fn finish(self, machine: &Machine) -> Detail {
        let executed = self.by_owner.iter().zip(0..);
        let executed = executed.filter(|(sums, _)| sums.accesses != [0; 3]);
        let mut functions: Vec<FunctionCost> = executed
            .map(|(sums, number)| FunctionCost {
                owner: self.attribution.owner(number),
                cost: cost(sums, machine),
            })
            .collect();
        functions.sort_by_key(|function| {
            let counters = &function.cost.counters;
            Reverse((counters.l2.misses(), counters.accesses()))
        });
        let segments = self.by_segment.iter().map(|sums| cost(sums, machine));
        Detail {
            functions,
            segments: segments.collect(),
            interference: self.interfering.counted().clone(),
            reuse_distances: self.distances,
            working_sets: self.working_sets.finish(),
            cores: self.cores.finish(self.attribution),
        }
    }
}

impl Observer for Collector<'_> {
    #[inline]
    fn accessed(&mut self, core: CoreId, kind: Kind, line: LineId) {
        self.sums(|sums| sums.accesses[kind as usize] += 1);
        self.reference(core, kind, line);
    }

    fn loads_from_l2(&mut self, core: CoreId, line: LineId) {
        self.sums(|sums| sums.tally.l2_loads += 1);
        self.reference(core, Kind::Load, line);
    }

    fn translated(&mut self, _core: CoreId, kind: Kind, translated: &Translated) {
        self.sums(|sums| sums.tlbs.count(kind, translated));
    }

    fn missed(&mut self, level: CacheLevel, core: CoreId, kind: Kind, cause: Cause, line: LineId) {
        self.sums(|sums| sums.tally.count(level, kind, cause));
        let l2 = core.index() / self.cores_per_l2;
        match (level, cause) {
            (CacheLevel::L2, Cause::Capacity) => {
                self.interfering.miss_for_capacity(l2, line, self.segment);
            }
            (CacheLevel::L2, Cause::Coherence) => {
                self.interfering.miss_for_coherence(l2, line, self.segment);
            }
            _ => {}
        }
    }

    fn transferred(&mut self, _core: CoreId, kind: Kind, _line: LineId) {
        self.sums(|sums| sums.tally.transfers[kind as usize] += 1);
    }

    fn hit_modified(&mut self, _core: CoreId, kind: Kind, _line: LineId) {
        self.sums(|sums| sums.tally.hit_modified[kind as usize] += 1);
    }

    fn replaced(&mut self, level: CacheLevel, instance: usize, _core: CoreId, line: LineId) {
        if level == CacheLevel::L2 {
            self.interfering.replace(instance, line, self.segment);
        }
    }

    fn invalidated(&mut self, cluster: usize, core: CoreId, line: LineId) {
        self.sums(|sums| sums.tally.invalidated_lines += 1);
        self.interfering.invalidate(cluster, line, self.segment);
        let first = CoreId::from_index(cluster * self.cores_per_l2);
        self.cores.lose(first, core);
    }
}

impl AnalysisTool for Collector<'_> {
    fn begin(&mut self, execution: &Execution<'_>) {
        self.owner = self.attribution.owner_of(execution.code_block);
        if let Some(function) = execution.entry {
            self.by_owner[self.owner].entries += 1;
            if let Some(begun) = self.segments.begun_by(function) {
                self.by_segment[begun as usize].entries += 1;
            }
        }
        let Execution {
            thread,
            number,
            entry,
            ..
        } = *execution;
        (_, CoreId(self.segment)) = self.segments_of_threads.come(thread, number, entry);
        self.working_sets.serve(execution.thread, execution.request);
        self.cores.begin(execution, self.owner);
    }

    fn end(&mut self, hopped: bool) {
        self.sums(|sums| sums.hops += u64::from(hopped));
    }

    fn start_counting(&mut self) {
        self.by_owner.fill(Sums::default());
        self.by_segment.fill(Sums::default());
        self.distances = ReuseDistances::default();
        self.interfering.start_counting();
        self.cores.start_counting();
    }
}
