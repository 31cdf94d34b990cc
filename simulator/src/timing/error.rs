//! Errors in the setup of a timed replay.

/// Why a timed replay could not be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The trace could not be read.
    #[error(transparent)]
    Trace(#[from] corehop_traces::Error),
    /// No thread of the trace served a whole request.
    #[error(
        "no thread of the trace served a whole request, so there are no connections: record with \
         --request-at, and more than one request"
    )]
    NoConnections,
    /// More connections were requested than the trace has.
    #[error(
        "the trace has {}, but {asked} were requested: use at most {available}, record more \
         connections, or repeat them with --repeat-connections; a repeated connection has the \
         stack and data of the one it repeats, so that both share their lines in the caches, and \
         each store of one invalidates lines of the other",
        threads(.available)
    )]
    TooFewConnections {
        /// Number of threads that serve requests.
        available: usize,
        /// Number requested.
        asked: usize,
    },
    /// Zero connections, or more than can be simulated.
    #[error("{asked} connections: use 1 to {most}")]
    NumberOfConnections {
        /// Number requested.
        asked: usize,
        /// Maximum number that can be simulated.
        most: usize,
    },
    /// Zero cores, or more than the machine has.
    #[error("{asked} cores: machine {machine} has {machine_cores}, use 1 to {machine_cores}")]
    Cores {
        /// Number requested.
        asked: u32,
        /// The machine's name.
        machine: String,
        /// Number of cores the machine has.
        machine_cores: u32,
    },
    /// The scheduler needs a split, but there is none.
    #[error("scheduler {scheduler} needs a plan: add --plan")]
    NeedsPlan {
        /// The scheduler.
        scheduler: String,
    },
    /// The split uses more cores than the replay.
    #[error(
        "the split uses {cores} cores, but the replay {used}: use more of the machine's, or a plan \
         for fewer"
    )]
    TooManyCores {
        /// Number of cores of the split.
        cores: u32,
        /// Number of cores of the replay.
        used: u32,
    },
    /// The rate of requests is zero, or more than one per cycle.
    #[error(
        "{requests_per_million_cycles} requests per million cycles: they must be more than 0 and \
         at most 1000000"
    )]
    Rate {
        /// The requested rate.
        requests_per_million_cycles: f64,
    },
    /// The prefetcher needs instructions, but the streams do not contain them.
    #[error(
        "prefetcher {prefetcher} needs instructions, but these connections were read without them: \
         read them for this prefetcher"
    )]
    NoInstructions {
        /// The prefetcher.
        prefetcher: &'static str,
    },
    /// The branch predictor needs branches, which the connections do not have.
    #[error(
        "branch predictor {predictor} needs branches, but these connections were read without \
         them: read them for this predictor"
    )]
    NoBranches {
        /// The branch predictor.
        predictor: &'static str,
    },
    /// Address translation was requested, but the machine does not describe it.
    #[error(
        "machine {machine} has no TLBs: add [translation] to its file (docs/reference/machines.md)"
    )]
    NoTranslation {
        /// The machine's name.
        machine: String,
    },
    /// The number of requests to count is zero.
    #[error("no requests to count: count at least one")]
    NothingToCount,
    /// The quantum is zero cycles.
    #[error("a quantum of 0 cycles: use at least 1")]
    NoQuantum,
}

/// Formats a number of connections.
fn threads(available: &usize) -> String {
    match available {
        1 => "1 connection (a thread that serves requests)".into(),
        more => format!("{more} connections (threads that serve requests)"),
    }
}
