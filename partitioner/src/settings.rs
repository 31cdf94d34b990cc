//! What a search is asked.

use crate::Error;
use crate::candidates::CandidateRule;
use crate::checkpoint::Checkpoint;
use crate::delegated::Wanted;
use crate::delegation::Delegate;
use crate::objective::Objective;
use crate::requests::{Only, Searched, TrainTestSplit};
use crate::strategy::Strategy;
use corehop_traces::{FunctionId, Trace};
use std::time::Duration;

/// What to search for.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// Number of cores, at least 2.
    pub cores: u32,
    /// Number of functions to choose, no fewer than cores; cores may have several.
    pub functions: u32,
    /// Requests to search on.
    pub searched: Searched,
    /// Requests to search on that were named instead.
    pub only: Option<Only<'a>>,
    /// What makes a function a candidate.
    pub rule: CandidateRule,
    /// Decides which requests are searched, and where a local search starts.
    pub seed: u64,
    /// What a split is to make small.
    pub objective: Objective,
    /// For [`Objective::Throughput`]: whether connections beyond those of the trace repeat them.
    pub repeat_connections: bool,
    /// How to go about it; `None` for the cheapest way that proves its result.
    pub strategy: Option<Strategy>,
    /// Calls to delegate, beside the split or instead of one; on so many cores in all.
    pub delegated_calls: Option<Wanted>,
    /// Whether to look for calls of a split without such that had better end with a hop back.
    pub delegate: Delegate,
    /// Functions at the end of whose calls no thread can go back.
    pub one_way: &'a [FunctionId],
    /// Longest time to look for splits; the result then depends on the speed of the host.
    pub time_limit: Option<Duration>,
    /// Whether to evaluate the result on requests that were not searched.
    pub evaluate_held_out: bool,
    /// Whether to find out if fewer cores do as well, where the result is evaluated.
    pub compare_fewer: bool,
    /// Where to keep what is learnt, and to find what was.
    pub checkpoint: Option<&'a Checkpoint>,
}

impl Default for Settings<'_> {
    /// One function on each of two cores, for the fewest L2 misses, from ten requests; nothing is
    /// asked beyond that split and its held-out evaluation.
    fn default() -> Self {
        Settings {
            cores: 2,
            functions: 2,
            searched: Searched::Sample(10),
            only: None,
            rule: CandidateRule::default(),
            seed: 1,
            objective: Objective::L2,
            repeat_connections: false,
            strategy: None,
            delegated_calls: None,
            delegate: Delegate::Never,
            one_way: &[],
            time_limit: None,
            evaluate_held_out: true,
            compare_fewer: false,
            checkpoint: None,
        }
    }
}

impl Settings<'_> {
    /// The requests that this search uses; none are held out where it is not to be evaluated.
    ///
    /// # Errors
    /// The trace has too few requests.
    pub fn train_test_split(&self, trace: &Trace) -> Result<TrainTestSplit, Error> {
        if let Some(only) = self.only {
            return Ok(TrainTestSplit::only(only));
        }
        let mut train_test = TrainTestSplit::of(trace.requests(), self.searched, self.seed)?;
        if !self.evaluate_held_out {
            train_test.held_out.clear();
        }
        Ok(train_test)
    }
}
