//! Branch and bound over partial splits, those with the same future merged: proven, for any number
//! of cores.
//!
//! Functions are decided one after the other, in or out, in the order of their positions. A core's
//! misses are *settled* as soon as every list of its function ([`super::outlook`]) has its first
//! chosen function before its first undecided one: no later decision changes what runs there. So
//!
//! - the settled cores of a partial split miss as much in each of its completions, and the others
//!   not less than nothing: their sum is a bound, and a partial split whose bound exceeds the worst
//!   of the splits to keep is left out with all its completions. A local search goes first, so that
//!   there are such splits;
//! - what is not settled depends on earlier decisions only through the first chosen functions of
//!   the lists still open. Partial splits that agree in those, and in their number of functions,
//!   have completions in common at the same further cost, and only the cheapest few of them can
//!   lead to the best few: the others are left out (Bellman's principle).
//!
//! When candidates come in one fixed order, the open lists begin with the last chosen function or
//! run around to the first: at most n x n states a layer and number of cores, and all cores'
//! sets are intervals between two functions, n x n of them, however many splits there are. Where
//! orders differ, states multiply with the differences; beyond [`MOST_STATES`] every split is tried
//! if that is feasible, and else the search ends: the least bound of what was left is its floor.
//! Depth first with less memory was rejected: it meets merged states again and again.

use super::exhaustive::Exhaustive;
use super::local::Local;
use super::outlook::{ABSENT, Outlook};
use super::{EXHAUSTIVE_INSTEAD, Explore, Run, combinations};
use crate::evaluate::Choice;
use std::collections::HashMap;

pub(super) struct Bound;

/// Partial splits kept at a time.
const MOST_STATES: usize = 1 << 18;

/// Partial splits with the same future.
struct State {
    /// The cheapest few, ascending, with the misses of their settled cores.
    splits: Vec<(u64, Choice)>,
    /// Chosen functions whose cores are not settled, ascending; the same for all `splits`.
    open: Vec<u32>,
    /// By list, where the first chosen function stands, as far as it still matters.
    firsts: Vec<u16>,
}

/// A state, and how many of its open functions, its first ones, have just been settled.
struct Child {
    state: State,
    settled: Vec<u32>,
}

impl Explore for Bound {
    fn explore(&self, run: &mut Run<'_, '_>) -> u64 {
        Local.explore(run);
        let functions = run.functions();
        let outlook = Outlook::new(&run.evaluator.calls(), functions as usize);
        let mut states = vec![State {
            splits: vec![(0, Choice::new())],
            open: Vec::new(),
            firsts: vec![ABSENT; outlook.lists.len()],
        }];
        for function in 0..functions {
            let floor = least(&states);
            let expanded = expand(&outlook, &states, function, run);
            match charge(expanded, run) {
                Some(children) => states = merge(children, run),
                None => return floor.max(run.evaluator.floor()).min(best(run)),
            }
            if states.len() > MOST_STATES {
                let splits = combinations(functions.into(), run.cores().into());
                if splits <= EXHAUSTIVE_INSTEAD {
                    return Exhaustive.explore(run);
                }
                return least(&states).max(run.evaluator.floor()).min(best(run));
            }
        }
        for state in states {
            run.remember(state.splits);
        }
        best(run)
    }
}

/// No completion of these misses less.
fn least(states: &[State]) -> u64 {
    let bounds = states.iter().map(|state| state.splits[0].0);
    bounds.min().unwrap_or(u64::MAX)
}

fn best(run: &Run<'_, '_>) -> u64 {
    run.best.first().map_or(0, |best| best.0)
}

/// Every state with `function` out, and in, as far as splits of the right size can follow.
fn expand(outlook: &Outlook, states: &[State], function: u32, run: &Run<'_, '_>) -> Vec<Child> {
    let left = run.functions() - function - 1;
    let fits = |chosen: u32| chosen <= run.cores() && chosen + left >= run.cores();
    let mut children = Vec::new();
    for state in states {
        let chosen = state.splits[0].1.len() as u32;
        if fits(chosen) {
            children.push(decided(outlook, state, function, false));
        }
        if fits(chosen + 1) {
            children.push(decided(outlook, state, function, true));
        }
    }
    children
}

