//! Partial splits as a graph, in which every path from the first to the last layer is a split.
//!
//! Layer n has the partial splits of which n functions are decided; those with the same future
//! ([`super::partial`]) are merged. A step decides one more function, in or out. Its cost is the
//! misses of the cores that it settles. So a split's misses are the length of its path, and the
//! best split is a shortest path. Where smaller numbers stand for some costs, the length of the
//! shortest path is a lower bound. The graph is built once, so it hardly matters how often lengths
//! are looked up.

use super::outlook::Outlook;
use super::partial::{Child, State, expand, merge};
use super::run::{MOST_STATES, Run};
use crate::evaluate::{CoreSet, GROUPS, IndexedPlacement};
use std::collections::HashMap;
use std::ops::Range;

/// The graph.
#[derive(Default)]
pub(super) struct Graph {
    /// By function, the steps that decide it.
    steps: Vec<Vec<Step>>,
    /// By number of decided functions, the number of partial splits.
    states: Vec<usize>,
    /// What steps settle, as indices of sets.
    settled: Vec<u32>,
    /// What runs on settled cores, each once.
    sets: Vec<Settled>,
    index_of: HashMap<CoreSet, u32>,
}

struct Step {
    from: u32,
    to: u32,
    is_in: bool,
    settled: Range<u32>,
}

/// A set of occurrences that some step settles.
struct Settled {
    set: CoreSet,
    /// A split with a core on which just these run, and the core.
    split: IndexedPlacement,
    core: usize,
    /// What it is known to miss.
    cost: u64,
    /// Of that, what it misses at least, by group; of the first groups it was simulated instead.
    lower_bound: [u64; GROUPS],
    simulated: usize,
}

/// By number of decided functions, the length of a path, by partial split.
type Lengths = Vec<Vec<u64>>;

/// No path.
const NONE: u64 = u64::MAX;

/// Partial splits of a layer before those are left out whose cores miss too much when simulated.
const CROWD: usize = 1 << 16;

impl Graph {
    /// Of splits that miss no more than `most`; `Err` with a lower bound when there are too many
    /// partial splits. A search that is over goes on while they are few: that takes a moment, and
    /// without it there is no lower bound to speak of.
    pub fn new(outlook: &Outlook, most: u64, run: &mut Run<'_, '_>) -> Result<Graph, u64> {
        let mut graph = Graph {
            states: vec![1],
            ..Graph::default()
        };
        let mut states = vec![State::empty(outlook)];
        for function in 0..run.space.candidates {
            let bound = states
                .iter()
                .map(|state| state.lower_bound)
                .min()
                .unwrap_or(NONE);
            let is_crowded = states.len() > CROWD;
            if states.len() > MOST_STATES || is_crowded && run.is_over() {
                return Err(bound);
            }
            let children = expand(outlook, &states, function, &run.space.fits());
            states = graph.add(children, most, run);
            if states.len() > CROWD && !graph.prune(&mut states, most, run) {
                return Err(bound);
            }
        }
        Ok(graph)
    }

    /// Adds a layer of those children that miss no more than `most`.
    fn add(&mut self, mut children: Vec<Child>, most: u64, run: &mut Run<'_, '_>) -> Vec<State> {
        let first = self.settled.len() as u32;
        self.settle(&children, run);
        let mut steps: Vec<Step> = Vec::new();
        let mut begin = first;
        children.retain_mut(|child| {
            let step = Step {
                from: child.parent as u32,
                to: 0,
                is_in: child.is_in,
                settled: begin..begin + child.settled.len() as u32,
            };
            begin = step.settled.end;
            child.state.lower_bound += self.cost(&step);
            let is_kept = child.state.lower_bound <= most;
            if is_kept {
                steps.push(step);
            }
            is_kept
        });
        let (states, places) = merge(children.into_iter().map(|child| child.state));
        for (step, place) in steps.iter_mut().zip(places) {
            step.to = place as u32;
        }
        self.states.push(states.len());
        self.steps.push(steps);
        states
    }

    /// Appends what runs on the cores that these children settled.
    fn settle(&mut self, children: &[Child], run: &mut Run<'_, '_>) {
        let cores: Vec<(&IndexedPlacement, usize)> =
            children.iter().flat_map(Child::settled_cores).collect();
        let sets = run.evaluator.core_sets(&cores);
        let placed = sets.iter().zip(&cores);
        let placed: Vec<_> = placed
            .map(|(&set, &(split, core))| (set, split, core))
            .collect();
        let lower_bounds = run.evaluator.lower_bounds_of_sets(&placed);
        for ((set, split, core), lower_bound) in placed.into_iter().zip(lower_bounds) {
            let sets = &mut self.sets;
            let index = *self.index_of.entry(set).or_insert_with(|| {
                sets.push(Settled {
                    set,
                    split: split.clone(),
                    core,
                    cost: lower_bound.iter().sum(),
                    lower_bound,
                    simulated: 0,
                });
                sets.len() as u32 - 1
            });
            self.settled.push(index);
        }
    }

