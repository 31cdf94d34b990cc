//! The search: at which function entries should a server's threads change core?
//!
//! [`partition`] goes from a trace to a plan in five steps, one file each: divide the requests into
//! those to search on and those to judge by ([`requests`]), find the functions a thread could
//! change core at ([`candidates`]), prepare the searched requests ([`stream`]), rank splits by
//! what each core's private caches would miss ([`evaluate`], [`search`]), and replay the best few
//! in full, shared L3 included, on requests the search never saw ([`judge`]).

pub mod alternatives;
pub mod candidates;
mod core_set;
mod error;
pub mod evaluate;
pub mod hop_cost;
pub mod judge;
pub mod progress;
pub mod requests;
pub mod search;
pub mod stream;

pub use error::Error;
pub use judge::{Comparison, Judged};

use candidates::{Candidates, Rule};
use corehop_simulator::Machine;
use corehop_traces::Trace;
use evaluate::Evaluator;
use progress::Progress;
use requests::{Parts, Searched};
use search::{Ranking, Strategy};
use stream::Stream;

/// What to search for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Number of cores, at least 2; as many functions are chosen.
    pub cores: u32,
    /// Requests to search on.
    pub searched: Searched,
    /// What makes a function a candidate.
    pub rule: Rule,
    /// Decides which requests are searched, and where a local search starts.
    pub seed: u64,
}

/// The split found and how it was found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Which requests were used for what.
    pub parts: Parts,
    /// The functions the rule admits.
    pub candidates: Candidates,
    /// Chosen functions as the trace numbers them; the one at index `i` has core `i`.
    pub split: Vec<u32>,
    /// How it compares, on the searched requests and on others.
    pub judged: Judged,
    /// Number of splits evaluated.
    pub splits_evaluated: u64,
    /// Number of distinct sets of occurrences replayed for them.
    pub sets_replayed: usize,
    /// How splits were chosen for evaluation.
    pub strategy: Strategy,
    /// Line accesses of the searched requests, recorded and after condensing.
    pub condensed: (u64, u64),
}

/// The best few splits of the ranking, which are replayed in full.
const REPLAYED_IN_FULL: usize = 5;

/// Searches `trace` for the split with the fewest L2 misses on `machine`.
///
/// # Errors
/// Too few requests or candidates, or what reading or replaying the trace says.
///
/// # Panics
/// When `settings.cores` is 0: callers refuse that with their own words.
pub fn partition(
    trace: &Trace,
    machine: &Machine,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Outcome, Error> {
    assert!(settings.cores > 0, "a split has at least one core");
    let parts = Parts::of(trace.requests(), settings.searched, settings.seed)?;
    let learning: Vec<u32> = parts.learning().collect();
    progress.begin("counting calls", None);
    let candidates = Candidates::of(trace, &learning, &settings.rule)?;
    progress.end();
    let functions = candidates.representatives();
    if functions.len() < settings.cores as usize {
        return Err(Error::TooFewCandidates {
            found: functions.len(),
            cores: settings.cores,
            min_share: settings.rule.min_share,
            max_calls: settings.rule.max_calls,
        });
    }
    progress.begin("preparing the searched requests", None);
    let stream = Stream::of(trace, &parts.searched, &functions, machine)?;
    progress.end();
    let mut evaluator = Evaluator::new(&stream, machine, functions.len());
    let space = (functions.len() as u32, settings.cores);
    let ranking = search::search(
        &mut evaluator,
        space,
        settings.seed,
        REPLAYED_IN_FULL,
        progress,
    );
    let Ranking {
        best,
        evaluated,
        strategy,
    } = ranking;
    let named = |(misses, choice): (u64, Vec<u32>)| {
        (
            misses,
            choice.into_iter().map(|c| functions[c as usize]).collect(),
        )
    };
    let ranked: Vec<(u64, Vec<u32>)> = best.into_iter().map(named).collect();
    let (split, judged) = judge::judge(trace, machine, &parts, &ranked, progress)?;
    Ok(Outcome {
        parts,
        split,
        judged,
        splits_evaluated: evaluated,
        sets_replayed: evaluator.sets_replayed(),
        strategy,
        condensed: (stream.uncondensed, stream.accesses.len() as u64),
        candidates,
    })
}
