//! Delegation: decides which calls of a split should be delegated, i.e. return to the caller's
//! core.
//!
//! A split moves a thread at the entry of a function and leaves it there. Code after the call's
//! return then runs on the same core as the function. Whether to return instead is decided for each
//! function. The search does not decide this: with delegated calls, a core's occurrences are no
//! longer intervals between calls, which its bounds require. So it is decided for the split found,
//! by replaying combinations in full on the searched requests. For up to six functions, all
//! combinations are tried. For more, one change after another is made, as long as one helps. The
//! best combination is then evaluated like the split itself.

use crate::Error;
use crate::evaluate::Placement;
use crate::held_out::{Comparison, Evaluated};
use crate::objective::Objective;
use crate::progress::{self, Progress};
use crate::requests::TrainTestSplit;
use corehop_simulator::{Machine, Prepared, Replay, Split, replay};
use corehop_traces::{FunctionId, Trace};
use rayon::prelude::*;
use std::collections::HashMap;

/// How to treat calls that could be delegated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delegate {
    /// Do not search for delegated calls.
    Never,
    /// Report the effect, and leave the split unchanged.
    #[default]
    Tell,
    /// Use the best combination if it is better.
    Take,
}

impl Delegate {
    /// Whether to search for delegated calls.
    #[must_use]
    pub fn is_asked(self) -> bool {
        self != Delegate::Never
    }

    /// Returns the setting for a search that only reports its verdict.
    #[must_use]
    pub fn silently(self) -> Delegate {
        match self {
            Delegate::Never | Delegate::Tell => Delegate::Never,
            Delegate::Take => Delegate::Take,
        }
    }
}

/// A split with some delegated calls, on the searched requests.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The functions with delegated calls, in the order of the split.
    pub delegated: Vec<FunctionId>,
    /// The counters of all rounds.
    pub replay: Replay,
}

/// The effect of delegated calls on a split.
#[derive(Clone, Debug)]
pub struct Delegation {
    /// The split without delegated calls.
    pub as_found: Variant,
    /// With the calls of one function delegated, for each function of the split that allows it, in
    /// its order.
    pub alone: Vec<Variant>,
    /// The best combination; ties go to the fewest delegated functions.
    pub best: Variant,
    /// Number of combinations replayed.
    pub tried: usize,
    /// Number of passes of each replay through the searched requests.
    pub rounds: usize,
    /// The best combination compared with one core, on the searched requests, with cold caches at
    /// the start.
    pub searched: Comparison,
    /// The best combination compared with one core, on the held-out requests; `None` if there are
    /// none.
    pub held_out: Option<Comparison>,
}

impl Delegation {
    /// Whether some combination is better than the split without delegated calls.
    pub fn pays(&self) -> bool {
        !self.best.delegated.is_empty()
    }
}

/// Maximum number of functions for which all combinations are tried.
const MOST_FOR_ALL: usize = 6;

/// Whether calls are delegated, by index of the function in the split.
type Combination = Vec<bool>;

/// A split whose calls might be delegated.
pub struct FoundSplit<'a> {
    /// The trace on which it was found.
    pub trace: &'a Trace,
    /// Its machine.
    pub machine: &'a Machine,
    /// Which requests are for the search and which for the evaluation.
    pub train_test: &'a TrainTestSplit,
    /// Its functions, each with its core.
    pub split: &'a Placement,
    /// Its evaluation.
    pub evaluated: &'a Evaluated,
}

/// Determines which calls of the split are better delegated, on the searched requests. Calls of
/// functions in `one_way` are excluded.
///
/// # Errors
/// Fails if the trace cannot be read or replayed.
pub fn delegation(
    found: &FoundSplit<'_>,
    one_way: &[FunctionId],
    objective: Objective,
    progress: &dyn Progress,
) -> Result<Delegation, Error> {
    let &FoundSplit {
        trace,
        machine,
        train_test,
        split,
        evaluated,
    } = found;
    let rounds = train_test.rounds();
    let functions: Vec<FunctionId> = split.iter().map(|&(function, _)| function).collect();
    let options = train_test.searched_options();
    let stage = ("code blocks prepared for hops back", progress);
    let prepared = progress::replaying(stage, (trace, &options), |options| {
        Prepared::with_calls(trace, &[machine], &functions, options)
    })?;
    let delegated = |combination: &Combination| -> Vec<FunctionId> {
        let functions = functions.iter().zip(combination);
        functions
            .filter_map(|(&f, &goes_back)| goes_back.then_some(f))
            .collect()
    };
    let split_of = |combination: &Combination| {
        Split::new(split.iter().copied()).delegating(delegated(combination))
    };
    let mut tried = Tried {
        known: HashMap::new(),
        replay: &|combination| {
            let replay = prepared.replay_rounds(machine, &split_of(combination), rounds)?;
            progress.advance(1);
            Ok(replay)
        },
        objective,
    };
    let may: Vec<usize> = (0..functions.len())
        .filter(|&place| !one_way.contains(&functions[place]))
        .collect();
    progress.begin("combinations of hops back tried", None);
    let best = tried.search(functions.len(), &may);
    progress.end();
    let best = best?;
    let variant = |combination: Combination| Variant {
        delegated: delegated(&combination),
        replay: tried.known[&combination].clone(),
    };
    let none = vec![false; functions.len()];
    let alone = may.iter().map(|&place| variant(changed(&none, place)));
    let mut found = Delegation {
        alone: alone.collect(),
        as_found: variant(none),
        best: variant(best.clone()),
        tried: tried.known.len(),
        rounds,
        searched: evaluated.searched.clone(),
        held_out: evaluated.held_out.clone(),
    };
    if found.pays() {
        let on_searched = prepared.replay(machine, &split_of(&best))?;
        found.searched = found.searched.with(&on_searched);
        if let Some(held_out) = &mut found.held_out {
            let options = train_test.held_out_options();
            let on_others = replay(trace, machine, &split_of(&best), &options)?;
            *held_out = held_out.with(&on_others);
        }
    }
    Ok(found)
}

