//! Cache counters and instruction counts of each function: an analysis without the parts of
//! [`super::replay_in_detail`] that track the history of each line.
//!
//! It is used to compare two traces, so it takes little longer than a replay alone.

use super::analysis::{AnalysisTool, analyze};
use super::attribution::Attribution;
use super::pass::{Cost, FunctionCost};
use super::sums::Sums;
use crate::error::Error;
use crate::ids::{CoreId, LineId};
use crate::machine::Machine;
use crate::options::ReplayOptions;
use crate::report::observer::{CacheLevel, Cause, Observer, Translated};
use crate::report::replay::Replay;
use crate::threads::split::Split;
use corehop_traces::{Execution, Kind, Trace};
use std::cmp::Reverse;

/// The totals of a replay, and their distribution over functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByFunction {
    /// The totals.
    pub replay: Replay,
    /// Number of executed instructions, without the warm-up.
    pub instructions: u64,
    /// All executed code, most L2 misses first; the sum equals the replay's counters.
    pub functions: Vec<FunctionCost>,
}

/// Replays `trace` like [`crate::replay()`], and counts for each function.
///
/// # Errors
/// Those of [`crate::replay()`].
pub fn replay_by_function(
    trace: &Trace,
    machine: &Machine,
    split: &Split,
    options: &ReplayOptions<'_>,
) -> Result<ByFunction, Error> {
    let attribution = Attribution::of(trace);
    let mut collector = Collector {
        trace,
        attribution: &attribution,
        by_owner: vec![Sums::default(); attribution.owners()],
        owner: 0,
        instructions: 0,
    };
    let replay = analyze(trace, machine, split, options, &mut collector)?;
    let executed = collector.by_owner.iter().enumerate();
    let executed = executed.filter(|(_, sums)| sums.accesses != [0; 3]);
    let mut functions: Vec<FunctionCost> = executed
        .map(|(number, sums)| FunctionCost {
            owner: attribution.owner(number),
            cost: Cost {
                entries: sums.entries,
                counters: sums.counters(machine),
                tlbs: sums.tlbs,
            },
        })
        .collect();
    functions.sort_by_key(|function| {
        let counters = &function.cost.counters;
        Reverse((counters.l2.misses(), counters.accesses()))
    });
    Ok(ByFunction {
        replay,
        instructions: collector.instructions,
        functions,
    })
}

struct Collector<'a> {
    trace: &'a Trace,
    attribution: &'a Attribution,
    by_owner: Vec<Sums>,
    /// The owner of the executing code.
    owner: usize,
    instructions: u64,
}

impl Collector<'_> {
    fn sums(&mut self) -> &mut Sums {
        &mut self.by_owner[self.owner]
    }
}

impl Observer for Collector<'_> {
    #[inline]
    fn accessed(&mut self, _: CoreId, kind: Kind, _: LineId) {
        self.sums().accesses[kind as usize] += 1;
    }

    fn loads_from_l2(&mut self, _: CoreId, _: LineId) {
        self.sums().tally.l2_loads += 1;
    }

    fn translated(&mut self, _: CoreId, kind: Kind, translated: &Translated) {
        self.sums().tlbs.count(kind, translated);
    }

    fn missed(&mut self, level: CacheLevel, _: CoreId, kind: Kind, cause: Cause, _: LineId) {
        self.sums().tally.count(level, kind, cause);
    }

    fn transferred(&mut self, _: CoreId, kind: Kind, _: LineId) {
        self.sums().tally.transfers[kind as usize] += 1;
    }

    fn hit_modified(&mut self, _: CoreId, kind: Kind, _: LineId) {
        self.sums().tally.hit_modified[kind as usize] += 1;
    }

    fn invalidated(&mut self, _: usize, _: CoreId, _: LineId) {
        self.sums().tally.invalidated_lines += 1;
    }
}

impl AnalysisTool for Collector<'_> {
    fn begin(&mut self, execution: &Execution<'_>) {
        self.owner = self.attribution.owner_of(execution.code_block);
        self.sums().entries += u64::from(execution.entry.is_some());
        let block = &self.trace.code_blocks()[execution.code_block as usize];
        self.instructions += block.instructions.len() as u64;
    }

    fn end(&mut self, hopped: bool) {
        self.sums().hops += u64::from(hopped);
    }

    fn start_counting(&mut self) {
        self.by_owner.fill(Sums::default());
        self.instructions = 0;
    }
}
