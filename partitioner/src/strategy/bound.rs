//! Branch and bound over partial splits ([`super::partial`]): proven, for any number of cores.
//!
//! The settled cores of a partial split miss as much in each of its completions, and the others
//! not less than nothing: their sum is a bound, and a partial split whose bound exceeds the worst
//! of the splits to keep is left out with all its completions. A local search goes first, so that
//! there are such splits. Those just settled are simulated a group of residues at a time, and left
//! out as soon as the groups so far suffice for that.
//!
//! When candidates come in one fixed order, the open lists begin with the last chosen function or
//! run around to the first: at most n x n states a layer and number of cores, and all cores'
//! sets are intervals between two functions, n x n of them, however many splits there are. Where
//! orders differ, states multiply with the differences; beyond [`MOST_STATES`] every split is tried
//! if that is feasible, and else the search ends. Depth first with less memory was rejected: it
//! meets merged states again and again.
//!
//! **The floor of a search that ends early.** Cores that are not settled leave bounds of unfinished
//! searches near nothing. But a split's misses are a sum over groups of residues too, and the least
//! sum is not less than the sum of the least: for every split s,
//!
//! > misses(s) = sum over groups g of misses(s, g) >= sum over g of min over t of misses(t, g).
//!
//! So where time will be short each group is settled by itself first, each by the same branch and
//! bound. Each group settled raises the floor by its share of the whole, up to a few percent below
//! the best: residues are much alike, and what splits one of them well splits the others well. The
//! search of all groups together comes last, and finds nearly all its sets simulated. A group that
//! was not settled counts with its lines, each of which must come to some core once.

use super::exhaustive::Exhaustive;
use super::local::Local;
use super::outlook::Outlook;
use super::partial::{Child, State, expand, merge};
use super::{EXHAUSTIVE_INSTEAD, Explore, Run};
use crate::evaluate::{Choice, CoreSet, GROUPS};
use std::time::Instant;

pub(super) struct Bound;

/// Partial splits kept at a time.
const MOST_STATES: usize = 1 << 18;

/// A search with less time left than so many local searches take settles groups first: the rest
/// takes two or more.
const HURRIED: u32 = 3;

/// A search of more touches does so in any case, because someone may end it.
const LONG_TOUCHES: usize = 1 << 20;

/// How a branch and bound ended.
enum End {
    /// With the best splits.
    Settled(Vec<(u64, Choice)>),
    /// Before that; no split misses less than this where it looked.
    Stopped(u64),
    /// With more states than there is room for.
    TooMany,
}

/// What a branch and bound is to find.
struct Wanted<'a> {
    /// Which groups of residues count.
    groups: &'a [usize],
    /// Splits that miss more than this are of no interest.
    worst: u64,
    /// How many splits.
    keep: usize,
}

impl Explore for Bound {
    fn explore(&self, run: &mut Run<'_, '_>) -> u64 {
        let begun = Instant::now();
        Local.explore(run);
        let outlook = Outlook::new(&run.evaluator.calls(), run.evaluator.functions());
        let floor = match is_hurried(run, begun) {
            true => settle_groups(&outlook, run),
            false => run.evaluator.floor(),
        };
        let all: Vec<usize> = (0..GROUPS).collect();
        let wanted = Wanted {
            groups: &all,
            worst: run.worst_kept().unwrap_or(u64::MAX),
            keep: run.search.keep,
        };
        match settle(&outlook, &wanted, run) {
            End::Settled(splits) => {
                run.remember(splits);
                best(run)
            }
            End::Stopped(bound) => floor.max(bound).min(best(run)),
            End::TooMany => match run.space.count() <= EXHAUSTIVE_INSTEAD {
                true => Exhaustive.explore(run).max(floor),
                false => floor.min(best(run)),
            },
        }
    }
}

