//! A sequential replay that an analysis follows, execution by execution and event by event.
//!
//! Whoever wants more than totals follows one: an [`AnalysisTool`] receives each execution, then
//! what that makes happen in the caches, and that it is over. One loop over the trace serves all of
//! them, so that each counts the same requests as [`crate::replay()`] does. The replay knows
//! nothing of what they compute.

use crate::error::Error;
use crate::machine::Machine;
use crate::options::{ReplayOptions, chosen_requests};
use crate::report::observer::Observer;
use crate::report::replay::Replay;
use crate::sequential::Replayer;
use crate::threads::split::Split;
use crate::threads::thread_placement::delegated_calls;
use corehop_traces::{Calls, Execution, RequestId, Trace};

/// An analysis of one replay: it receives each execution before and after the events of
/// [`Observer`] that the execution causes.
pub trait AnalysisTool: Observer {
    /// What follows belongs to this execution.
    fn begin(&mut self, execution: &Execution<'_>);

    /// The execution is over; it began with a hop or not.
    fn end(&mut self, hopped: bool);

    /// What came up to here does not count.
    fn start_counting(&mut self);
}

/// Wants to know nothing beyond totals.
impl AnalysisTool for () {
    fn begin(&mut self, _execution: &Execution<'_>) {}

    fn end(&mut self, _hopped: bool) {}

    fn start_counting(&mut self) {}
}

/// The requests that a replay counts.
pub(crate) struct CountedRequests {
    first: Option<RequestId>,
    /// How many there are.
    pub number: u64,
}

impl CountedRequests {
    /// Whether this one is counted, and was recorded to its end.
    pub fn have(&self, trace: &Trace, request: RequestId) -> bool {
        Some(request) >= self.first && trace.requests()[request.index()].complete
    }
}

/// What comes next in a trace that is replayed.
pub(crate) enum Step<'e> {
    /// What came up to here does not count.
    StartCounting,
    /// An execution.
    Execution(Execution<'e>),
}

/// Goes through `trace` as a replay with these options does.
///
/// # Errors
/// Those of [`crate::replay()`].
pub(crate) fn steps(
    trace: &Trace,
    options: &ReplayOptions<'_>,
    mut take: impl FnMut(Step<'_>),
) -> Result<CountedRequests, Error> {
    let chosen = chosen_requests(options, trace.requests().len())?;
    let first = chosen.get(options.warm_up_requests).copied();
    let mut counting = options.warm_up_requests == 0;
    let mut executions = options.played(trace);
    while let Some(execution) = executions.next()? {
        if !counting && execution.request >= first {
            counting = true;
            take(Step::StartCounting);
        }
        take(Step::Execution(execution));
    }
    if !counting {
        take(Step::StartCounting);
    }
    let number = (chosen.len() - options.warm_up_requests) as u64;
    Ok(CountedRequests { first, number })
}

/// Replays `trace` as [`crate::replay()`] does, with a tool that receives what happens.
///
/// # Errors
/// Those of [`crate::replay()`].
pub fn analyze(
    trace: &Trace,
    machine: &Machine,
    split: &Split,
    options: &ReplayOptions<'_>,
    tool: &mut impl AnalysisTool,
) -> Result<Replay, Error> {
    let calls = delegated_calls(trace, [split])?;
    let on = (machine, split);
    let (replay, _) = follow(trace, on, calls.as_ref(), options, tool)?;
    Ok(replay)
}

/// Replays `trace` as [`crate::replay()`] does; `calls` are those that the split delegates.
///
/// # Errors
/// Those of [`crate::replay()`].
pub(crate) fn follow(
    trace: &Trace,
    (machine, split): (&Machine, &Split),
    calls: Option<&Calls>,
    options: &ReplayOptions<'_>,
    tool: &mut impl AnalysisTool,
) -> Result<(Replay, CountedRequests), Error> {
    let mut replayer = Replayer::new(machine, split)?.with_calls(calls);
    if let Some(page_sizes) = options.page_sizes {
        replayer = replayer.with_translation(page_sizes)?;
    }
    let counted = steps(trace, options, |step| match step {
        Step::StartCounting => {
            replayer.start_counting();
            tool.start_counting();
        }
        Step::Execution(execution) => {
            tool.begin(&execution);
            let before = replayer.core_of(execution.thread);
            let core = replayer.execute_observed(&execution, tool);
            tool.end(core != before);
        }
    })?;
    let mut replay = replayer.finish();
    replay.requests = counted.number;
    Ok((replay, counted))
}
