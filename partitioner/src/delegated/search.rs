//! How sets of calls are looked through: all of them, those that a lower bound leaves, or the
//! neighbours of the best.
//!
//! Every set that is tried is replayed in full, so nothing stands between the order found and the
//! objective. What differs is what is known of the sets that were not tried:
//!
//! - *exhaustive*: there are none. Sets whose calls run alike, as those of a function and of what
//!   only it calls, are replayed once.
//! - *bound*: none of them costs less than its lower bound. Sets are tried in ascending order of
//!   those, and once the next one's is no lower than the best, the best is proven. A search that
//!   is ended before has that next lower bound as the one of all.
//! - *local*: no set at all costs less than what all cores together have no room for. The best sets
//!   of each size are extended by every function, and the best of all exchanges one function at a
//!   time as long as that helps.

use super::sets::Sets;
use crate::Error;
use crate::evaluate::{IndexedPlacement, Key};
use crate::progress::Progress;
use crate::strategy::{EXHAUSTIVE_REPLAYS, Ranking, Strategy};
use rayon::prelude::*;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Instant;

/// More sets than this have their lower bounds not counted.
pub(super) const MOST_BOUNDED: u128 = 200_000;

/// Sets of one size that a local search extends.
const BEAM: usize = 8;

/// Sets whose lower bounds are counted together.
const BOUNDED_AT_A_TIME: usize = 32 * super::bounds::SETS_AT_A_TIME;

/// Sets that are tried together; the search may end between.
const AT_A_TIME: usize = 32;

/// The best that are kept: the one to take, and its runner-up.
const KEPT: usize = 2;

/// What a set costs, by full replay.
pub(super) type Value<'a> = &'a (dyn Fn(&IndexedPlacement) -> Result<u64, Error> + Sync);

/// Where a set's calls run.
pub(super) type WhereCallsRun<'a> = &'a (dyn Fn(&IndexedPlacement) -> Key + Sync);

/// What sets cost at least.
pub(super) type LowerBounds<'a> = &'a (dyn Fn(&[IndexedPlacement]) -> Vec<u64> + Sync);

/// What to look through, and with what.
pub(super) struct CallSearch<'a> {
    pub sets: Sets,
    /// `None` for the cheapest that proves its result.
    pub strategy: Option<Strategy>,
    pub value: Value<'a>,
    /// `None` where a set's cores are not known to miss anything by themselves.
    pub lower_bounds: Option<LowerBounds<'a>>,
    /// Sets of which this is the same cost the same; `None` where it is not known to say so.
    pub where_calls_run: Option<WhereCallsRun<'a>>,
    /// No set costs less.
    pub least: u64,
    /// When to stop at the latest.
    pub until: Option<Instant>,
    pub progress: &'a dyn Progress,
}

impl CallSearch<'_> {
    /// Looks for the set that costs least; of equals the smaller one, then the first.
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

    /// The strategy, and why it is taken. Of one function there are few sets, and all are tried.
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

/// A search under way.
struct Run<'a> {
    search: &'a CallSearch<'a>,
    /// Value, number of functions, set.
    best: BTreeSet<(u64, usize, IndexedPlacement)>,
    tried: HashSet<IndexedPlacement>,
    /// By where their calls run, what sets cost.
    known: HashMap<Key, u64>,
    replayed: u64,
    stopped: bool,
}

impl Run<'_> {
    /// Tries sets until the search is over, the first of all in any case; the values of those that
    /// were not tried before.
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

    /// What these sets cost; those whose calls run as another's did are not replayed.
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

    /// Of sets that cost the same only the first stays: calls within other calls change nothing.
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

    /// The value that another set must be below to be kept.
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
        // A good set first, so that fewer have to be tried.
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

    /// The sets that are not yet known to cost what another does, which is in `met` or tried.
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
        // Of one function these are all sets.
        let are_all = !self.stopped && self.tried.len() as u128 == sets.count();
        Ok(match are_all {
            true => self.best(),
            false => self.search.least.min(self.best()),
        })
    }
}
