//! Selects what to replay of a trace: the requests, and the first request to count.

use crate::error::Error;
use crate::translation::PageSizes;
use corehop_traces::{Executions, RequestId, Tell, Trace};

/// Selects what to replay of a trace; the default is all of it.
#[derive(Clone, Default)]
pub struct ReplayOptions<'a> {
    /// Replay only these requests, in any order, as if nothing else had been recorded. `None`
    /// replays everything, including executions that belong to no request.
    pub requests: Option<Vec<RequestId>>,
    /// Number of leading requests that run uncounted. Counting starts at the first remaining
    /// request.
    pub warm_up_requests: usize,
    /// Called periodically with the number of executions read since the previous call; the sum is
    /// [`ReplayOptions::executions`].
    pub progress: Option<Tell<'a>>,
    /// Translate addresses with pages of these sizes; `None` for no translation. Only
    /// [`crate::replay()`], [`crate::replay_all`] and the replays of [`crate::detail`] translate,
    /// except the one of posted calls. The trace must contain virtual addresses.
    pub page_sizes: Option<&'a PageSizes>,
}

impl ReplayOptions<'_> {
    /// Returns the number of executions that one pass reads. It includes executions of requests
    /// outside the selection if they share a chunk with selected ones.
    pub fn executions(&self, trace: &Trace) -> u64 {
        trace.executions_read(self.requests.as_deref())
    }

    /// Returns the same options with `tell` as progress callback.
    #[must_use]
    pub fn telling<'t>(&'t self, tell: Tell<'t>) -> ReplayOptions<'t> {
        ReplayOptions {
            requests: self.requests.clone(),
            warm_up_requests: self.warm_up_requests,
            progress: Some(tell),
            page_sizes: self.page_sizes,
        }
    }

    /// Returns the executions to replay, in replay order.
    pub(crate) fn played<'t>(&'t self, trace: &'t Trace) -> Executions<'t> {
        let executions = trace.executions_chosen(self.requests.as_deref());
        match self.progress {
            Some(tell) => executions.telling(tell),
            None => executions,
        }
    }
}

/// Returns the requests to replay, in trace order, after checking that the selection is valid.
pub(crate) fn chosen_requests(
    options: &ReplayOptions<'_>,
    requests: usize,
) -> Result<Vec<RequestId>, Error> {
    let warm_up = options.warm_up_requests;
    if requests == 0 && (warm_up > 0 || options.requests.is_some()) {
        return Err(Error::NoRequests);
    }
    let mut chosen = match &options.requests {
        Some(chosen) => chosen.clone(),
        None => (0..requests).map(RequestId::from_index).collect(),
    };
    chosen.sort_unstable();
    chosen.dedup();
    if let Some(&request) = chosen.last().filter(|&&last| last.index() >= requests) {
        return Err(Error::UnknownRequest { request, requests });
    }
    if warm_up > 0 && warm_up >= chosen.len() {
        return Err(Error::NothingToCount {
            warm_up,
            chosen: chosen.len(),
        });
    }
    Ok(chosen)
}
