//! Errors of a characterisation.

/// Why a trace could not be characterised.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The trace could not be read.
    #[error(transparent)]
    Trace(#[from] corehop_traces::Error),
    /// The replay failed.
    #[error(transparent)]
    Replay(#[from] corehop_simulator::Error),
    /// The requests could not be divided.
    #[error(transparent)]
    Requests(#[from] corehop_partitioner::Error),
    /// The trace contains no such function.
    #[error("no function '{name}' was entered in the trace")]
    NoSuchFunction {
        /// The requested name.
        name: String,
    },
}
