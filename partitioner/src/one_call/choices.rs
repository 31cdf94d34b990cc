//! What a search for one call chooses from: functions, and calls of theirs that lie apart.

use crate::Error;
use crate::candidates::{CandidateRule, Candidates};
use corehop_plans::LAST_CALL;
use corehop_traces::{FunctionId, RequestId, Trace};
use std::collections::{BTreeSet, HashMap};

/// A call of a function in each request that has so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Choice {
    /// The function.
    pub function: FunctionId,
    /// Which of its calls, from 1.
    pub call: u32,
}

/// Of each request that has the call, the accesses before it.
type Positions = HashMap<RequestId, u64>;

/// The choices in these requests, in the order in which they come: of those that are always within
/// `rule.group_within` accesses behind another, none.
pub fn choices(
    trace: &Trace,
    requests: &[RequestId],
    rule: &CandidateRule,
) -> Result<Vec<Choice>, Error> {
    let called_often = CandidateRule {
        max_calls: u32::MAX,
        ..*rule
    };
    let candidates = Candidates::of(trace, requests, &called_often)?.chosen;
    let often = candidates.iter().filter(|one| one.called.most > 1);
    let tried: HashMap<FunctionId, BTreeSet<u32>> = often
        .map(|one| (one.function, calls_tried(one.called.median)))
        .collect();
    let mut found: Vec<(Choice, Positions)> =
        positions(trace, requests, &tried)?.into_iter().collect();
    let least = rule.min_share * requests.len() as f64;
    found.retain(|(_, positions)| positions.len() as f64 >= least);
    let mean = |positions: &Positions| {
        let sum: u64 = positions.values().sum();
        sum as f64 / positions.len() as f64
    };
    found.sort_by(|one, other| {
        let means = mean(&one.1).total_cmp(&mean(&other.1));
        means.then(one.0.cmp(&other.0))
    });
    let mut kept: Vec<(Choice, Positions)> = Vec::new();
    for (choice, positions) in found {
        let last = kept.last();
        if last.is_none_or(|(_, last)| !are_close(last, &positions, rule.group_within)) {
            kept.push((choice, positions));
        }
    }
    Ok(kept.into_iter().map(|(choice, _)| choice).collect())
}

/// Which calls are tried of a function that the middle request calls so often.
fn calls_tried(median: u32) -> BTreeSet<u32> {
    let powers = (0..u32::BITS).map(|power| 1 << power);
    let powers = powers.take_while(|&call| call <= median);
    let quarters = (1..=4).map(|quarter| (u64::from(median) * quarter / 4) as u32);
    let tried = powers.chain(quarters);
    tried
        .filter(|call| (1..=LAST_CALL).contains(call))
        .collect()
}

fn positions(
    trace: &Trace,
    requests: &[RequestId],
    tried: &HashMap<FunctionId, BTreeSet<u32>>,
) -> Result<HashMap<Choice, Positions>, Error> {
    let mut positions: HashMap<Choice, Positions> = HashMap::new();
    let mut calls: HashMap<(RequestId, FunctionId), u32> = HashMap::new();
    let mut accesses_before = vec![0; trace.requests().len()];
    let mut executions = trace.executions_of(requests);
    while let Some(execution) = executions.next()? {
        let Some(request) = execution.request else {
            continue;
        };
        let before = &mut accesses_before[request.index()];
        if let Some(function) = execution.entry
            && let Some(tried) = tried.get(&function)
        {
            let call = calls.entry((request, function)).or_default();
            *call += 1;
            if tried.contains(call) {
                let call = *call;
                let of_choice = positions.entry(Choice { function, call }).or_default();
                of_choice.insert(request, *before);
            }
        }
        *before += execution.accesses.len() as u64;
    }
    Ok(positions)
}

/// Whether one is in the same requests as the other, at most so many accesses apart.
fn are_close(one: &Positions, other: &Positions, within: u64) -> bool {
    let near = |(request, position): (&RequestId, &u64)| {
        let other = other.get(request);
        other.is_some_and(|other| other.abs_diff(*position) <= within)
    };
    one.len() == other.len() && one.iter().all(near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_and_quarters_of_the_median_are_tried() {
        let tried = |median| calls_tried(median).into_iter().collect::<Vec<u32>>();
        assert_eq!(tried(0), []);
        assert_eq!(tried(1), [1]);
        assert_eq!(tried(3), [1, 2, 3]);
        assert_eq!(tried(12), [1, 2, 3, 4, 6, 8, 9, 12]);
        assert_eq!(tried(1000), [1, 2, 4, 8, 16, 32, 64, 128]);
        assert_eq!(tried(u32::MAX).len(), 8);
    }
}
