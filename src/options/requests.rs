//! Lists of requests on the command line: `3,5-9`.
//!
//! A range stays a range until the number of requests in the trace is known, so that a typing error
//! such as `3-4294967295` takes no memory.

use clap::Args;
use corehop_simulator::ReplayOptions;
use corehop_traces::{RequestId, Trace};
use std::ops::RangeInclusive;

/// Which requests a replay counts.
#[derive(Args)]
pub struct CountedRequests {
    /// Replay only these requests, counted from 0, such as 3,5-9
    ///
    /// Default: the whole trace, including what belongs to no request.
    #[arg(
        long,
        value_name = "LIST",
        value_parser = request_list,
        help_heading = "Simulation"
    )]
    requests: Option<RequestList>,
    /// Number of requests to replay before counting starts
    #[arg(
        long,
        value_name = "REQUESTS",
        default_value_t = 0,
        help_heading = "Simulation"
    )]
    pub warm_up: usize,
}

impl CountedRequests {
    /// Returns options for a replay of these requests, which reports progress.
    pub fn options<'p>(
        &self,
        trace: &Trace,
        progress: &'p (dyn Fn(u64) + Sync),
    ) -> ReplayOptions<'p> {
        let requests = self.requests.as_ref();
        ReplayOptions {
            requests: requests.map(|list| list.of(trace.requests().len())),
            warm_up_requests: self.warm_up,
            progress: Some(progress),
            page_sizes: None,
        }
    }
}

/// Ranges of requests, as given on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestList(Vec<RangeInclusive<u32>>);

/// A part of a list that is not a request or a range.
#[derive(Debug, thiserror::Error)]
#[error("'{part}' is neither a request nor a range such as 5-9")]
pub struct NotRequests {
    part: String,
}

/// Parses a list such as `3,5-9`.
pub fn request_list(text: &str) -> Result<RequestList, NotRequests> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let range = first.parse().ok()?..=last.parse().ok()?;
        (!range.is_empty()).then_some(range)
    };
    let ranges = text
        .split(',')
        .map(|part| range(part).ok_or_else(|| NotRequests { part: part.into() }));
    ranges.collect::<Result<_, _>>().map(RequestList)
}

impl RequestList {
    /// Returns the listed requests. If a trace of `requests` requests lacks the last one, it
    /// returns only that one, for the caller to refuse.
    pub fn of(&self, requests: usize) -> Vec<RequestId> {
        let last = self.0.iter().map(|range| *range.end()).max();
        let beyond = last.filter(|&last| last as usize >= requests);
        let known = self.0.iter().cloned().flatten();
        match beyond {
            Some(beyond) => vec![RequestId(beyond)],
            None => known.map(RequestId).collect(),
        }
    }
}
