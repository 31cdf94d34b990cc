//! What to replay of a trace: which requests, and from which of them on to count.

use crate::error::Error;
use crate::translation::PageSizes;
use corehop_traces::{Executions, RequestId, Tell, Trace};

/// What to replay of a trace; the default is all of it.
#[derive(Clone, Default)]
pub struct ReplayOptions<'a> {
    /// Only these requests, in any order, as if nothing else had been recorded; `None` for
    /// everything, also what belongs to no request.
    pub requests: Option<Vec<RequestId>>,
    /// The first so many of them run uncounted: counting starts when the first of the others does.
    pub warm_up_requests: usize,
    /// Told now and then how many executions were read since it was last told; in all, as many as
    /// [`ReplayOptions::executions`] says.
    pub progress: Option<Tell<'a>>,
    /// Addresses are translated, with pages of these sizes; `None` for no translation. Only
    /// [`crate::replay()`], [`crate::replay_all`] and the replays of [`crate::detail`], without
    /// that of posted calls, translate. The trace has to give virtual addresses.
    pub page_sizes: Option<&'a PageSizes>,
}

impl ReplayOptions<'_> {
    /// How many executions a pass over what is replayed reads: those of requests that were not
    /// asked for count, too, where they stand in a chunk with others.
    pub fn executions(&self, trace: &Trace) -> u64 {
        trace.executions_read(self.requests.as_deref())
    }

    /// The same, with somebody told.
    #[must_use]
    pub fn telling<'t>(&'t self, tell: Tell<'t>) -> ReplayOptions<'t> {
        ReplayOptions {
            requests: self.requests.clone(),
            warm_up_requests: self.warm_up_requests,
            progress: Some(tell),
            page_sizes: self.page_sizes,
        }
    }

    /// What is replayed, in its order.
    pub(crate) fn played<'t>(&'t self, trace: &'t Trace) -> Executions<'t> {
        let executions = trace.executions_chosen(self.requests.as_deref());
        match self.progress {
            Some(tell) => executions.telling(tell),
            None => executions,
        }
    }
}

/// The requests to replay, in the trace's order, once it is sure that they make sense.
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