/// Whether to expect an early end, from how long the local search took.
fn is_hurried(run: &Run<'_, '_>, begun: Instant) -> bool {
    match run.search.until {
        Some(until) => {
            let left = until.saturating_duration_since(Instant::now());
            left < HURRIED * begun.elapsed()
        }
        None => run.evaluator.touches() > LONG_TOUCHES,
    }
}

/// The floor, from each group by itself as far as time allows.
fn settle_groups(outlook: &Outlook, run: &mut Run<'_, '_>) -> u64 {
    let mut floors: Vec<u64> = (0..GROUPS)
        .map(|group| run.evaluator.floor_of(group))
        .collect();
    for (group, floor) in floors.iter_mut().enumerate() {
        let splits: Vec<Choice> = run.best.iter().map(|(_, split)| split.clone()).collect();
        let groups = group..group + 1;
        let misses = run.evaluator.evaluate_groups(&splits, groups, &|| false);
        let wanted = Wanted {
            groups: &[group],
            worst: misses.into_iter().flatten().min().unwrap_or(u64::MAX),
            keep: 1,
        };
        match settle(outlook, &wanted, run) {
            End::Settled(splits) => *floor = splits[0].0,
            End::Stopped(bound) => *floor = bound.max(*floor),
            End::TooMany => break,
        }
    }
    floors.iter().sum()
}

fn best(run: &Run<'_, '_>) -> u64 {
    run.best.first().map_or(0, |best| best.0)
}

/// Looks for the best splits by the misses of some groups of residues.
fn settle(outlook: &Outlook, wanted: &Wanted<'_>, run: &mut Run<'_, '_>) -> End {
    let cores = run.space.cores;
    let fits = |chosen: u32, left: u32| chosen <= cores && chosen + left >= cores;
    let mut states = vec![State::empty(outlook)];
    for function in 0..run.space.candidates {
        let bound = states.iter().map(State::bound).min().unwrap_or(u64::MAX);
        let children = expand(outlook, &states, function, &fits);
        let charged = match run.is_over() {
            true => None,
            false => charge(children, wanted, run),
        };
        let Some(mut charged) = charged else {
            return End::Stopped(bound);
        };
        for state in &mut charged {
            state.splits.retain(|split| split.0 <= wanted.worst);
        }
        states = merge(charged.into_iter(), wanted.keep);
        if states.len() > MOST_STATES {
            return End::TooMany;
        }
    }
    let mut splits: Vec<_> = states.into_iter().flat_map(|state| state.splits).collect();
    splits.sort_unstable();
    End::Settled(splits)
}

/// Adds the misses of the cores just settled, group after group, and leaves out what cannot be
/// wanted any more; `None` when the search is over.
fn charge(
    mut children: Vec<Child>,
    wanted: &Wanted<'_>,
    run: &mut Run<'_, '_>,
) -> Option<Vec<State>> {
    let cores: Vec<(&Choice, usize)> = children.iter().flat_map(Child::settled_cores).collect();
    let mut sets = run.evaluator.core_sets(&cores).into_iter();
    for child in &mut children {
        let count = child.settled_cores().count();
        child.sets = sets.by_ref().take(count).collect();
    }
    let search = *run.search;
    for &group in wanted.groups {
        let settled = children.iter().flat_map(|child| {
            let cores = child.settled_cores();
            cores
                .zip(&child.sets)
                .map(|((split, core), &set)| (set, split, core))
        });
        let settled: Vec<(CoreSet, &Choice, usize)> = settled.collect();
        let misses = run
            .evaluator
            .evaluate_sets(&settled, group, &|| search.is_over());
        run.stopped |= misses.is_none();
        let mut misses = misses?.into_iter();
        for child in &mut children {
            let more: u64 = misses.by_ref().take(child.sets.len()).sum();
            child
                .state
                .splits
                .iter_mut()
                .for_each(|split| split.0 += more);
        }
        children.retain(|child| child.state.bound() <= wanted.worst);
    }
    Some(children.into_iter().map(|child| child.state).collect())
}
