//! The choices that `corehop partition` offers by name, and what they mean to the search.

use clap::ValueEnum;
use corehop_partitioner::backend::Backend;
use corehop_partitioner::delegation::Delegate;
use corehop_partitioner::objective::Objective;
use corehop_partitioner::strategy::Strategy;
use std::time::Duration;

/// How to search.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum How {
    Auto,
    Exhaustive,
    Bound,
    Local,
    Random,
}

impl How {
    pub fn strategy(self) -> Option<Strategy> {
        match self {
            How::Auto => None,
            How::Exhaustive => Some(Strategy::Exhaustive),
            How::Bound => Some(Strategy::Bound),
            How::Local => Some(Strategy::Local),
            How::Random => Some(Strategy::Random),
        }
    }
}

/// What to do about hops when calls return.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Returns {
    Never,
    Tell,
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

/// Where threads may change core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Points {
    /// At entries of functions.
    Entries,
    /// At the beginning of any code block, in replay only.
    Blocks,
}

/// How threads will hop.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum By {
    Carrier,
    Affinity,
}

impl By {
    pub fn backend(self) -> Backend {
        match self {
            By::Carrier => Backend::Carrier,
            By::Affinity => Backend::Affinity,
        }
    }
}

/// What to make small.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Aim {
    L2,
    L1,
    L3,
    Fetch,
    Data,
    Cycles,
    Throughput,
}

impl Aim {
    pub fn objective(self, connections: u32) -> Objective {
        match self {
            Aim::L2 => Objective::L2,
            Aim::L1 => Objective::L1,
            Aim::L3 => Objective::L3,
            Aim::Fetch => Objective::Fetch,
            Aim::Data => Objective::Data,
            Aim::Cycles => Objective::Cycles,
            Aim::Throughput => Objective::Throughput { connections },
        }
    }
}

/// A time limit that is none.
#[derive(Debug, thiserror::Error)]
#[error("seconds are a number from 0 up")]
pub struct NotSeconds;

/// Reads a time limit.
pub fn seconds(text: &str) -> Result<Duration, NotSeconds> {
    let seconds = text
        .parse()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or(NotSeconds)
}
