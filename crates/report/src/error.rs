//! Why a report could not be created.

use corehop_traces::RequestId;

/// Reason for a missing report.
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
    /// A requested request is not in the trace, or not complete.
    #[error("there is no complete request {request}")]
    NoSuchRequest {
        /// The requested request.
        request: RequestId,
        /// Number of complete requests in the trace.
        complete: usize,
    },
    /// A requested request was used to search the plan, so it is left out.
    #[error("the plan was searched on request {request}, which is left out")]
    SearchedRequest {
        /// The requested request.
        request: RequestId,
    },
    /// More requests were requested than a page can show.
    #[error("{requests} are more than a page can show")]
    TooManyRequests {
        /// Number of requested requests.
        requests: usize,
        /// Maximum number.
        most: usize,
    },
}
