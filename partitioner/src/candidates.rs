//! Candidates: the functions at which a thread could change core.
//!
//! The rule is that of Gottschlag et al., "Automatic staged computation", section 3.1. A function
//! called often does not mark a change of phase and would only cause hops. One called rarely splits
//! few requests. So a candidate is called at most `max_calls` times in any request, and at least
//! once in `min_share` of the requests. Leaf functions count too: they can also change the working
//! set. Functions that cannot be patched are excluded here, before the search, with the reason.

use crate::progress::Progress;
use corehop_traces::{Error, FunctionId, RequestId, Trace};
use std::collections::HashMap;

/// The rule that makes a function a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CandidateRule {
    /// Maximum number of calls in any one request; 1 in the paper.
    pub max_calls: u32,
    /// Minimum share of requests with a call, 0 to 1; 0.8 in the paper.
    pub min_share: f64,
    /// Candidates whose calls are always within this many accesses of each other form one group:
    /// hopping at either gives the same split.
    pub group_within: u64,
}

impl Default for CandidateRule {
    fn default() -> Self {
        CandidateRule {
            max_calls: 1,
            min_share: 0.8,
            group_within: 300,
        }
    }
}

/// Statistics of a function's calls in the counted requests.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Called {
    /// Fewest calls in any one request.
    pub least: u32,
    /// Median number of calls in a request; for an even number of requests, the larger middle
    /// value.
    pub median: u32,
    /// Most calls in any one request.
    pub most: u32,
    /// Share of the requests with a call, 0 to 1.
    pub share: f64,
    /// Mean number of accesses between the start of a request and its first call.
    pub position: f64,
}

/// A function that satisfies the rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The function.
    pub function: FunctionId,
    /// The call statistics that satisfy the rule.
    pub called: Called,
    /// Index of the group it belongs to.
    pub group: u32,
    /// Whether it is a single numbered call of a function that requests call repeatedly.
    pub is_one_call: bool,
}

/// A function that satisfies the rule, but whose entry cannot be replaced by a jump.
#[derive(Clone, Debug, PartialEq)]
pub struct Unpatchable {
    /// The function.
    pub function: FunctionId,
    /// The call statistics that satisfy the rule.
    pub called: Called,
    /// The reason, from the recorder's analysis of the entry.
    pub reason: String,
}

/// The candidates of a trace, and why other functions are excluded.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    /// Patchable functions that satisfy the rule, by mean position in a request.
    pub chosen: Vec<Candidate>,
    /// Number of groups among them.
    pub groups: u32,
    /// Functions that satisfy the rule but cannot be patched, by function.
    pub unpatchable: Vec<Unpatchable>,
    /// Number of functions called too often in some request.
    pub called_too_often: usize,
    /// Number of functions called in too few of the requests, and never too often.
    pub called_too_rarely: usize,
    /// Number of requests counted.
    pub requests: usize,
    /// Mean number of accesses of a request.
    pub accesses_per_request: f64,
}

/// A function's calls in one request, and the accesses before the first of them.
#[derive(Clone, Copy)]
struct Calls {
    count: u32,
    position: u64,
}

/// Calls by function, then by request. A request runs on one thread, so this counts over all
/// threads. Calls outside requests are not counted.
type CallsByFunction = HashMap<FunctionId, HashMap<RequestId, Calls>>;

/// Computes the statistics of a function with calls in `seen` of `requests` requests.
fn called(seen: &HashMap<RequestId, Calls>, requests: usize) -> Called {
    let mut counts: Vec<u32> = seen.values().map(|calls| calls.count).collect();
    counts.resize(requests, 0);
    counts.sort_unstable();
    let total: u64 = seen.values().map(|calls| calls.position).sum();
    let at = |index: usize| counts.get(index).copied().unwrap_or(0);
    Called {
        least: at(0),
        median: at(requests / 2),
        most: counts.last().copied().unwrap_or(0),
        share: seen.len() as f64 / requests as f64,
        position: total as f64 / seen.len() as f64,
    }
}

impl Candidates {
    /// Counts calls in `requests` and applies `rule`. Stubs of imported functions are excluded: the
    /// code behind them begins elsewhere, and what follows belongs to their caller.
    ///
    /// # Errors
    /// Fails if the trace cannot be read.
    pub fn of(
        trace: &Trace,
        requests: &[RequestId],
        rule: &CandidateRule,
        progress: &dyn Progress,
    ) -> Result<Candidates, Error> {
        // A function with numbered calls is excluded as a whole: its calls are separate functions.
        let is_whole = |of: FunctionId| !trace.has_numbered_calls(of);
        let may_be = |of: FunctionId| !trace.functions()[of.index()].is_import() && is_whole(of);
        Candidates::among((trace, requests), rule, &may_be, progress)
    }

