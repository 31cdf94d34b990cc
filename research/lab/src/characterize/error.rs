//! Why a trace could not be characterised.

/// What stands between a trace and its characterisation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The trace could not be read.
    #[error(transparent)]
    Trace(#[from] corehop_traces::Error),
    /// The replay refused.
    #[error(transparent)]
    Replay(#[from] corehop_simulator::Error),
    /// The requests could not be divided.
    #[error(transparent)]
    Requests(#[from] corehop_partitioner::Error),
    /// The trace holds no such function.
    #[error("no function '{name}' was entered in the trace")]
    NoSuchFunction {
        /// The name asked for.
        name: String,
    },
}