fn decided(outlook: &Outlook, state: &State, function: u32, is_in: bool) -> Child {
    let mut splits = state.splits.clone();
    let mut firsts = state.firsts.clone();
    let mut open = state.open.clone();
    if is_in {
        splits
            .iter_mut()
            .for_each(|(_, split)| split.push(function));
        open.push(function);
        for (first, list) in firsts.iter_mut().zip(&outlook.lists) {
            *first = list.place(function).min(*first);
        }
    }
    let decided = function + 1;
    let begins = splits[0].1.first().copied();
    let of_beginnings = |of: u32| (begins == Some(of)).then_some(&outlook.of_beginnings);
    let lists = |of: u32| {
        let of_function = outlook.of_functions[of as usize].iter();
        of_function.chain(of_beginnings(of).into_iter().flatten())
    };
    let is_settled =
        |&of: &u32| lists(of).all(|&list| outlook.lists[list].is_settled(firsts[list], decided));
    let (settled, open): (Vec<u32>, Vec<u32>) = open.into_iter().partition(is_settled);
    // Lists that no longer matter are made equal, so that states that differ in them only merge.
    let mut matters = vec![false; firsts.len()];
    for of in open
        .iter()
        .copied()
        .chain(decided..outlook.of_functions.len() as u32)
    {
        lists(of).for_each(|&list| matters[list] = true);
    }
    if begins.is_none() {
        outlook
            .of_beginnings
            .iter()
            .for_each(|&list| matters[list] = true);
    }
    let unimportant = firsts
        .iter_mut()
        .zip(matters)
        .filter(|(_, matters)| !matters);
    unimportant.for_each(|(first, _)| *first = ABSENT);
    Child {
        state: State {
            splits,
            open,
            firsts,
        },
        settled,
    }
}

/// Adds the misses of the cores just settled; `None` when the search is over.
fn charge(mut children: Vec<Child>, run: &mut Run<'_, '_>) -> Option<Vec<State>> {
    let wanted = children.iter().flat_map(|child| {
        let split = &child.state.splits[0].1;
        let core = |of: &u32| split.partition_point(|f| f < of);
        child.settled.iter().map(move |of| (split, core(of)))
    });
    let wanted: Vec<(&Choice, usize)> = wanted.collect();
    let search = *run.search;
    let misses = run.evaluator.evaluate_cores(&wanted, &|| search.is_over());
    let misses: Option<Vec<u64>> = misses.into_iter().collect();
    if misses.is_none() {
        run.stopped = true;
    }
    let mut misses = misses?.into_iter();
    for child in &mut children {
        let more: u64 = misses.by_ref().take(child.settled.len()).sum();
        child
            .state
            .splits
            .iter_mut()
            .for_each(|split| split.0 += more);
    }
    Some(children.into_iter().map(|child| child.state).collect())
}

/// One state for all with the same future, without those that lead to nothing worth keeping.
fn merge(states: Vec<State>, run: &Run<'_, '_>) -> Vec<State> {
    let worst = run.worst_kept().unwrap_or(u64::MAX);
    let mut merged: Vec<State> = Vec::new();
    let mut index_of: HashMap<(usize, Vec<u32>, Vec<u16>), usize> = HashMap::new();
    for mut state in states {
        state.splits.retain(|split| split.0 <= worst);
        if state.splits.is_empty() {
            continue;
        }
        let chosen = state.splits[0].1.len();
        let future = (chosen, state.open.clone(), state.firsts.clone());
        match index_of.get(&future) {
            Some(&index) => {
                let splits: &mut Vec<_> = &mut merged[index].splits;
                splits.append(&mut state.splits);
                splits.sort_unstable();
                splits.truncate(run.search.keep);
            }
            None => {
                index_of.insert(future, merged.len());
                merged.push(state);
            }
        }
    }
    merged
}
