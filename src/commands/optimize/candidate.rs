//! All candidates that may make the server faster here, and the best of them in the contest.
//!
//! Plans are predicted, and measured only if a replay predicts a gain for one of them. No replay
//! models asynchronous system calls, so they are measured whenever they are tried.

use super::search::{Found, Predicted};
use super::system_calls::Posting;
use corehop_measure::rounds::{Contestant, Measured, Raced};
use corehop_support::format::number::counted;

/// What may make the server faster.
pub enum Candidate {
    /// A plan with its hops.
    Plan(Box<Predicted>),
    /// Asynchronous calls, in the form of `corehop run --system-calls`.
    SystemCalls(String),
}

/// All candidates.
pub struct Candidates {
    /// Plans first, the best prediction at the front.
    pub all: Vec<Candidate>,
    /// Why there is no plan, if there is none.
    pub no_plan: Option<String>,
    /// Why asynchronous system calls are not tried, if so.
    pub untried: Option<String>,
}

impl Candidates {
    /// Collects the plans of a search, and asynchronous calls if they are tried.
    pub fn new(found: Found, posting: Posting) -> Candidates {
        let plans = found.plans.into_iter().map(Box::new);
        let mut all: Vec<Candidate> = plans.map(Candidate::Plan).collect();
        let untried = match posting {
            Posting::Untried(why) => Some(why),
            Posting::Tried(calls) => {
                all.push(Candidate::SystemCalls(calls));
                None
            }
        };
        Candidates {
            all,
            no_plan: found.none,
            untried,
        }
    }

    /// Returns the plans.
    pub fn plans(&self) -> impl Iterator<Item = &Predicted> {
        self.all.iter().filter_map(|candidate| match candidate {
            Candidate::Plan(plan) => Some(&**plan),
            Candidate::SystemCalls(_) => None,
        })
    }

    /// Returns those worth measuring. With `anyway` these include all plans; otherwise only if a
    /// replay predicts a gain for one.
    pub fn worth_it(&self, anyway: bool) -> Vec<usize> {
        let with_plans = anyway || self.plans().any(Predicted::is_promising);
        let is_worth_it = |&at: &usize| match self.all[at] {
            Candidate::Plan(_) => with_plans,
            Candidate::SystemCalls(_) => true,
        };
        (0..self.all.len()).filter(is_worth_it).collect()
    }

    /// Returns their display names.
    pub fn names(&self, which: &[usize]) -> Vec<String> {
        let splits = which.iter().filter(|&&at| at < self.plans().count());
        let is_only = splits.count() < 2;
        let named = which.iter().map(|&at| match &self.all[at] {
            Candidate::Plan(of) => {
                let functions = of.plan.functions.len() as u64;
                let functions = counted(functions, "function", "functions");
                match is_only {
                    true => format!("split of {functions}"),
                    false => format!("split {} ({functions})", at + 1),
                }
            }
            Candidate::SystemCalls(_) => "asynchronous system calls".into(),
        });
        named.collect()
    }

    /// Returns these candidates as contestants.
    pub fn contestants<'a>(&'a self, which: &'a [usize]) -> impl Iterator<Item = Contestant<'a>> {
        which.iter().map(|&at| match &self.all[at] {
            Candidate::Plan(predicted) => Contestant::Plan(&predicted.plan),
            Candidate::SystemCalls(calls) => Contestant::SystemCalls(calls),
        })
    }
}

/// A contest of some candidates.
pub struct Contested {
    /// Their indices.
    pub entrants: Vec<usize>,
    /// The result of the contest.
    pub measured: Measured,
}

impl Contested {
    /// Returns the best candidate.
    pub fn best(&self) -> usize {
        self.entrants[self.measured.best]
    }

    /// Returns the race result of a candidate, if there was a race and it took part.
    pub fn raced(&self, candidate: usize) -> Option<&Raced> {
        let at = self.entrants.iter().position(|&one| one == candidate)?;
        self.measured.raced.get(at)
    }
}
