//! Options: the requests that a search uses, and the functions that it considers.
//!
//! The options are the same for `candidates` and `partition`, so that one lists what the other
//! selects from.

use crate::failure::Failure;
use clap::Args;
use corehop_partitioner::candidates::CandidateRule;
use corehop_partitioner::delegated;
use corehop_partitioner::requests::Searched;
use corehop_traces::{RequestId, Trace};

/// Adds functions to a trace, which then are candidates too: for experiments (`research/`). It
/// receives the searched requests and the rule for candidates.
pub type MoreFunctions<'a> =
    &'a dyn Fn(Trace, &[RequestId], &CandidateRule) -> Result<Trace, Failure>;

/// The options that select requests and functions.
#[derive(Args)]
pub struct Scope {
    /// Number of requests to search on, drawn at random
    ///
    /// Half of the other requests warm up the caches. The result is evaluated on the rest, the
    /// held-out requests.
    #[arg(
        long,
        default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "Requests"
    )]
    requests: u32,
    /// Search on all requests; no held-out requests remain to evaluate the result
    #[arg(long, conflicts_with = "requests", help_heading = "Requests")]
    all_requests: bool,
    /// Seed that determines which requests are drawn
    #[arg(
        long,
        default_value_t = 1,
        value_parser = seeds(),
        help_heading = "Requests"
    )]
    pub seed: u64,
    /// Exclude functions that any request calls more often than this
    ///
    /// Default: 1; for delegated calls (--delegate) 10.
    #[arg(long, value_name = "CALLS", help_heading = "Candidates")]
    max_calls: Option<u32>,
    /// Exclude functions that fewer than this share of the requests call, from 0 to 1
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = CandidateRule::default().min_share,
        value_parser = share,
        help_heading = "Candidates"
    )]
    min_share: f64,
    /// Group functions whose calls are always within this many accesses of each other
    ///
    /// A hop at any function of a group makes the same split, so the search tries only one of them.
    #[arg(
        long,
        value_name = "ACCESSES",
        default_value_t = CandidateRule::default().group_within,
        help_heading = "Candidates",
        hide_short_help = true
    )]
    group_within: u64,
}

/// Limits seeds to the range of TOML's signed integers, because plans contain them.
fn seeds() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(..=i64::MAX as u64)
}

/// The number is not a valid share.
#[derive(Debug, thiserror::Error)]
#[error("a share lies between 0 and 1")]
pub struct NotAShare;

/// Parses a number between 0 and 1.
pub fn share(text: &str) -> Result<f64, NotAShare> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(NotAShare),
    }
}

impl Scope {
    /// Returns which requests to search on.
    pub fn searched(&self) -> Searched {
        match self.all_requests {
            true => Searched::All,
            false => Searched::Sample(self.requests as usize),
        }
    }

    /// Describes which requests are searched.
    pub fn drawn(&self) -> String {
        match self.all_requests {
            true => "all".into(),
            false => format!("{} drawn by seed {}", self.requests, self.seed),
        }
    }

    /// Describes the rule for candidates.
    pub fn admitted(&self) -> String {
        let rule = self.rule();
        format!(
            "--max-calls {} --min-share {} --group-within {}",
            rule.max_calls, rule.min_share, rule.group_within,
        )
    }

    /// Returns the rule for candidates.
    pub fn rule(&self) -> CandidateRule {
        self.rule_with(CandidateRule::default().max_calls)
    }

    /// Returns the rule for functions whose calls can be delegated.
    pub fn rule_of_calls(&self) -> CandidateRule {
        self.rule_with(delegated::MAX_CALLS)
    }

    fn rule_with(&self, max_calls: u32) -> CandidateRule {
        CandidateRule {
            max_calls: self.max_calls.unwrap_or(max_calls),
            min_share: self.min_share,
            group_within: self.group_within,
        }
    }
}
