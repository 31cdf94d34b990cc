//! Partial splits: some functions decided, the others not yet, and those with the same future one.
//!
//! Functions are decided one after the other, in or out, in the order of their positions. A core's
//! misses are *settled* as soon as every list of its function ([`super::outlook`]) has its first
//! chosen function before its first undecided one: no later decision changes what runs there. What
//! is not settled depends on earlier decisions only through the first chosen functions of the lists
//! still open. Partial splits that agree in those, and in their number of functions, have
//! completions in common at the same further cost, so only the cheapest few of them can lead to the
//! best few: the others are left out (Bellman's principle).

use super::outlook::{ABSENT, Outlook};
use crate::evaluate::{Choice, CoreSet};
use std::collections::HashMap;

/// Partial splits with the same future.
pub(super) struct State {
    /// The cheapest few, ascending, with the misses of their settled cores.
    pub splits: Vec<(u64, Choice)>,
    /// Chosen functions whose cores are not settled, ascending; the same for all `splits`.
    open: Vec<u32>,
    /// By list, where the first chosen function stands, as far as it still matters.
    firsts: Vec<u16>,
}

/// A state, and the functions whose cores have just been settled.
pub(super) struct Child {
    pub state: State,
    settled: Vec<u32>,
    /// What runs on their cores, once it is asked for.
    pub sets: Vec<CoreSet>,
}

/// Whether a split of so many functions can be completed: how many are chosen, and how many are
/// not decided yet.
pub(super) type Fits<'f> = &'f dyn Fn(u32, u32) -> bool;

impl State {
    /// Nothing is decided.
    pub fn empty(outlook: &Outlook) -> State {
        State {
            splits: vec![(0, Choice::new())],
            open: Vec::new(),
            firsts: vec![ABSENT; outlook.lists.len()],
        }
    }

    /// No completion misses less.
    pub fn bound(&self) -> u64 {
        self.splits[0].0
    }
}

impl Child {
    /// The functions just settled, each with a split that it is settled in and its core there.
    pub fn settled_cores(&self) -> impl Iterator<Item = (&Choice, usize)> {
        let split = &self.state.splits[0].1;
        let core = move |of: &u32| (split, split.partition_point(|(function, _)| function < of));
        self.settled.iter().map(core)
    }
}

/// Every state with `function` out, and in, as far as splits of the right size can follow.
pub(super) fn expand(
    outlook: &Outlook,
    states: &[State],
    function: u32,
    fits: Fits<'_>,
) -> Vec<Child> {
    let left = outlook.of_functions.len() as u32 - function - 1;
    let mut children = Vec::new();
    for state in states {
        let chosen = state.splits[0].1.len() as u32;
        if fits(chosen, left) {
            children.push(decided(outlook, state, function, false));
        }
        if fits(chosen + 1, left) {
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
            .for_each(|(_, split)| split.push((function, split.len() as u32)));
        open.push(function);
        for (first, list) in firsts.iter_mut().zip(&outlook.lists) {
            *first = list.place(function).min(*first);
        }
    }
    let decided = function + 1;
    let begins = splits[0].1.first().map(|&(function, _)| function);
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
        sets: Vec::new(),
    }
}

/// One state for all with the same future, each with the `keep` cheapest.
pub(super) fn merge(states: impl Iterator<Item = State>, keep: usize) -> Vec<State> {
    let mut merged: Vec<State> = Vec::new();
    let mut index_of: HashMap<(usize, Vec<u32>, Vec<u16>), usize> = HashMap::new();
    for mut state in states {
        let chosen = state.splits[0].1.len();
        let future = (chosen, state.open.clone(), state.firsts.clone());
        match index_of.get(&future) {
            Some(&index) => {
                let splits: &mut Vec<_> = &mut merged[index].splits;
                splits.append(&mut state.splits);
                splits.sort_unstable();
                splits.truncate(keep);
            }
            None => {
                index_of.insert(future, merged.len());
                merged.push(state);
            }
        }
    }
    merged
}
