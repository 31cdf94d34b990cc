//! Errors of a search.

use crate::candidates::{CandidateRule, Candidates};
use corehop_traces::Trace;

/// Why a search for a plan failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The trace could not be read.
    #[error(transparent)]
    Trace(#[from] corehop_traces::Error),
    /// The replay failed.
    #[error(transparent)]
    Replay(#[from] corehop_simulator::Error),
    /// The timed replay failed.
    #[error(transparent)]
    Timed(#[from] corehop_simulator::timing::Error),
    /// The trace contains no complete request to search on.
    #[error(
        "the trace holds no complete request: record again, with --request-at naming a \
         function that every request enters"
    )]
    NoRequests,
    /// The trace contains no functions.
    #[error(
        "the trace has no functions: it was imported from a format that keeps no calls; record \
         the server with `corehop record`"
    )]
    NoFunctions,
    /// The trace contains no arguments of functions.
    #[error(
        "the trace has no arguments of functions: it was imported, or recorded by an older \
         corehop; record it again"
    )]
    NoPointers,
    /// The trace has fewer requests than requested.
    #[error(
        "cannot search on {wanted} requests: the trace has {complete} complete ones: use fewer, \
         or record more"
    )]
    TooFewRequests {
        /// Number of requests requested.
        wanted: usize,
        /// Number of complete requests in the trace.
        complete: usize,
    },
    /// No function that satisfies the rule can be patched.
    #[error(
        "none of {functions} candidate functions can be patched: {reason} (the first of them; \
         `corehop candidates` lists all)"
    )]
    NonePatchable {
        /// Number of functions that satisfy the rule.
        functions: usize,
        /// Why the first of them cannot be patched.
        reason: String,
    },
    /// Too few functions at which a thread could change core.
    #[error(
        "{found} {} of candidate functions, but {wanted} are needed: {}widen the \
         choice with --min-share (now {min_share}), --max-calls (now {max_calls}) or a smaller \
         --group-within",
        if *found == 1 { "group" } else { "groups" },
        if *wanted > 2 { "use fewer cores, or " } else { "" }
    )]
    TooFewCandidates {
        /// Number of candidates, or of groups of them, that satisfy the rule.
        found: usize,
        /// Number of functions requested.
        wanted: u32,
        /// The rule's minimum share of requests.
        min_share: f64,
        /// The rule's maximum number of calls in one request.
        max_calls: u32,
    },
}

impl Error {
    /// Fails if the trace has no functions, of which candidates are made.
    ///
    /// # Errors
    /// [`Error::NoFunctions`].
    pub fn needs_functions(trace: &Trace) -> Result<(), Error> {
        match trace.functions().is_empty() {
            true => Err(Error::NoFunctions),
            false => Ok(()),
        }
    }

    /// Returns the applicable error for candidates that are fewer than `wanted`.
    pub(crate) fn too_few(candidates: &Candidates, wanted: u32, rule: &CandidateRule) -> Error {
        match (candidates.groups, candidates.unpatchable.first()) {
            (0, Some(first)) => Error::NonePatchable {
                functions: candidates.unpatchable.len(),
                reason: first.reason.clone(),
            },
            _ => Error::TooFewCandidates {
                found: candidates.groups as usize,
                wanted,
                min_share: rule.min_share,
                max_calls: rule.max_calls,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::{Called, Unpatchable};
    use corehop_traces::FunctionId;

    #[test]
    fn where_nothing_can_be_patched_no_wider_choice_is_advised() {
        let called = Called {
            least: 1,
            median: 1,
            most: 1,
            share: 1.0,
            position: 0.0,
        };
        let unpatchable = |reason: &str| Unpatchable {
            function: FunctionId(0),
            called,
            reason: reason.into(),
        };
        let rule = CandidateRule::default();
        let mut candidates = Candidates {
            unpatchable: vec![unpatchable("statically linked"), unpatchable("too short")],
            ..Candidates::default()
        };
        let said = |of: &Candidates| Error::too_few(of, 2, &rule).to_string();
        let expected = "none of 2 candidate functions can be patched: statically linked (the first \
                        of them; `corehop candidates` lists all)";
        assert_eq!(said(&candidates), expected);
        candidates.groups = 1;
        assert!(said(&candidates).contains("widen the choice with --min-share"));
        candidates = Candidates::default();
        assert!(said(&candidates).contains("widen the choice with --min-share"));
    }
}
