//! Why a report could not be made.

use corehop_traces::RequestId;

/// What stands between a plan and its report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The trace could not be read.
    #[error(transparent)]
    Trace(#[from] corehop_traces::Error),
    /// The trace could not be replayed.
    #[error(transparent)]
    Replay(#[from] corehop_simulator::Error),
    /// Other splits could not be found.
    #[error(transparent)]
    Search(#[from] corehop_partitioner::Error),
    /// The plan could not be explained.
    #[error(transparent)]
    Explanation(#[from] corehop_partitioner::attribution::Error),
    /// A file could not be written.
    #[error(transparent)]
    Output(#[from] corehop_support::atomic_file::Error),
    /// A request is to be shown that the trace does not have, or not whole.
    #[error("there is no complete request {request}")]
    NoSuchRequest {
        /// The request asked for.
        request: RequestId,
        /// How many complete requests the trace has.
        complete: usize,
    },
    /// A request is to be shown that the plan was searched on, so that it is left out.
    #[error("the plan was searched on request {request}, which is left out")]
    SearchedRequest {
        /// The request asked for.
        request: RequestId,
    },
    /// More requests are to be shown than fit.
    #[error("{requests} are more than a page can show")]
    TooManyRequests {
        /// How many requests were asked for.
        requests: usize,
        /// How many fit.
        most: usize,
    },
}
