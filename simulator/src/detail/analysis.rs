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
    /// Returns the accesses that replace those of the next execution; `None` if it keeps its own.
    fn rewrite(&mut self, accesses: &[Access]) -> Option<&[Access]>;
}

/// Changes nothing.
impl Rewriter for () {
    #[inline]
    fn rewrite(&mut self, _: &[Access]) -> Option<&[Access]> {
        None
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

/// Calls `execute` with `state` for each execution of a replay of `trace` with these options.
/// Before that of the first counted request, or at the end, it calls `start_counting`: everything
/// before is discarded.
///
/// # Errors
/// Those of [`crate::replay()`].
#[inline]
pub(crate) fn play<S>(
    trace: &Trace,
    options: &ReplayOptions<'_>,
    state: &mut S,
    start_counting: impl Fn(&mut S),
    execute: impl Fn(&mut S, &Execution<'_>),
) -> Result<CountedRequests, Error> {
    let chosen = chosen_requests(options, trace.requests().len())?;
    let first = chosen.get(options.warm_up_requests).copied();
    let mut counting = options.warm_up_requests == 0;
    let mut executions = options.played(trace);
    while let Some(execution) = executions.next()? {
        if !counting && execution.request >= first {
            counting = true;
            start_counting(state);
        }
        execute(state, &execution);
    }
    if !counting {
        start_counting(state);
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
    let counted = play(
        trace,
        options,
        &mut (&mut replayer, rewriter, tool),
        |(replayer, _, tool)| {
            replayer.start_counting();
            tool.start_counting();
        },
        |(replayer, rewriter, tool), execution| {
            let rewritten;
            let execution = match rewriter.rewrite(execution.accesses) {
                None => execution,
                Some(accesses) => {
                    rewritten = Execution {
                        accesses,
                        ..*execution
                    };
                    &rewritten
                }
            };
            tool.begin(execution);
            let (_, hopped) = replayer.follow(execution, *tool);
            tool.end(hopped);
        },
    )?;
    let mut replay = replayer.finish();
    replay.requests = counted.number;
    Ok((replay, counted))
}
