//! The search over sets of calls: all sets, those that a lower bound leaves, or the neighbours of
//! the best.
//!
//! Every set tried is replayed in full, so the sets are ordered exactly by the objective. The
//! strategies differ in what is known of the other sets:
//!
//! - *exhaustive*: there are no others. Sets whose calls run on the same cores, e.g. those of a
//!   function and of its only callee, are replayed once.
//! - *bound*: no set costs less than its lower bound. Sets are tried by ascending lower bound. When
//!   the next one's bound is not below the best cost, the best is proven optimal. If the search
//!   stops earlier, that next lower bound holds for all other sets.
//! - *local*: no set costs less than the misses that the capacity of all cores together cannot
//!   avoid. The best sets of each size are extended by every function. Then the best of all
//!   exchanges one function at a time, as long as this helps.

use super::sets::Sets;
use crate::Error;
use crate::evaluate::{IndexedPlacement, Key};
use crate::progress::Progress;
use crate::strategy::{EXHAUSTIVE_REPLAYS, Ranking, Strategy};
use rayon::prelude::*;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Instant;

/// Maximum number of sets for which lower bounds are counted.
pub(super) const MOST_BOUNDED: u128 = 200_000;

/// Sets of one size that a local search extends.
const BEAM: usize = 8;

/// Number of sets whose lower bounds are counted together.
const BOUNDED_AT_A_TIME: usize = 32 * super::bounds::SETS_AT_A_TIME;

/// Number of sets that are tried together; the search can stop between such batches.
const AT_A_TIME: usize = 32;

/// Number of sets kept: the best and the runner-up.
const KEPT: usize = 2;

/// A function that returns the cost of a set, by full replay.
pub(super) type Value<'a> = &'a (dyn Fn(&IndexedPlacement) -> Result<u64, Error> + Sync);

/// A function that returns a key of the cores on which the calls of a set run.
pub(super) type WhereCallsRun<'a> = &'a (dyn Fn(&IndexedPlacement) -> Key + Sync);

/// A function that returns the minimum cost of each set.
pub(super) type LowerBounds<'a> = &'a (dyn Fn(&[IndexedPlacement]) -> Vec<u64> + Sync);

/// Input of the search.
pub(super) struct CallSearch<'a> {
    pub sets: Sets,
    /// `None` for the cheapest that proves its result.
    pub strategy: Option<Strategy>,
    pub value: Value<'a>,
    /// `None` if no lower bounds of single sets are available.
    pub lower_bounds: Option<LowerBounds<'a>>,
    /// Sets with the same key cost the same; `None` if keys are not available.
    pub where_calls_run: Option<WhereCallsRun<'a>>,
    /// Lower bound of the cost of any set.
    pub least: u64,
    /// Deadline.
    pub until: Option<Instant>,
    pub progress: &'a dyn Progress,
}

impl CallSearch<'_> {
    /// Searches for the set with the smallest cost; ties go to the smaller set, then to the first.
    pub fn run(&self) -> Result<Ranking, Error> {
        let (strategy, why) = self.choose();
        let total = (strategy == Strategy::Exhaustive).then(|| self.sets.count() as u64);
        self.progress.begin("sets of delegated calls tried", total);
        let mut run = Run {
            search: self,
            best: BTreeSet::new(),
            tried: HashSet::new(),
            known: HashMap::new(),
            replayed: 0,
            stopped: false,
        };
        let lower_bound = match strategy {
            Strategy::Exhaustive => run.exhaustive(),
            Strategy::Bound => run.bound(),
            Strategy::Local | Strategy::Random => run.local(),
        };
        self.progress.end();
        let lower_bound = lower_bound?;
        let best = run.best.into_iter();
        Ok(Ranking {
            best: best.map(|(value, _, set)| (value, set)).collect(),
            evaluated: run.replayed,
            strategy,
            why,
            lower_bound,
            stopped: run.stopped,
            in_full: true,
            better_share: None,
        })
    }

    /// Returns the strategy and the reason for it. With one function there are few sets, and all
    /// are tried.
    fn choose(&self) -> (Strategy, String) {
        let count = self.sets.count();
        let is_bounded = self.lower_bounds.is_some() && count <= MOST_BOUNDED;
        let many = format!("{count} sets of calls are too many to replay them all");
        match self.strategy {
            Some(Strategy::Bound) if !is_bounded => {
                let why = "no lower bounds of so many sets, or of these";
                (Strategy::Local, format!("{many}; {why}"))
            }
            Some(strategy) => (strategy, "asked for".into()),
            None if self.sets.most == 1 || count <= EXHAUSTIVE_REPLAYS => {
                let why = format!("{count} sets of calls can all be replayed");
                (Strategy::Exhaustive, why)
            }
            None if is_bounded => (Strategy::Bound, many),
            None => (Strategy::Local, many),
        }
    }

    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until) || self.progress.is_stopped()
    }
}

