//! The requests that the report shows access by access, as in figure 2 of "Automatic staged
//! computation".
//!
//! Each request is a grid of cells, with the cores it ran on and the names of its memory regions.
//! All requests of a trace would be too much for one page, so an evenly spread selection is shown.

use super::grid::{Cells, Grid};
use super::regions::{Region, Regions, Stacks};
use super::replay_pass::{ReplayStep, StepListener};
use corehop_partitioner::attribution::Explanation;
use corehop_simulator::{CoreId, Split, detail::Attribution};
use corehop_traces::{FunctionId, RequestId, ThreadId, Trace};
use std::collections::BTreeMap;

/// Number of requests to show without a selection.
const SHOWN: usize = 12;

/// A period that a request spent on one core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    pub core: CoreId,
    /// Number of the request's line accesses before it.
    pub begins: u64,
    /// The planned function whose entry began it; `None` if the request began on that core, or for
    /// a return to a core.
    pub entered: Option<FunctionId>,
    /// L2 misses with the plan.
    pub missed: u64,
}

/// One request.
pub struct PicturedRequest {
    pub request: RequestId,
    pub thread: ThreadId,
    /// Whether it came after the requests that warm the caches.
    pub counted: bool,
    pub cells: Cells,
    pub stays: Vec<Stay>,
    pub regions: Vec<Region>,
    /// L2 misses on one core, and with the plan.
    pub missed: [u64; 2],
}

#[derive(Default)]
struct OpenRequest {
    thread: ThreadId,
    counted: bool,
    grid: Grid,
    references: u64,
    stays: Vec<Stay>,
    missed: [u64; 2],
}

/// Collects requests, step by step.
pub struct PicturedRequests<'a> {
    split: &'a Split,
    attribution: Attribution,
    stacks: Stacks,
    open: BTreeMap<RequestId, OpenRequest>,
}

/// Selects the counted requests to show: the first, the last, and others evenly between them.
pub fn spread(explained: &Explanation<'_>) -> Vec<RequestId> {
    let counted = &explained.requests[explained.warm_up.min(explained.requests.len())..];
    let shown = counted.len().min(SHOWN);
    let place = |number: usize| number * (counted.len() - 1) / (shown - 1).max(1);
    (0..shown).map(|number| counted[place(number)]).collect()
}

impl<'a> PicturedRequests<'a> {
    pub fn new(explained: &'a Explanation<'_>, requests: &[RequestId]) -> PicturedRequests<'a> {
        let trace = explained.trace;
        let open = requests
            .iter()
            .map(|&request| (request, OpenRequest::default()));
        PicturedRequests {
            split: &explained.split,
            attribution: Attribution::of(trace),
            stacks: Stacks::new(trace),
            open: open.collect(),
        }
    }

    /// Returns the collected requests, with at most this many cells each.
    pub fn finish(self, trace: &Trace, cells: usize) -> (Vec<PicturedRequest>, Attribution) {
        let regions = Regions::new(trace, &self.stacks);
        let pictured = self.open.into_iter().map(|(request, open)| {
            let cells = open.grid.into_cells(cells);
            PicturedRequest {
                request,
                thread: open.thread,
                counted: open.counted,
                regions: regions.of(&cells.lines),
                cells,
                stays: open.stays,
                missed: open.missed,
            }
        });
        (pictured.collect(), self.attribution)
    }
}

impl StepListener for PicturedRequests<'_> {
    fn step(&mut self, step: &ReplayStep<'_>) {
        self.stacks.step(step);
        let execution = step.execution;
        let open = execution
            .request
            .and_then(|request| self.open.get_mut(&request));
        let Some(open) = open else {
            return;
        };
        if open.stays.last().is_none_or(|stay| stay.core != step.core) {
            let planned = |function: &FunctionId| self.split.core_of(*function).is_some();
            open.stays.push(Stay {
                core: step.core,
                begins: open.references,
                entered: execution.entry.filter(planned),
                missed: 0,
            });
        }
        (open.thread, open.counted) = (execution.thread, step.counted);
        let owner = self.attribution.owner_of(execution.code_block) as u32;
        let stay = open
            .stays
            .last_mut()
            .expect("one was pushed at the latest now");
        for reference in step.references {
            open.grid.add(reference, owner);
            for (sum, missed) in open.missed.iter_mut().zip(reference.missed) {
                *sum += u64::from(missed);
            }
            stay.missed += u64::from(reference.missed[1]);
        }
        open.references += step.references.len() as u64;
    }
}
