//! Candidates: the functions at which a thread could change core.
//!
//! The rule is that of Gottschlag et al., "Automatic staged computation", section 3.1: a function
//! called often signals no change of phase and would only cause hops, one called rarely splits
//! few requests. So a candidate is called at most `max_calls` times in any request and at least
//! once in `min_share` of them. Leaf functions count too: they can change the working set as well.
//! What cannot be patched is left out here, before the search, with the reason.

use crate::progress::Progress;
use corehop_traces::{Error, FunctionId, RequestId, Trace};
use std::collections::HashMap;

/// The rule that makes a function a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CandidateRule {
    /// Most calls in any one request; the paper's 1.
    pub max_calls: u32,
    /// Least share of requests with a call, 0 to 1; the paper's 0.8.
    pub min_share: f64,
    /// Candidates whose calls always come within this many accesses of each other are one group:
    /// hopping at either makes the same split.
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

/// How the counted requests call a function.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Called {
    /// Fewest calls in any one request.
    pub least: u32,
    /// The middle request's; of two in the middle, the larger.
    pub median: u32,
    /// Most calls in any one request.
    pub most: u32,
    /// Share of the requests with a call, 0 to 1.
    pub share: f64,
    /// Mean number of accesses between the start of a request and its first call.
    pub position: f64,
}

/// A function that the rule admits.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The function.
    pub function: FunctionId,
    /// What made it a candidate.
    pub called: Called,
    /// Index of the group it belongs to.
    pub group: u32,
    /// Whether it is one call of a function that requests call again.
    pub is_one_call: bool,
}

/// A function that the rule admits, but whose entry cannot be replaced by a jump.
#[derive(Clone, Debug, PartialEq)]
pub struct Unpatchable {
    /// The function.
    pub function: FunctionId,
    /// What would have made it a candidate.
    pub called: Called,
    /// Why not, as the recorder's analysis of its entry put it.
    pub reason: String,
}

/// The candidates of a trace, in order of position, and why others are not.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    /// Admitted and patchable, in order of their mean position in a request.
    pub chosen: Vec<Candidate>,
    /// Number of groups among them.
    pub groups: u32,
    /// Admitted by the rule but not patchable, by function.
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

/// What was seen of one function in one request: calls, and accesses before the first of them.
#[derive(Clone, Copy)]
struct Calls {
    count: u32,
    position: u64,
}

/// Calls by function, then by request. A request runs on one thread, so that this counts over all
/// threads; what belongs to no request counts nowhere.
type CallsByFunction = HashMap<FunctionId, HashMap<RequestId, Calls>>;

/// Of `requests` requests, of which `seen` have a call.
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
    /// Counts calls over `requests` and applies `rule`. Stubs of imported functions are none, since
    /// what runs behind them begins elsewhere, and what follows is their caller's.
    ///
    /// # Errors
    /// What reading the trace says.
    pub fn of(
        trace: &Trace,
        requests: &[RequestId],
        rule: &CandidateRule,
        progress: &dyn Progress,
    ) -> Result<Candidates, Error> {
        // Of some calls of such a function others speak, so that the rest is not all of it.
        let is_whole = |of: FunctionId| !trace.has_numbered_calls(of);
        let may_be = |of: FunctionId| !trace.functions()[of.index()].is_import() && is_whole(of);
        Candidates::among((trace, requests), rule, &may_be, progress)
    }

    /// The same for functions whose calls end with a hop back, of which stubs are some.
    ///
    /// # Errors
    /// What reading the trace says.
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

    /// The first candidate of each group stands for it; of those before calls of functions the
    /// first that goes as a whole, if there is one.
    pub fn representatives(&self) -> Vec<FunctionId> {
        let mut functions = vec![None; self.groups as usize];
        let is_whole = |one: &&Candidate| !one.is_one_call;
        let calls = self.chosen.iter().filter(|one| one.is_one_call);
        for candidate in self.chosen.iter().filter(is_whole).chain(calls) {
            functions[candidate.group as usize].get_or_insert(candidate.function);
        }
        functions.into_iter().flatten().collect()
    }

    /// A candidate joins the group of the one before it when the two are called in the same
    /// requests, always in this order, and always within `within` accesses.
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

/// The calls, and the accesses of all these requests.
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