/// State of a search.
struct Run<'a> {
    search: &'a CallSearch<'a>,
    /// Value, number of functions, set.
    best: BTreeSet<(u64, usize, IndexedPlacement)>,
    tried: HashSet<IndexedPlacement>,
    /// Costs of sets, by the cores on which their calls run.
    known: HashMap<Key, u64>,
    replayed: u64,
    stopped: bool,
}

impl Run<'_> {
    /// Tries sets until the search ends, but at least the first set of all. Returns the values of
    /// those that were not tried before.
    fn offer(
        &mut self,
        sets: impl IntoIterator<Item = IndexedPlacement>,
    ) -> Result<Vec<(u64, IndexedPlacement)>, Error> {
        let mut sets = sets.into_iter();
        let mut offered = Vec::new();
        loop {
            let at_a_time = if self.best.is_empty() { 1 } else { AT_A_TIME };
            let some: Vec<IndexedPlacement> = sets.by_ref().take(at_a_time).collect();
            if some.is_empty() {
                return Ok(offered);
            }
            if !self.best.is_empty() && self.search.is_over() {
                self.stopped = true;
                return Ok(offered);
            }
            let new: Vec<IndexedPlacement> = some
                .into_iter()
                .filter(|set| !self.tried.contains(set))
                .collect();
            let values = self.values(&new)?;
            self.search.progress.advance(new.len() as u64);
            let values: Vec<(u64, IndexedPlacement)> = values.into_iter().zip(new).collect();
            for (value, set) in &values {
                self.tried.insert(set.clone());
                self.keep((*value, set.len(), set.clone()));
            }
            offered.extend(values);
        }
    }

    /// Returns the costs of these sets. Sets whose calls run on the same cores as another's are not
    /// replayed.
    fn values(&mut self, sets: &[IndexedPlacement]) -> Result<Vec<u64>, Error> {
        let keys: Vec<Option<Key>> = match self.search.where_calls_run {
            Some(of) => sets.par_iter().map(|set| Some(of(set))).collect(),
            None => vec![None; sets.len()],
        };
        let mut met = HashSet::new();
        let is_new = |key: &Option<Key>| match key {
            Some(key) => !self.known.contains_key(key) && met.insert(*key),
            None => true,
        };
        let new: Vec<bool> = keys.iter().map(is_new).collect();
        let value = |(set, &is_new): (&IndexedPlacement, &bool)| {
            let value = is_new.then(|| (self.search.value)(set));
            value.transpose()
        };
        let values = sets.par_iter().zip(&new).map(value);
        let values: Vec<Option<u64>> = values.collect::<Result<_, Error>>()?;
        self.replayed += values.iter().flatten().count() as u64;
        for (key, value) in keys.iter().zip(&values) {
            if let (Some(key), Some(value)) = (key, value) {
                self.known.insert(*key, *value);
            }
        }
        let of = |(value, key): (Option<u64>, Option<Key>)| {
            let known = key.and_then(|key| self.known.get(&key).copied());
            value.or(known).expect("replayed now or before")
        };
        Ok(values.into_iter().zip(keys).map(of).collect())
    }

    /// Keeps a set if it is among the best. Of sets with the same cost, only the first stays: calls
    /// within other delegated calls change nothing.
    fn keep(&mut self, offered: (u64, usize, IndexedPlacement)) {
        let alike = self.best.iter().find(|kept| kept.0 == offered.0).cloned();
        match alike {
            Some(kept) if kept < offered => return,
            Some(kept) => self.best.remove(&kept),
            None => true,
        };
        self.best.insert(offered);
        if self.best.len() > KEPT {
            self.best.pop_last();
        }
    }

    fn best(&self) -> u64 {
        self.best.first().map_or(0, |best| best.0)
    }

    /// Returns the value that another set must be below to be kept.
    fn worst_kept(&self) -> u64 {
        let worst = self.best.last().filter(|_| self.best.len() == KEPT);
        worst.map_or(u64::MAX, |worst| worst.0)
    }

    fn exhaustive(&mut self) -> Result<u64, Error> {
        let sets = self.search.sets;
        self.offer(sets.all())?;
        Ok(match self.stopped {
            true => self.search.least.min(self.best()),
            false => self.best(),
        })
    }

    fn bound(&mut self) -> Result<u64, Error> {
        let Some(lower_bounds) = self.search.lower_bounds else {
            return self.local();
        };
        // Start with a good set, so that fewer must be tried.
        self.local()?;
        let mut met = HashSet::new();
        if self.stopped {
            return Ok(self.search.least.min(self.best()));
        }
        let mut bounded: Vec<(u64, IndexedPlacement)> = Vec::new();
        let mut sets = self.search.sets.all();
        loop {
            let some: Vec<IndexedPlacement> = sets.by_ref().take(BOUNDED_AT_A_TIME).collect();
            if some.is_empty() {
                break;
            }
            if self.search.is_over() {
                self.stopped = true;
                return Ok(self.search.least.min(self.best()));
            }
            let some = self.that_run_otherwise(some, &mut met);
            bounded.extend(lower_bounds(&some).into_iter().zip(some));
        }
        bounded.sort_unstable();
        for some in bounded.chunks(AT_A_TIME) {
            let next = some[0].0.max(self.search.least);
            if next >= self.worst_kept() {
                break;
            }
            self.offer(some.iter().map(|(_, set)| set.clone()))?;
            if self.stopped {
                return Ok(next.min(self.best()));
            }
        }
        Ok(self.best())
    }

    /// Returns the sets whose calls do not run on the same cores as a set in `met` or a tried one.
    fn that_run_otherwise(
        &self,
        sets: Vec<IndexedPlacement>,
        met: &mut HashSet<Key>,
    ) -> Vec<IndexedPlacement> {
        let Some(where_calls_run) = self.search.where_calls_run else {
            return sets;
        };
        let keys: Vec<Key> = sets.par_iter().map(where_calls_run).collect();
        let sets = sets.into_iter().zip(keys);
        let news = sets.filter(|(_, key)| !self.known.contains_key(key) && met.insert(*key));
        news.map(|(set, _)| set).collect()
    }

    fn local(&mut self) -> Result<u64, Error> {
        let sets = self.search.sets;
        let mut beam = vec![IndexedPlacement::new()];
        if sets.may_be_none {
            self.offer(beam.clone())?;
        }
        for _ in 0..sets.most.min(sets.candidates) {
            let larger: BTreeSet<IndexedPlacement> =
                beam.iter().flat_map(|set| sets.extensions(set)).collect();
            let mut values = self.offer(larger)?;
            values.sort_unstable();
            beam = values.into_iter().take(BEAM).map(|(_, set)| set).collect();
            if self.stopped {
                break;
            }
        }
        while !self.stopped {
            let before = self.best();
            let set = self.best.first().map(|(.., set)| set.clone());
            self.offer(sets.neighbours(&set.unwrap_or_default()))?;
            if self.best() == before {
                break;
            }
        }
        // With one function, these are all sets.
        let are_all = !self.stopped && self.tried.len() as u128 == sets.count();
        Ok(match are_all {
            true => self.best(),
            false => self.search.least.min(self.best()),
        })
    }
}
