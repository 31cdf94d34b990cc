//! Why a search could not be done.

/// What stands between a trace and a plan.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The trace could not be read.
    #[error(transparent)]
    Trace(#[from] corehop_traces::Error),
    /// The replay refused.
    #[error(transparent)]
    Replay(#[from] corehop_simulator::Error),
    /// The timed replay refused.
    #[error(transparent)]
    Timed(#[from] corehop_timed::Error),
    /// The trace holds no complete request to search on.
    #[error(
        "the trace holds no complete request: record again, with --request-at naming a \
         function that every request enters"
    )]
    NoRequests,
    /// The trace tells nothing of arguments.
    #[error(
        "the trace does not tell what functions were called with: it was imported, or recorded \
         before corehop kept that: record again"
    )]
    NoPointers,
    /// Requests do not begin at a function that can be hooked.
    #[error(
        "calls of a request are counted from a function that each request enters, and the trace's \
         requests begin at none that can be hooked: record with --request-at naming one"
    )]
    NoRequestFunction,
    /// Fewer requests than were asked for.
    #[error(
        "{wanted} requests wanted, but the trace holds {complete} complete ones: ask for \
         fewer, or record more"
    )]
    TooFewRequests {
        /// Requests asked for.
        wanted: usize,
        /// Complete requests in the trace.
        complete: usize,
    },
    /// Too few functions at which a thread could change core.
    #[error(
        "{found} {} of candidate functions, of which {wanted} were to be chosen: {}widen the \
         choice with --min-share (now {min_share}), --max-calls (now {max_calls}) or a smaller \
         --group-within",
        if *found == 1 { "group" } else { "groups" },
        if *wanted > 2 { "use fewer cores, or " } else { "" }
    )]
    TooFewCandidates {
        /// Candidates, or groups of them, that the rule leaves.
        found: usize,
        /// Functions asked for.
        wanted: u32,
        /// The rule's least share of requests.
        min_share: f64,
        /// The rule's most calls in one request.
        max_calls: u32,
    },
}
