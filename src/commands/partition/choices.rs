//! The named values of options of `corehop partition`, and what they mean to the search.

use clap::ValueEnum;
use corehop_partitioner::backend::Backend;
use corehop_partitioner::delegation::Delegate;
use corehop_partitioner::objective::Objective;
use corehop_partitioner::strategy::Strategy;

/// How to search.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum StrategyName {
    /// Whichever of exhaustive and bound costs less; local if there are too many splits and bound
    /// does not apply
    Auto,
    /// Evaluate every split
    Exhaustive,
    /// Branch and bound: proves the result, or reports a lower bound if it ends early
    Bound,
    /// Local search from a greedy start and random ones
    Local,
    /// Evaluate splits drawn at random
    Random,
}

impl StrategyName {
    pub fn strategy(self) -> Option<Strategy> {
        match self {
            StrategyName::Auto => None,
            StrategyName::Exhaustive => Some(Strategy::Exhaustive),
            StrategyName::Bound => Some(Strategy::Bound),
            StrategyName::Local => Some(Strategy::Local),
            StrategyName::Random => Some(Strategy::Random),
        }
    }
}

/// What to do about hops when calls return.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Returns {
    /// Threads stay; hops back are not considered
    Never,
    /// Threads stay; the report shows what hops back would do
    Tell,
    /// Threads hop back from the functions for which that is better
    Auto,
}

impl Returns {
    pub fn delegate(self) -> Delegate {
        match self {
            Returns::Never => Delegate::Never,
            Returns::Tell => Delegate::Tell,
            Returns::Auto => Delegate::Take,
        }
    }
}

/// Where threads may hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HopSites {
    /// At entries of functions
    Entries,
    /// At the beginning of any code block; shows what the limit to entries costs, and writes no
    /// plan
    Blocks,
}

/// How threads hop.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum BackendName {
    /// By a worker of the runtime on each core
    Carrier,
    /// By sched_setaffinity
    Affinity,
}

impl BackendName {
    pub fn backend(self) -> Backend {
        match self {
            BackendName::Carrier => Backend::Carrier,
            BackendName::Affinity => Backend::Affinity,
        }
    }
}

/// What to minimize.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ObjectiveName {
    /// L2 misses
    L2,
    /// L1 misses
    L1,
    /// L3 misses
    L3,
    /// L2 misses of instruction fetches
    Fetch,
    /// L2 misses of loads and stores
    Data,
    /// Cycles, hops included
    Cycles,
    /// Cycles until all requests of --connections connections are served
    Throughput,
}

impl ObjectiveName {
    pub fn objective(self, connections: u32) -> Objective {
        match self {
            ObjectiveName::L2 => Objective::L2,
            ObjectiveName::L1 => Objective::L1,
            ObjectiveName::L3 => Objective::L3,
            ObjectiveName::Fetch => Objective::Fetch,
            ObjectiveName::Data => Objective::Data,
            ObjectiveName::Cycles => Objective::Cycles,
            ObjectiveName::Throughput => Objective::Throughput { connections },
        }
    }
}
