//! Which splits to evaluate, so that the best is found, and what can be said of it then.
//!
//! Every strategy offers splits to one list of the best and ends with a *lower bound*: a cost, as
//! of L2 misses, that no split, looked at or not, goes below. When the lower bound is the best
//! split's own cost, that split is proven optimal (among splits that hop at these functions, one a
//! core, ranked by what each core costs alone); else the two say how far from the best possible it
//! can be. Ties go to the split that comes first in lexicographic order, so the result depends on
//! the seed alone.

mod bound;
mod exhaustive;
mod graph;
mod local;
mod outlook;
mod partial;
mod random;
mod space;

pub use space::combinations;

use crate::evaluate::{Evaluator, IndexedPlacement};
use crate::progress::Progress;
use space::Space;
use std::collections::BTreeSet;
use std::time::Instant;

/// More splits than this are not all tried, unless asked for: branch and bound needs fewer
/// simulations.
pub const EXHAUSTIVE_SPLITS: u128 = 10_000;

/// More splits than this are not all tried where branch and bound does not get through.
pub const EXHAUSTIVE_INSTEAD: u128 = 2_000_000;

/// Partial splits that branch and bound keeps at a time.
const MOST_STATES: usize = 1 << 18;

/// As many as are all tried, where cores share an L2 and each split is replayed in full.
pub const EXHAUSTIVE_REPLAYS: u128 = 2_000;

/// A way to go about a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Every split is evaluated.
    Exhaustive,
    /// Branch and bound over partial splits, those with the same future merged.
    Bound,
    /// Greedy start and random restarts, one exchange at a time.
    #[serde(rename = "local-search")]
    Local,
    /// Splits drawn at random.
    Random,
}

/// What to search, and when to stop.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    /// Number of cores of a split; each has a function at least.
    pub cores: u32,
    /// Number of functions of a split.
    pub functions: u32,
    /// `None`: the cheapest strategy that proves its result.
    pub strategy: Option<Strategy>,
    /// Where random choices start.
    pub seed: u64,
    /// How many of the best splits to keep.
    pub keep: usize,
    /// When to stop at the latest; the result then depends on the speed of the host.
    pub until: Option<Instant>,
    /// Is told how far the search is, and can stop it.
    pub progress: &'a dyn Progress,
}

/// Splits with their L2 misses, best first.
#[derive(Clone, Debug)]
pub struct Ranking {
    /// The best few, best first.
    pub best: Vec<(u64, IndexedPlacement)>,
    /// Number of splits evaluated.
    pub evaluated: u64,
    /// How they were chosen.
    pub strategy: Strategy,
    /// Why that strategy was taken.
    pub why: String,
    /// No split at all misses less.
    pub lower_bound: u64,
    /// Whether the search was stopped before its end.
    pub stopped: bool,
    /// Whether every split was replayed in full, as where cores share an L2: then it is ranked by
    /// the objective itself.
    pub in_full: bool,
    /// For splits drawn at random: with 99 % confidence at most this share of all is better.
    pub better_share: Option<f64>,
}

impl Search<'_> {
    /// Whether time is up, or someone wants the search to end.
    pub fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until) || self.progress.is_stopped()
    }
}

impl Ranking {
    /// Whether no split is better than the first.
    pub fn is_optimal(&self) -> bool {
        self.best
            .first()
            .is_some_and(|best| best.0 <= self.lower_bound)
    }

    /// By what share of the best possible the first split can miss more than that, at most; `None`
    /// when nothing is known of the best possible.
    pub fn gap(&self) -> Option<f64> {
        let best = self.best.first()?.0;
        let known = best <= self.lower_bound || self.lower_bound > 0;
        known.then(|| best.saturating_sub(self.lower_bound) as f64 / self.lower_bound.max(1) as f64)
    }
}

/// What every strategy does.
trait Explore {
    /// Offers splits to `run` until it knows enough or is stopped; gives the lower bound.
    fn explore(&self, run: &mut Run<'_, '_>) -> u64;
}

/// A search under way.
struct Run<'r, 'e> {
    evaluator: &'r mut Evaluator<'e>,
    space: Space,
    search: &'r Search<'r>,
    best: BTreeSet<(u64, IndexedPlacement)>,
    evaluated: u64,
    stopped: bool,
}

/// Searches the splits of the evaluator's functions.
///
/// # Panics
/// When there are fewer candidates than functions, fewer functions than cores, or no core.
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
    search.progress.begin("splits", total);
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

/// The strategy, and why it is taken.
fn choose(evaluator: &Evaluator<'_>, search: &Search<'_>, splits: u128) -> (Strategy, String) {
    let (alone, most) = match evaluator.is_in_full() {
        false => ("", EXHAUSTIVE_SPLITS),
        true => (
            "cores share an L2, so each split is replayed in full: ",
            EXHAUSTIVE_REPLAYS,
        ),
    };
    let many = format!("{alone}{splits} splits are too many to try them all");
    // What runs on a core of several functions is not settled before all of them are decided.
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

impl Run<'_, '_> {
    /// Evaluates `splits`, remembers the best, and gives the best of these. A search that is over
    /// before all are evaluated is stopped; the first of all is evaluated in any case.
    fn offer(&mut self, splits: Vec<IndexedPlacement>) -> Option<(u64, IndexedPlacement)> {
        let search = *self.search;
        let first = usize::from(self.best.is_empty()).min(splits.len());
        let mut misses = self.evaluator.evaluate_until(&splits[..first], &|| false);
        let others = &splits[first..];
        misses.extend(self.evaluator.evaluate_until(others, &|| search.is_over()));
        let evaluated = misses.iter().flatten().count();
        self.stopped |= evaluated < splits.len();
        self.evaluated += evaluated as u64;
        self.search.progress.advance(evaluated as u64);
        let offered = misses.into_iter().zip(splits);
        let offered: BTreeSet<_> = offered.filter_map(|(m, split)| Some((m?, split))).collect();
        let best = offered.first().cloned();
        self.remember(offered.into_iter().take(self.search.keep));
        best
    }

    fn remember(&mut self, splits: impl IntoIterator<Item = (u64, IndexedPlacement)>) {
        self.best.extend(splits);
        while self.best.len() > self.search.keep {
            self.best.pop_last();
        }
    }

    /// Misses of the last split kept, when no more are kept than wanted.
    fn worst_kept(&self) -> Option<u64> {
        let full = self.best.len() == self.search.keep;
        self.best.last().filter(|_| full).map(|worst| worst.0)
    }

    /// Whether to end the search here; a search that has nothing to show goes on.
    fn is_over(&mut self) -> bool {
        self.stopped |= self.search.is_over() && !self.best.is_empty();
        self.stopped
    }
}
