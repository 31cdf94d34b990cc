//! The options of `corehop partition --delegate`: calls on another core than their callers.
//!
//! Alone, it delegates calls from one core; with `--cores`, it delegates calls in addition to a
//! split.

use super::choices::{ObjectiveName, Returns, StrategyName};
use crate::failure::{Exit, Failure};
use crate::options::scope::Scope;
use clap::Args;
use corehop_partitioner::candidates::CandidateRule;
use corehop_partitioner::delegated::Wanted;

/// The options that select the calls.
#[derive(Args)]
pub struct Calls {
    /// Maximum number of functions whose calls to delegate to another core
    ///
    /// The thread of such a call migrates to the other core, and back when the call returns. All
    /// other code runs on core 0; with --cores, it runs where the best split puts it.
    #[arg(long, value_name = "FUNCTIONS", help_heading = "Search",
          value_parser = clap::value_parser!(u32).range(1..=64),
          conflicts_with_all = ["sweep", "fewer", "checkpoint"])]
    delegate: Option<u32>,
    /// For --delegate without --cores: number of cores in addition to core 0
    #[arg(long = "delegate-cores", alias = "elsewhere", value_name = "CORES",
          default_value_t = 1, conflicts_with = "cores", requires = "delegate",
          help_heading = "Search", hide_short_help = true,
          value_parser = clap::value_parser!(u32).range(1..))]
    elsewhere: u32,
}

/// The other options that matter for calls.
pub struct DelegationContext<'a> {
    pub cores: Option<u32>,
    pub functions: Option<u32>,
    pub scope: &'a Scope,
    pub objective: ObjectiveName,
    pub strategy: StrategyName,
    pub returns: Returns,
}

impl Calls {
    /// Returns whether the search is for calls.
    pub fn are_asked(&self) -> bool {
        self.delegate.is_some()
    }

    /// Returns the total number of cores without a split.
    pub fn cores(&self) -> u32 {
        self.elsewhere.saturating_add(1)
    }

    /// Returns the rule for candidates of the first ranking: those of the split, if there is one.
    pub fn rule(&self, beside: &DelegationContext<'_>) -> CandidateRule {
        match (self.delegate, beside.cores) {
            (Some(_), None) => beside.scope.rule_of_calls(),
            _ => beside.scope.rule(),
        }
    }

    /// Returns the calls to search for.
    pub fn wanted(&self, beside: &DelegationContext<'_>) -> Option<Wanted> {
        self.delegate.map(|functions| Wanted {
            functions,
            rule: beside.scope.rule_of_calls(),
            with_split: beside.cores.is_some(),
        })
    }

    /// Refuses options that have no meaning with calls.
    ///
    /// # Errors
    /// [`Exit::Usage`].
    pub fn check(&self, beside: &DelegationContext<'_>) -> Result<(), Failure> {
        let refused = match (beside.objective, beside.strategy, beside.returns) {
            _ if self.delegate.is_none() => return Ok(()),
            (ObjectiveName::Throughput, ..) => (
                "--objective throughput cannot be combined with --delegate",
                "use --objective cycles; `corehop replay --timed` reports throughput",
            ),
            (_, StrategyName::Random, _) => (
                "--strategy random cannot be combined with --delegate",
                "use auto, exhaustive, bound, or local",
            ),
            (.., Returns::Auto) => (
                "--returns auto cannot be combined with --delegate",
                "leave --returns out, or search without --delegate",
            ),
            _ if beside.cores.is_none() && beside.functions.is_some() => (
                "--functions with --delegate needs --cores",
                "add --cores, or set the number of calls with --delegate",
            ),
            _ => return Ok(()),
        };
        Err(Failure::new(Exit::Usage, refused.0).remedy(refused.1))
    }
}
