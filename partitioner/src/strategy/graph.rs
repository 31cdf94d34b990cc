//! Partial splits as a graph: every path from the first to the last layer is a split.
//!
//! Layer n contains the partial splits with n decided functions; those with the same future
//! ([`super::partial`]) are merged. A step decides one more function, in or out. Its cost is the
//! misses of the cores that it settles. So a split's misses are the length of its path, and the
//! best split is a shortest path. If some costs are replaced by lower bounds, the length of the
//! shortest path is a lower bound. The graph is built once, so frequent length queries cost little.

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
    /// The sets settled by steps, as indices.
    settled: Vec<u32>,
    /// The distinct sets on settled cores.
    sets: Vec<Settled>,
    index_of: HashMap<CoreSet, u32>,
}

struct Step {
    from: u32,
    to: u32,
    is_in: bool,
    settled: Range<u32>,
}

/// A set of occurrences settled by some step.
struct Settled {
    set: CoreSet,
    /// A split, and its core that runs exactly this set.
    split: IndexedPlacement,
    core: usize,
    /// Its known minimum cost.
    cost: u64,
    /// By group, the lower bound of its cost; replaced by the simulated cost in the first
    /// `simulated` groups.
    lower_bound: [u64; GROUPS],
    simulated: usize,
}

/// By number of decided functions and by partial split: the length of a path.
type Lengths = Vec<Vec<u64>>;

/// Length that stands for no path.
const NONE: u64 = u64::MAX;

/// Maximum number of partial splits in a layer before it is pruned by simulation.
const CROWD: usize = 1 << 16;

impl Graph {
    /// Builds the graph of splits that miss no more than `most`; returns `Err` with a lower bound
    /// if there are too many partial splits. A search that is over continues while they are few:
    /// this takes little time, and without it the lower bound would be useless.
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

    /// Adds a layer of the children that miss no more than `most`.
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

    /// Appends the sets of the cores that these children settled.
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

    /// Simulates all cores, and removes the last layer's states that miss more than `most`. Returns
    /// whether it completed before the search was over.
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

    /// Returns the sets on paths no longer than `limit` with the fewest simulated groups; `None` if
    /// all are simulated.
    pub fn open(&self, limit: u64) -> Option<Vec<usize>> {
        let mut open = self.sets_within(limit);
        open.retain(|&set| self.sets[set].simulated < GROUPS);
        let fewest = open.iter().map(|&set| self.sets[set].simulated).min()?;
        open.retain(|&set| self.sets[set].simulated == fewest);
        Some(open)
    }

    /// Simulates the next group of set partitions of sets with the same number of simulated groups.
    /// Returns whether it completed before the search was over.
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

    /// Returns the length of the shortest path.
    pub fn lower_bound(&self) -> u64 {
        self.to_end()[0][0]
    }

    /// Returns the sets of a step.
    fn of(&self, step: &Step) -> &[u32] {
        &self.settled[step.settled.start as usize..step.settled.end as usize]
    }

    fn cost(&self, step: &Step) -> u64 {
        self.of(step)
            .iter()
            .map(|&set| self.sets[set as usize].cost)
            .sum()
    }

    /// Returns the lengths of the shortest paths from the start.
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

    /// Returns the lengths of the shortest paths to the end.
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

    /// Returns the distinct sets settled on paths no longer than `limit`, ascending.
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

    /// Returns the `keep` shortest paths no longer than `limit`, as splits, shortest first.
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
