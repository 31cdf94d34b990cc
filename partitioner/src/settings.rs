//! The parameters of a search.

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

/// Parameters of a search.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// Number of cores, at least 2.
    pub cores: u32,
    /// Number of functions to choose, at least the number of cores; a core may have several.
    pub functions: u32,
    /// Requests to search on.
    pub searched: Searched,
    /// Explicitly selected requests to search on instead.
    pub only: Option<Only<'a>>,
    /// The rule for candidates.
    pub rule: CandidateRule,
    /// Seed for sampling requests and for the starts of a local search.
    pub seed: u64,
    /// The objective to minimize.
    pub objective: Objective,
    /// For [`Objective::Throughput`]: whether connections beyond those of the trace repeat them.
    pub repeat_connections: bool,
    /// The strategy; `None` for the cheapest one that proves its result.
    pub strategy: Option<Strategy>,
    /// Calls to delegate, in addition to the split or instead of one; on this number of cores in
    /// all.
    pub delegated_calls: Option<Wanted>,
    /// Whether to search for calls of the split that are better delegated; only without
    /// `delegated_calls`.
    pub delegate: Delegate,
    /// Functions whose calls cannot be delegated, because no thread can return at their end.
    pub one_way: &'a [FunctionId],
    /// Time limit of the search; the result then depends on the speed of the host.
    pub time_limit: Option<Duration>,
    /// Whether to evaluate the result on requests that were not searched.
    pub evaluate_held_out: bool,
    /// Whether to check if fewer cores are as good, if the result is evaluated.
    pub compare_fewer: bool,
    /// File to load and save costs.
    pub checkpoint: Option<&'a Checkpoint>,
}

impl Default for Settings<'_> {
    /// Returns settings for one function on each of two cores, with the fewest L2 misses, from ten
    /// requests; only that split and its held-out evaluation.
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
    /// Returns the requests of this search; none are held out if there is no evaluation.
    ///
    /// # Errors
    /// Fails if the trace has too few requests.
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
