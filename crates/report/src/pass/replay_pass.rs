//! One pass over the replayed requests that reports every line access, and whether it missed the L2
//! on one core and with the plan.
//!
//! Totals come from the explanation. This pass provides details: when a line was accessed, and
//! which calls were open then. Two replays run side by side, so that each access is reported once
//! with both results. Two successive replays would have to store all accesses in memory.

use crate::error::Error;
use corehop_partitioner::attribution::Explanation;
use corehop_partitioner::progress::{self, Progress};
use corehop_simulator::{CacheLevel, Cause, CoreId, LineId, Observer, Replayer, Split};
use corehop_traces::{Calls, Execution, Kind, Trace};

/// One line access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineReference {
    /// Address divided by 64.
    pub line: u64,
    pub kind: Kind,
    /// Whether it missed the L2 on one core, and with the plan.
    pub missed: [bool; 2],
}

/// One execution and its line accesses.
pub struct ReplayStep<'a> {
    pub execution: &'a Execution<'a>,
    /// Its core with the plan.
    pub core: CoreId,
    /// Whether the warm-up of the caches is over.
    pub counted: bool,
    pub references: &'a [LineReference],
}

/// A listener of the pass.
pub trait StepListener {
    /// Receives the next execution in the order of the replay.
    fn step(&mut self, step: &ReplayStep<'_>);
}

/// Which accesses of an execution missed an L2, line by line.
#[derive(Default)]
struct Missed(Vec<bool>);

impl Observer for Missed {
    fn accessed(&mut self, _core: CoreId, _kind: Kind, _line: LineId) {
        self.0.push(false);
    }

    fn missed(
        &mut self,
        level: CacheLevel,
        _core: CoreId,
        _kind: Kind,
        _cause: Cause,
        _line: LineId,
    ) {
        if level == CacheLevel::L2
            && let Some(last) = self.0.last_mut()
        {
            *last = true;
        }
    }
}

/// Returns the calls that the pass needs: of all functions, or of those that the plan delegates.
pub fn calls(trace: &Trace, split: &Split, all: bool) -> Result<Option<Calls>, Error> {
    let mut wanted = vec![all; trace.functions().len()];
    for function in split.delegated() {
        wanted[function.index()] = true;
    }
    let any = wanted.contains(&true);
    Ok(any.then(|| Calls::of(trace, &wanted)).transpose()?)
}

/// Reports all executions of the explained requests, including the warm-up.
pub fn run(
    explained: &Explanation<'_>,
    calls: Option<&Calls>,
    listeners: &mut [&mut dyn StepListener],
    progress: &dyn Progress,
) -> Result<(), Error> {
    let (trace, machine) = (explained.trace, explained.machine);
    let one_core = Split::default();
    let mut before = Replayer::new(machine, &one_core)?;
    let mut after = Replayer::new(machine, &explained.split)?.with_calls(calls);
    let first_counted = explained.requests.get(explained.warm_up).copied();
    let mut missed = [Missed::default(), Missed::default()];
    let mut references = Vec::new();
    let mut counted = false;
    let requests = &explained.requests[..];
    let stage = (
        "code blocks pictured",
        trace.executions_read(Some(requests)),
    );
    progress::stage(progress, stage, |tell| -> Result<(), Error> {
        let mut executions = trace.executions_of(requests).telling(tell);
        while let Some(execution) = executions.next()? {
            missed.iter_mut().for_each(|missed| missed.0.clear());
            before.execute_observed(&execution, &mut missed[0]);
            let core = after.execute_observed(&execution, &mut missed[1]);
            counted |= execution.request >= first_counted;
            references.clear();
            let lines = execution.accesses.iter();
            let lines = lines.flat_map(|access| access.lines().map(|line| (line, access.kind)));
            for (place, (line, kind)) in lines.enumerate() {
                let missed = [missed[0].0[place], missed[1].0[place]];
                references.push(LineReference { line, kind, missed });
            }
            let step = ReplayStep {
                execution: &execution,
                core,
                counted,
                references: &references,
            };
            for listener in &mut *listeners {
                listener.step(&step);
            }
        }
        Ok(())
    })
}
