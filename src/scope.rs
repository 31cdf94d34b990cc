//! Which requests a search looks at, and which functions it considers: the same options for
//! `candidates` and for `partition`, so that the one lists what the other chooses from.

use clap::Args;
use corehop_partitioner::candidates::CandidateRule;
use corehop_partitioner::delegated;
use corehop_partitioner::requests::Searched;

/// The options that say so.
#[derive(Args)]
pub struct Scope {
    /// How many requests to search on, drawn at random; the others judge the result.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    requests: u32,
    /// Search on every request; none is left to judge the result.
    #[arg(long, conflicts_with = "requests")]
    all_requests: bool,
    /// Decides which requests are drawn.
    #[arg(long, default_value_t = 1, value_parser = seeds())]
    pub seed: u64,
    /// Leave out functions called more often than this in any request; 1 unless named, and 10 for
    /// calls to delegate.
    #[arg(long, value_name = "CALLS")]
    max_calls: Option<u32>,
    /// Leave out functions called in a smaller share of the requests than this.
    #[arg(long, value_name = "SHARE", default_value_t = CandidateRule::default().min_share,
          value_parser = share)]
    min_share: f64,
    /// Treat functions always called within this many accesses of each other as one.
    #[arg(long, value_name = "ACCESSES", default_value_t = CandidateRule::default().group_within)]
    group_within: u64,
    /// Consider also some calls of functions that requests call more often than --max-calls: the
    /// first, second, fourth, eighth and so on, and quarters of what the middle request has.
    #[arg(long)]
    kth_calls: bool,
}

/// Seeds are kept in plans, and TOML integers are signed.
fn seeds() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(..=i64::MAX as u64)
}

/// A share that is none.
#[derive(Debug, thiserror::Error)]
#[error("a share lies between 0 and 1")]
pub struct NotAShare;

/// A number between 0 and 1.
pub fn share(text: &str) -> Result<f64, NotAShare> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(NotAShare),
    }
}

impl Scope {
    /// Which requests to search on.
    pub fn searched(&self) -> Searched {
        match self.all_requests {
            true => Searched::All,
            false => Searched::Sample(self.requests as usize),
        }
    }

    /// Which requests are searched, in words.
    pub fn drawn(&self) -> String {
        match self.all_requests {
            true => "all".into(),
            false => format!("{} drawn by seed {}", self.requests, self.seed),
        }
    }

    /// What makes a function a candidate, in words.
    pub fn admitted(&self) -> String {
        let rule = self.rule();
        format!(
            "--max-calls {} --min-share {} --group-within {}{}",
            rule.max_calls,
            rule.min_share,
            rule.group_within,
            if self.kth_calls { " --kth-calls" } else { "" }
        )
    }

    /// Whether single calls of functions are considered.
    pub fn has_kth_calls(&self) -> bool {
        self.kth_calls
    }

    /// What makes a function a candidate.
    pub fn rule(&self) -> CandidateRule {
        self.rule_with(CandidateRule::default().max_calls)
    }

    /// What makes a function's calls such that might be delegated.
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
