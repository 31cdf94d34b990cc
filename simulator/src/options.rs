//! What to replay of a trace: which requests, and from which of them on to count.

use crate::error::Error;
use corehop_traces::RequestId;

/// What to replay of a trace; the default is all of it.
#[derive(Clone, Default)]
pub struct ReplayOptions<'a> {
    /// Only these requests, in any order, as if nothing else had been recorded; `None` for
    /// everything, also what belongs to no request.
    pub requests: Option<Vec<RequestId>>,
    /// The first so many of them run uncounted: counting starts when the first of the others does.
    pub warm_up_requests: usize,
    /// Told now and then how many executions were replayed since it was last told.
    pub progress: Option<&'a (dyn Fn(u64) + Sync)>,
}

/// How often a sequential replay of a trace tells its progress: some hundred times a second.
pub(crate) const EXECUTIONS_PER_REPORT: u64 = 1 << 16;

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
