//! What can be wrong with a timed replay that is asked for.

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
    /// More connections than the trace has.
    #[error(
        "the trace has {}, but {asked} were requested: use at most {available}, record more \
         connections, or repeat them with --repeat-connections; a repeated connection has the \
         stack and data of the one it repeats, so that both share their lines in the caches, and \
         each store of one invalidates lines of the other",
        threads(.available)
    )]
    TooFewConnections {
        /// Threads that serve requests.
        available: usize,
        /// How many were asked for.
        asked: usize,
    },
    /// None, or more than can be simulated.
    #[error("{asked} connections: use 1 to {most}")]
    NumberOfConnections {
        /// How many were asked for.
        asked: usize,
        /// The most that can be simulated.
        most: usize,
    },
    /// None, or more than the machine has.
    #[error("{asked} cores: machine {machine} has {machine_cores}, use 1 to {machine_cores}")]
    Cores {
        /// How many were asked for.
        asked: u32,
        /// The machine's name.
        machine: String,
        /// Cores it has.
        machine_cores: u32,
    },
    /// A scheduler that goes by a split, without one.
    #[error("scheduler {scheduler} needs a plan: add --plan")]
    NeedsPlan {
        /// The scheduler.
        scheduler: String,
    },
    /// The split uses more cores than are used.
    #[error(
        "the split uses {cores} cores, but the replay {used}: use more of the machine's, or a plan \
         for fewer"
    )]
    TooManyCores {
        /// Cores of the split.
        cores: u32,
        /// Cores of the replay.
        used: u32,
    },
    /// No requests arrive, or more than one a cycle.
    #[error(
        "{requests_per_million_cycles} requests per million cycles: they must be more than 0 and \
         at most 1000000"
    )]
    Rate {
        /// What was asked for.
        requests_per_million_cycles: f64,
    },
    /// A prefetcher that goes by instructions, of which the streams do not say anything.
    #[error(
        "prefetcher {prefetcher} needs instructions, but these connections were read without them: \
         read them for this prefetcher"
    )]
    NoInstructions {
        /// The prefetcher.
        prefetcher: &'static str,
    },
    /// Nothing to count.
    #[error("no requests to count: count at least one")]
    NothingToCount,
    /// A turn of no cycles.
    #[error("a quantum of 0 cycles: use at least 1")]
    NoQuantum,
}

/// So many connections, in words.
fn threads(available: &usize) -> String {
    match available {
        1 => "1 connection (a thread that serves requests)".into(),
        more => format!("{more} connections (threads that serve requests)"),
    }
}
