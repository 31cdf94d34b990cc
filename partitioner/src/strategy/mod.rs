//! Strategies: which splits to evaluate to find the best one, and how close it is to the optimum.
//!
//! Every strategy offers splits to one list of the best and returns a *lower bound*: a cost, e.g.
//! of L2 misses, that no split is below. If the lower bound equals the best split's cost, that
//! split is proven optimal. This holds among splits that hop at these functions, one per core,
//! ranked by the cost of each core alone. Otherwise, the two show the maximum distance to the
//! optimum. Ties go to the first split in lexicographic order, so the result depends only on the
//! seed.

mod bound;
mod exhaustive;
mod graph;
mod local;
mod outlook;
mod partial;
mod random;
mod ranking;
mod run;
mod space;

pub use ranking::{Ranking, Strategy};
pub use run::Search;
pub use space::combinations;

use crate::evaluate::Evaluator;
use run::{Explore, Run};
use space::Space;
use std::collections::BTreeSet;

/// Maximum number of splits for which exhaustive search is the default; branch and bound needs
/// fewer simulations.
pub const EXHAUSTIVE_SPLITS: u128 = 10_000;

/// The same maximum if cores share an L2 and each split is replayed in full.
pub const EXHAUSTIVE_REPLAYS: u128 = 2_000;

/// Searches the splits of the evaluator's functions.
///
/// # Panics
/// If there are fewer candidates than functions, fewer functions than cores, or no core.
pub fn search(evaluator: &mut Evaluator<'_>, search: &Search<'_>) -> Ranking {
    let space = Space {
        candidates: evaluator.functions() as u32,
        functions: search.functions,
        cores: search.cores,
    };
    let (candidates, functions, cores) = (space.candidates, space.functions, space.cores);
    assert!(
        0 < cores && cores <= functions && functions <= candidates,
        "{functions} of {candidates} functions, {cores} cores"
    );
    let splits = space.count();
    let (strategy, why) = choose(evaluator, search, splits);
    let total = (strategy == Strategy::Exhaustive).then_some(splits as u64);
    search.progress.begin("splits tried", total);
    let mut run = Run {
        evaluator,
        space,
        search,
        best: BTreeSet::new(),
        evaluated: 0,
        stopped: false,
    };
    let explore: &dyn Explore = match strategy {
        Strategy::Exhaustive => &exhaustive::Exhaustive,
        Strategy::Bound => &bound::Bound,
        Strategy::Local => &local::Local,
        Strategy::Random => &random::Random,
    };
    let lower_bound = explore.explore(&mut run);
    search.progress.end();
    let better_share = (strategy == Strategy::Random).then(|| random::better_share(run.evaluated));
    Ranking {
        in_full: run.evaluator.is_in_full(),
        best: run.best.into_iter().collect(),
        evaluated: run.evaluated,
        strategy,
        why,
        lower_bound,
        stopped: run.stopped,
        better_share,
    }
}

/// Returns the strategy and the reason for it.
fn choose(evaluator: &Evaluator<'_>, search: &Search<'_>, splits: u128) -> (Strategy, String) {
    let (alone, most) = match evaluator.is_in_full() {
        false => ("", EXHAUSTIVE_SPLITS),
        true => ("each split is replayed in full: ", EXHAUSTIVE_REPLAYS),
    };
    let many = format!("{alone}{splits} splits are too many to try them all");
    // The set of a core with several functions is settled only when all of them are decided.
    let is_shared = search.functions > search.cores;
    let is_bounded = !is_shared && !evaluator.is_in_full();
    let why_not = match is_shared {
        true => ", and branch and bound needs a core for each function",
        false => "",
    };
    let local = (Strategy::Local, format!("{many}{why_not}"));
    match search.strategy {
        Some(Strategy::Bound) if !is_bounded => local,
        Some(strategy) => (strategy, format!("{alone}asked for")),
        None if splits <= most => (
            Strategy::Exhaustive,
            format!("{alone}{splits} splits can all be tried"),
        ),
        None if !is_bounded => local,
        None => (Strategy::Bound, many),
    }
}
