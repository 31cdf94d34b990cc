//! `--only`: searches on listed requests instead of random ones; only the last may count.

use crate::failure::{Exit, Failure};
use crate::options::requests::{RequestList, request_list};
use clap::Args;
use corehop_partitioner::requests::Only;
use corehop_traces::{RequestId, Trace};

/// The options that list them.
#[derive(Args)]
pub struct RequestSelection {
    /// Search on exactly these requests, counted from 0, such as 3,5-9
    ///
    /// No held-out requests remain to evaluate the result. Default: --requests, drawn at random.
    #[arg(long, value_name = "LIST", value_parser = request_list, help_heading = "Requests",
          hide_short_help = true,
          conflicts_with_all = ["requests", "all_requests", "sweep", "fewer", "checkpoint"])]
    only: Option<RequestList>,
    /// For --only: count only the last of these requests; the others warm up the caches
    #[arg(
        long = "evaluate-last",
        alias = "judge-last",
        requires = "only",
        help_heading = "Requests",
        hide_short_help = true
    )]
    judge_last: bool,
}

impl RequestSelection {
    /// Returns the listed requests, ascending.
    ///
    /// # Errors
    /// If the trace lacks one of them, or contains only a part of it.
    pub fn requests(&self, trace: &Trace) -> Result<Vec<RequestId>, Failure> {
        let known = trace.requests();
        let of = |list: &RequestList| list.of(known.len());
        let mut requests = self.only.as_ref().map_or(Vec::new(), of);
        requests.sort_unstable();
        requests.dedup();
        let is_whole = |id: &RequestId| known.get(id.index()).is_some_and(|of| of.complete);
        let RequestId(number) = match requests.iter().find(|id| !is_whole(id)) {
            None => return Ok(requests),
            Some(&id) => id,
        };
        let message = format!(
            "--only {number}: the trace has no such request, or the recording cut it short"
        );
        let failure = Failure::new(Exit::Usage, message);
        Err(failure.remedy("`corehop info` prints how many requests it has, numbered from 0"))
    }

    /// Returns the requests and whether only the last counts.
    pub fn only<'a>(&self, requests: &'a [RequestId]) -> Option<Only<'a>> {
        (!requests.is_empty()).then_some(Only {
            requests,
            judge_last: self.judge_last,
        })
    }
}