/// Combinations replayed so far.
struct Tried<'a> {
    known: HashMap<Combination, Replay>,
    replay: &'a (dyn Fn(&Combination) -> Result<Replay, Error> + Sync),
    objective: Objective,
}

impl Tried<'_> {
    /// Returns the best combination for `functions` functions; only those at the indices in `may`
    /// can be delegated.
    fn search(&mut self, functions: usize, may: &[usize]) -> Result<Combination, Error> {
        if may.len() <= MOST_FOR_ALL {
            let of = |bits: usize| {
                let mut combination = vec![false; functions];
                for (bit, &place) in may.iter().enumerate() {
                    combination[place] = bits >> bit & 1 == 1;
                }
                combination
            };
            return self.best_of((0..1 << may.len()).map(of).collect());
        }
        let mut best = vec![false; functions];
        loop {
            let neighbours = may.iter().map(|&place| changed(&best, place));
            let next = self.best_of(neighbours.chain([best.clone()]).collect())?;
            if next == best {
                return Ok(best);
            }
            best = next;
        }
    }

    fn best_of(&mut self, combinations: Vec<Combination>) -> Result<Combination, Error> {
        let unknown = combinations.par_iter();
        let unknown = unknown.filter(|combination| !self.known.contains_key(*combination));
        let replay = |combination: &Combination| {
            let replay = (self.replay)(combination)?;
            Ok((combination.clone(), replay))
        };
        let replays: Vec<(Combination, Replay)> =
            unknown.map(replay).collect::<Result<_, Error>>()?;
        self.known.extend(replays);
        let order = |combination: &Combination| {
            let value = self.objective.of(&self.known[combination]);
            let delegated = combination.iter().filter(|&&goes_back| goes_back);
            (value, delegated.count(), combination.clone())
        };
        let best = combinations
            .iter()
            .min_by_key(|combination| order(combination));
        Ok(best.expect("at least one to choose from").clone())
    }
}

/// Returns the combination that differs in one function.
fn changed(combination: &Combination, place: usize) -> Combination {
    let mut changed = combination.clone();
    changed[place] ^= true;
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use corehop_simulator::Counters;

    /// Returns the best combination and the number tried, with `cycles` as the cost of
    /// combinations.
    fn best(functions: usize, cycles: impl Fn(&[bool]) -> u64 + Sync) -> (Vec<bool>, usize) {
        let replay = |combination: &Combination| {
            let counters = Counters {
                cycles: cycles(combination),
                ..Counters::default()
            };
            Ok(Replay {
                counters,
                per_core: vec![counters],
                hops: 0,
                accesses: 0,
                requests: 1,
                tlbs: Vec::new(),
            })
        };
        let mut tried = Tried {
            known: HashMap::new(),
            replay: &replay,
            objective: Objective::Cycles,
        };
        let may: Vec<usize> = (0..functions).collect();
        let best = tried.search(functions, &may).unwrap();
        (best, tried.known.len())
    }

    #[test]
    fn a_pair_that_pays_only_together_is_found_among_six_functions() {
        let pair = |of: &[bool]| u64::from(of[1] != of[4]) * 10 + u64::from(!of[1]);
        let (found, tried) = best(6, pair);
        assert_eq!(found, [false, true, false, false, true, false]);
        assert_eq!(tried, 64);
    }

    #[test]
    fn of_more_functions_one_change_follows_the_other_while_it_pays() {
        let wanted = |of: &[bool]| {
            (0..9)
                .map(|place| u64::from(of[place] != (place > 6)))
                .sum()
        };
        let (found, tried) = best(9, wanted);
        assert_eq!(found.iter().filter(|&&goes_back| goes_back).count(), 2);
        assert!(found[7] && found[8]);
        // No delegation and its nine neighbours, then twice the neighbours not seen before.
        assert_eq!(tried, 10 + 8 + 7);
    }

    #[test]
    fn what_is_only_as_good_is_left_as_it_was() {
        assert_eq!(best(3, |_| 7).0, [false; 3]);
        assert_eq!(best(8, |_| 7).0, [false; 8]);
    }
}
