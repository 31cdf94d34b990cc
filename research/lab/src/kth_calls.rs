//! Functions that requests call too often to be candidates: single calls of them at which threads
//! could change core.
//!
//! A function that requests call repeatedly is not a candidate, because each call would be a hop.
//! But one of its calls may end a phase. A few of its calls are therefore separate candidates:
//! powers of two, and quarters of the count in the median request. A search treats each as a
//! function that requests call once ([`Trace::with_functions_at_calls`]), so that its splits,
//! bounds and proofs apply unchanged. It may select several calls of one function, which splits a
//! loop of calls by iterations.

use corehop_partitioner::candidates::{CandidateRule, Candidates};
use corehop_partitioner::progress::{self, Progress};
use corehop_partitioner::request_function::request_function;
use corehop_plan::LAST_CALL;
use corehop_traces::{FunctionId, RequestId, Trace};
use std::collections::BTreeSet;

/// Why there are no such functions.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Requests do not begin at a function that can be hooked.
    #[error(
        "calls of a request are counted from a function that each request enters, and the trace's \
         requests begin at none that can be hooked"
    )]
    NoRequestFunction,
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] corehop_traces::Error),
}

/// Returns the trace with a function for each such call. Calls are counted over these requests.
///
/// # Errors
/// [`Error::NoRequestFunction`] if requests do not begin at a function that can be hooked; errors
/// of reading the trace.
pub fn at_calls(
    trace: Trace,
    requests: &[RequestId],
    rule: &CandidateRule,
    progress: &dyn Progress,
) -> Result<Trace, Error> {
    let can_be_hooked = |of: &FunctionId| trace.functions()[of.index()].unpatchable.is_none();
    let begins = request_function(&trace).filter(can_be_hooked);
    let begins = begins.ok_or(Error::NoRequestFunction)?;
    let called_often = CandidateRule {
        max_calls: u32::MAX,
        ..*rule
    };
    let candidates = Candidates::of(&trace, requests, &called_often, progress)?.chosen;
    let is_often = |called: u32| called > rule.max_calls;
    let often = candidates.iter().filter(|one| is_often(one.called.most));
    let calls = often.filter(|one| one.function != begins).flat_map(|one| {
        let calls = calls_tried(one.called.median).into_iter();
        calls.map(|call| (one.function, call))
    });
    let calls: Vec<(FunctionId, u32)> = calls.collect();
    let stage = ("code blocks read to number calls", trace.execution_count());
    let numbered = progress::stage(progress, stage, |tell| {
        trace.with_functions_at_calls(&calls, tell)
    });
    Ok(numbered?)
}

/// Returns the calls to try of a function with `median` calls in the median request.
fn calls_tried(median: u32) -> BTreeSet<u32> {
    let powers = (0..u32::BITS).map(|power| 1 << power);
    let powers = powers.take_while(|&call| call <= median);
    let quarters = (1..=4).map(|quarter| (u64::from(median) * quarter / 4) as u32);
    let tried = powers.chain(quarters);
    tried
        .filter(|call| (1..=LAST_CALL).contains(call))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_and_quarters_of_the_median_are_tried() {
        let tried = |median| calls_tried(median).into_iter().collect::<Vec<u32>>();
        assert!(tried(0).is_empty());
        assert_eq!(tried(1), [1]);
        assert_eq!(tried(3), [1, 2, 3]);
        assert_eq!(tried(12), [1, 2, 3, 4, 6, 8, 9, 12]);
        assert_eq!(tried(1000), [1, 2, 4, 8, 16, 32, 64, 128]);
        assert_eq!(tried(u32::MAX).len(), 8);
    }
}
