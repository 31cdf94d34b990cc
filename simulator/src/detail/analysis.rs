//! A sequential replay that an analysis follows, execution by execution and event by event.
//!
//! An [`AnalysisTool`] computes more than totals. It receives each execution, then its events in
//! the caches, then its end. All tools share one loop over the trace, so that each counts the same
//! requests as [`crate::replay()`]. The replay does not depend on the tools.

use crate::error::Error;
use crate::machine::Machine;
use crate::options::{ReplayOptions, chosen_requests};
use crate::prefetchers::registry::PrefetcherName;
use crate::report::observer::Observer;
use crate::report::replay::Replay;
use crate::sequential::Replayer;
use crate::threads::split::Split;
use crate::threads::thread_placement::delegated_calls;
use corehop_traces::{Access, Calls, Execution, RequestId, Trace};

/// An analysis of one replay. It receives each execution before and after the events of
/// [`Observer`] that the execution causes.
pub trait AnalysisTool: Observer {
    /// Begins an execution; the next events belong to it.
    fn begin(&mut self, execution: &Execution<'_>);

    /// Ends the execution; `hopped` is whether it began with a hop.
    fn end(&mut self, hopped: bool);

    /// Discards everything counted so far.
    fn start_counting(&mut self);
}

/// Computes only totals.
impl AnalysisTool for () {
    fn begin(&mut self, _execution: &Execution<'_>) {}

    fn end(&mut self, _hopped: bool) {}

    fn start_counting(&mut self) {}
}

/// Changes the accesses of executions before a replay makes them.
pub trait Rewriter {
    /// Returns the accesses that replace those of the next execution.
    fn rewrite<'a>(&'a mut self, accesses: &'a [Access]) -> &'a [Access];
}

/// Changes nothing.
impl Rewriter for () {
    #[inline]
    fn rewrite<'a>(&'a mut self, accesses: &'a [Access]) -> &'a [Access] {
        accesses
    }
}

/// The requests that a replay counts.
pub(crate) struct CountedRequests {
    first: Option<RequestId>,
    /// Number of counted requests.
    pub number: u64,
}

impl CountedRequests {
    /// Returns whether this request is counted and was recorded to its end.
    pub fn have(&self, trace: &Trace, request: RequestId) -> bool {
        Some(request) >= self.first && trace.requests()[request.index()].complete
    }
}

/// The next event in a trace that is replayed.
pub(crate) enum Step<'e> {
    /// Counting begins; discard everything before.
    StartCounting,
    /// An execution.
    Execution(Execution<'e>),
}

/// Calls `take` for each step of a replay of `trace` with these options.
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

/// Replays `trace` like [`crate::replay()`], with a tool that receives the events.
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

/// Replays `trace` like [`analyze`], with accesses that `rewriter` changes, and with a prefetcher
/// of each core.
///
/// # Errors
/// Those of [`crate::replay()`].
pub fn analyze_changed(
    trace: &Trace,
    (machine, split): (&Machine, &Split),
    options: &ReplayOptions<'_>,
    (rewriter, prefetcher): (&mut impl Rewriter, PrefetcherName),
    tool: &mut impl AnalysisTool,
) -> Result<Replay, Error> {
    let calls = delegated_calls(trace, [split])?;
    let replayer = Replayer::new(machine, split)?.with_prefetcher(prefetcher);
    let replayer = replayer.with_calls(calls.as_ref());
    let (replay, _) = follow_replayer(trace, replayer, options, rewriter, tool)?;
    Ok(replay)
}

/// Replays `trace` like [`crate::replay()`]; `calls` are those that the split delegates.
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
    let replayer = Replayer::new(machine, split)?.with_calls(calls);
    follow_replayer(trace, replayer, options, &mut (), tool)
}

fn follow_replayer(
    trace: &Trace,
    mut replayer: Replayer<'_>,
    options: &ReplayOptions<'_>,
    rewriter: &mut impl Rewriter,
    tool: &mut impl AnalysisTool,
) -> Result<(Replay, CountedRequests), Error> {
    if let Some(page_sizes) = options.page_sizes {
        replayer = replayer.with_translation(page_sizes)?;
    }
    let counted = steps(trace, options, |step| match step {
        Step::StartCounting => {
            replayer.start_counting();
            tool.start_counting();
        }
        Step::Execution(execution) => {
            let accesses = rewriter.rewrite(execution.accesses);
            let execution = Execution {
                accesses,
                ..execution
            };
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