    /// Like [`Candidates::of`], for delegated calls; stubs are included.
    ///
    /// # Errors
    /// Fails if the trace cannot be read.
    pub fn of_calls(
        trace: &Trace,
        requests: &[RequestId],
        rule: &CandidateRule,
        progress: &dyn Progress,
    ) -> Result<Candidates, Error> {
        Candidates::among((trace, requests), rule, &|_| true, progress)
    }

    fn among(
        (trace, requests): (&Trace, &[RequestId]),
        rule: &CandidateRule,
        may_be: &dyn Fn(FunctionId) -> bool,
        progress: &dyn Progress,
    ) -> Result<Candidates, Error> {
        progress.begin(
            "requests looked through for calls",
            Some(requests.len() as u64),
        );
        let counted = count_calls(trace, requests, progress);
        progress.end();
        let (calls, accesses) = counted?;
        let mut candidates = Candidates {
            requests: requests.len(),
            accesses_per_request: accesses as f64 / requests.len().max(1) as f64,
            ..Candidates::default()
        };
        for (&function, seen) in &calls {
            if !may_be(function) {
                continue;
            }
            let of = &trace.functions()[function.index()];
            let called = called(seen, requests.len());
            if called.most > rule.max_calls {
                candidates.called_too_often += 1;
                continue;
            }
            if called.share < rule.min_share {
                candidates.called_too_rarely += 1;
                continue;
            }
            match of.unpatchable.clone() {
                Some(reason) => candidates.unpatchable.push(Unpatchable {
                    function,
                    called,
                    reason,
                }),
                None => candidates.chosen.push(Candidate {
                    function,
                    called,
                    group: 0,
                    is_one_call: trace.call_meant(function).is_some(),
                }),
            }
        }
        candidates.unpatchable.sort_unstable_by_key(|u| u.function);
        let order = |c: &Candidate| (c.called.position, c.function);
        candidates
            .chosen
            .sort_unstable_by(|a, b| order(a).partial_cmp(&order(b)).expect("finite"));
        candidates.group(&calls, rule.group_within);
        Ok(candidates)
    }

    /// Returns one function of each group: the first whole function, else the first numbered call.
    pub fn representatives(&self) -> Vec<FunctionId> {
        let mut functions = vec![None; self.groups as usize];
        let is_whole = |one: &&Candidate| !one.is_one_call;
        let calls = self.chosen.iter().filter(|one| one.is_one_call);
        for candidate in self.chosen.iter().filter(is_whole).chain(calls) {
            functions[candidate.group as usize].get_or_insert(candidate.function);
        }
        functions.into_iter().flatten().collect()
    }

    /// Groups candidates. A candidate joins the group of the one before it if both are called in
    /// the same requests, always in this order, and within `within` accesses.
    fn group(&mut self, calls: &CallsByFunction, within: u64) {
        let mut group = 0;
        for index in 1..self.chosen.len() {
            let first = &calls[&self.first_of_group(index - 1).function];
            let this = &calls[&self.chosen[index].function];
            let close = |request: &RequestId, calls: &Calls| {
                first.get(request).is_some_and(|f| {
                    calls
                        .position
                        .checked_sub(f.position)
                        .is_some_and(|gap| gap <= within)
                })
            };
            let same = first.len() == this.len() && this.iter().all(|(r, c)| close(r, c));
            group += u32::from(!same);
            self.chosen[index].group = group;
        }
        self.groups = if self.chosen.is_empty() { 0 } else { group + 1 };
    }

    fn first_of_group(&self, index: usize) -> &Candidate {
        let group = self.chosen[index].group;
        let before = self.chosen[..index]
            .iter()
            .rev()
            .take_while(|c| c.group == group)
            .count();
        &self.chosen[index - before]
    }
}

/// Returns the calls, and the number of accesses of all these requests.
fn count_calls(
    trace: &Trace,
    requests: &[RequestId],
    progress: &dyn Progress,
) -> Result<(CallsByFunction, u64), Error> {
    let mut calls = CallsByFunction::new();
    let mut accesses_before = vec![0; trace.requests().len()];
    let mut is_met = vec![false; trace.requests().len()];
    let mut executions = trace.executions_of(requests);
    while let Some(execution) = executions.next()? {
        let Some(request) = execution.request else {
            continue;
        };
        if !std::mem::replace(&mut is_met[request.index()], true) {
            progress.advance(1);
        }
        let position = &mut accesses_before[request.index()];
        if let Some(function) = execution.entry {
            let first = Calls {
                count: 0,
                position: *position,
            };
            let seen = calls
                .entry(function)
                .or_default()
                .entry(request)
                .or_insert(first);
            seen.count += 1;
        }
        *position += execution.accesses.len() as u64;
    }
    Ok((calls, accesses_before.iter().sum()))
}
