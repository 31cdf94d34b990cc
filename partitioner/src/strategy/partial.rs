//! Partial splits: some functions are decided and the others are not. Partial splits with the same
//! future are merged.
//!
//! Functions are decided one after the other, in or out, in the order of their positions. A core's
//! misses are *settled* when every list of its function ([`super::outlook`]) has its first chosen
//! function before its first undecided one: no later decision changes the set of that core. The
//! unsettled rest depends on earlier decisions only through the first chosen functions of the lists
//! still open. Partial splits with the same ones, and the same number of functions, have the same
//! completions at the same further cost. So they form one state, whose future is explored once
//! (Bellman's principle).

use super::outlook::{ABSENT, Outlook};
use crate::evaluate::IndexedPlacement;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Partial splits with the same future.
pub(super) struct State {
    /// One of them.
    pub split: IndexedPlacement,
    /// Minimum misses of the settled cores of any of them.
    pub lower_bound: u64,
    /// Chosen functions whose cores are not settled, ascending; the same for all.
    open: Vec<u32>,
    /// By list: the position of the first chosen function, as long as it matters.
    firsts: Vec<u16>,
}

/// A state, and the functions whose cores have just been settled.
pub(super) struct Child {
    /// Index of its parent state.
    pub parent: usize,
    /// Whether the function decided last is in.
    pub is_in: bool,
    pub state: State,
    pub settled: Vec<u32>,
}

/// Whether a partial split with this many chosen and this many undecided functions can be
/// completed.
pub(super) type Fits<'f> = &'f dyn Fn(u32, u32) -> bool;

impl State {
    /// Returns the state in which nothing is decided.
    pub fn empty(outlook: &Outlook) -> State {
        State {
            split: IndexedPlacement::new(),
            lower_bound: 0,
            open: Vec::new(),
            firsts: vec![ABSENT; outlook.lists.len()],
        }
    }
}

impl Child {
    /// Returns the functions just settled, as a split and the index of the core in it.
    pub fn settled_cores(&self) -> impl Iterator<Item = (&IndexedPlacement, usize)> {
        let split = &self.state.split;
        let core = move |of: &u32| (split, split.partition_point(|(function, _)| function < of));
        self.settled.iter().map(core)
    }
}

/// Returns every state with `function` out, and in, as long as splits of the right size can follow.
pub(super) fn expand(
    outlook: &Outlook,
    states: &[State],
    function: u32,
    fits: Fits<'_>,
) -> Vec<Child> {
    let left = outlook.of_functions.len() as u32 - function - 1;
    let mut children = Vec::new();
    for (parent, state) in states.iter().enumerate() {
        let chosen = state.split.len() as u32;
        for is_in in [false, true] {
            if fits(chosen + u32::from(is_in), left) {
                let (state, settled) = decided(outlook, state, function, is_in);
                children.push(Child {
                    parent,
                    is_in,
                    state,
                    settled,
                });
            }
        }
    }
    children
}

/// Returns the state with one more decided function, and the functions that this settles.
fn decided(outlook: &Outlook, state: &State, function: u32, is_in: bool) -> (State, Vec<u32>) {
    let mut split = state.split.clone();
    let mut firsts = state.firsts.clone();
    let mut open = state.open.clone();
    if is_in {
        split.push((function, split.len() as u32));
        open.push(function);
        for (first, list) in firsts.iter_mut().zip(&outlook.lists) {
            *first = list.place(function).min(*first);
        }
    }
    let decided = function + 1;
    let begins = split.first().map(|&(function, _)| function);
    let of_beginnings = |of: u32| (begins == Some(of)).then_some(&outlook.of_beginnings);
    let lists = |of: u32| {
        let of_function = outlook.of_functions[of as usize].iter();
        of_function.chain(of_beginnings(of).into_iter().flatten())
    };
    let is_settled =
        |&of: &u32| lists(of).all(|&list| outlook.lists[list].is_settled(firsts[list], decided));
    let (settled, open): (Vec<u32>, Vec<u32>) = open.into_iter().partition(is_settled);
    // Lists that no longer matter are made equal, so that states that differ only in them merge.
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
    let state = State {
        split,
        lower_bound: state.lower_bound,
        open,
        firsts,
    };
    (state, settled)
}

/// Merges states with the same future; also returns the merged index of each state.
pub(super) fn merge(states: impl Iterator<Item = State>) -> (Vec<State>, Vec<usize>) {
    let mut merged: Vec<State> = Vec::new();
    let mut index_of: HashMap<(usize, Vec<u32>, Vec<u16>), usize> = HashMap::new();
    let place = |state: State| {
        let future = (state.split.len(), state.open.clone(), state.firsts.clone());
        match index_of.entry(future) {
            Entry::Occupied(entry) => {
                let lower_bound = &mut merged[*entry.get()].lower_bound;
                *lower_bound = state.lower_bound.min(*lower_bound);
                *entry.get()
            }
            Entry::Vacant(entry) => {
                merged.push(state);
                *entry.insert(merged.len() - 1)
            }
        }
    };
    let places = states.map(place).collect();
    (merged, places)
}