    /// Simulates all cores, and leaves out the last layer's states that miss more than `most`;
    /// whether the search was not over before.
    fn prune(&mut self, states: &mut Vec<State>, most: u64, run: &mut Run<'_, '_>) -> bool {
        while let Some(open) = self.open(NONE) {
            if !self.simulate(&open, run) {
                return false;
            }
        }
        let lengths = self.to_state().pop().unwrap_or_default();
        let mut place_of = Vec::new();
        let mut kept = 0;
        for &length in &lengths {
            place_of.push((length <= most).then_some(kept));
            kept += u32::from(length <= most);
        }
        let steps = self.steps.last_mut().expect("a layer");
        steps.retain_mut(|step| {
            let place = place_of[step.to as usize];
            step.to = place.unwrap_or_default();
            place.is_some()
        });
        let mut lengths = lengths.into_iter();
        states.retain_mut(|state| {
            state.lower_bound = lengths.next().expect("one a state");
            state.lower_bound <= most
        });
        *self.states.last_mut().expect("a layer") = states.len();
        true
    }

    /// Sets on paths no longer than `limit` that are not simulated, of those the ones that were
    /// least; `None` when all are.
    pub fn open(&self, limit: u64) -> Option<Vec<usize>> {
        let mut open = self.sets_within(limit);
        open.retain(|&set| self.sets[set].simulated < GROUPS);
        let fewest = open.iter().map(|&set| self.sets[set].simulated).min()?;
        open.retain(|&set| self.sets[set].simulated == fewest);
        Some(open)
    }

    /// Simulates the next group of set partitions of sets of which as many were; whether the search
    /// was not over before.
    pub fn simulate(&mut self, open: &[usize], run: &mut Run<'_, '_>) -> bool {
        let search = *run.search;
        let group = self.sets[open[0]].simulated;
        let placed = open.iter().map(|&set| &self.sets[set]);
        let placed: Vec<_> = placed.map(|set| (set.set, &set.split, set.core)).collect();
        let misses = run
            .evaluator
            .evaluate_sets(&placed, group, &|| search.is_over());
        let Some(misses) = misses else {
            run.stopped = true;
            return false;
        };
        for (&set, misses) in open.iter().zip(misses) {
            let set = &mut self.sets[set];
            set.cost = set.cost + misses - set.lower_bound[group];
            set.simulated += 1;
        }
        true
    }

    /// The length of the shortest path.
    pub fn lower_bound(&self) -> u64 {
        self.to_end()[0][0]
    }

    /// The sets of a step.
    fn of(&self, step: &Step) -> &[u32] {
        &self.settled[step.settled.start as usize..step.settled.end as usize]
    }

    fn cost(&self, step: &Step) -> u64 {
        self.of(step)
            .iter()
            .map(|&set| self.sets[set as usize].cost)
            .sum()
    }

    /// The shortest paths from the start.
    fn to_state(&self) -> Lengths {
        let mut lengths: Lengths = vec![vec![0]];
        for (steps, &states) in self.steps.iter().zip(&self.states[1..]) {
            let before = &lengths[lengths.len() - 1];
            let mut after = vec![NONE; states];
            for step in steps {
                let through = before[step.from as usize].saturating_add(self.cost(step));
                let shortest = &mut after[step.to as usize];
                *shortest = through.min(*shortest);
            }
            lengths.push(after);
        }
        lengths
    }

    /// The shortest paths to the end.
    fn to_end(&self) -> Lengths {
        let mut lengths: Lengths = vec![vec![0; self.states[self.steps.len()]]];
        for (steps, &states) in self.steps.iter().zip(&self.states).rev() {
            let after = &lengths[lengths.len() - 1];
            let mut before = vec![NONE; states];
            for step in steps {
                let through = after[step.to as usize].saturating_add(self.cost(step));
                let shortest = &mut before[step.from as usize];
                *shortest = through.min(*shortest);
            }
            lengths.push(before);
        }
        lengths.reverse();
        lengths
    }

    /// Sets that paths no longer than `limit` settle, each once, ascending.
    fn sets_within(&self, limit: u64) -> Vec<usize> {
        let (to_state, to_end) = (self.to_state(), self.to_end());
        let mut is_within = vec![false; self.sets.len()];
        for (layer, steps) in self.steps.iter().enumerate() {
            for step in steps {
                let before = to_state[layer][step.from as usize];
                let after = to_end[layer + 1][step.to as usize];
                let others = before.saturating_add(after);
                let length = others.saturating_add(self.cost(step));
                if length <= limit && length < NONE {
                    let settled = self.of(step).iter();
                    settled.for_each(|&set| is_within[set as usize] = true);
                }
            }
        }
        let sets = is_within.into_iter().enumerate();
        sets.filter_map(|(set, is_within)| is_within.then_some(set))
            .collect()
    }

    /// The `keep` shortest paths no longer than `limit`, as splits, shortest first.
    pub fn shortest(&self, limit: u64, keep: usize) -> Vec<(u64, IndexedPlacement)> {
        let to_end = self.to_end();
        let mut paths = vec![vec![(0, IndexedPlacement::new())]];
        for (function, steps) in (0..).zip(&self.steps) {
            let after = &to_end[function as usize + 1];
            let mut next = vec![Vec::new(); after.len()];
            for step in steps {
                let (cost, to) = (self.cost(step), step.to as usize);
                for (length, split) in &paths[step.from as usize] {
                    let length = length + cost;
                    if length.saturating_add(after[to]) > limit {
                        continue;
                    }
                    let mut split = split.clone();
                    if step.is_in {
                        split.push((function, split.len() as u32));
                    }
                    next[to].push((length, split));
                }
            }
            for paths in &mut next {
                paths.sort_unstable();
                paths.truncate(keep);
            }
            paths = next;
        }
        let mut paths = paths.concat();
        paths.sort_unstable();
        paths.truncate(keep);
        paths
    }
}
