//! All that may make the server faster here, and which of it did best in the contest.
//!
//! Plans are predicted, and measured where a replay speaks for one of them. No replay knows what
//! posted system calls do, so they are measured wherever they are tried.

use super::search::{Found, Predicted};
use super::system_calls::Posting;
use corehop_measure::rounds::{Contestant, Measured, Raced};
use corehop_support::format::number::counted;

/// What may make the server faster.
pub enum Candidate {
    /// Its hops.
    Plan(Box<Predicted>),
    /// Posting these calls, as `corehop run --system-calls` names them.
    SystemCalls(String),
}

/// All of them.
pub struct Candidates {
    /// Plans first, the best predicted one at their head.
    pub all: Vec<Candidate>,
    /// Why there is no plan, if there is none.
    pub no_plan: Option<String>,
    /// Why posted system calls are not tried, if they are not.
    pub untried: Option<String>,
}

impl Candidates {
    /// What a search found, and posted calls where they are tried.
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

    /// The plans.
    pub fn plans(&self) -> impl Iterator<Item = &Predicted> {
        self.all.iter().filter_map(|candidate| match candidate {
            Candidate::Plan(plan) => Some(&**plan),
            Candidate::SystemCalls(_) => None,
        })
    }

    /// Which are worth measuring; all plans `anyway`, or only where a replay speaks for one.
    pub fn worth_it(&self, anyway: bool) -> Vec<usize> {
        let with_plans = anyway || self.plans().any(Predicted::is_promising);
        let is_worth_it = |&at: &usize| match self.all[at] {
            Candidate::Plan(_) => with_plans,
            Candidate::SystemCalls(_) => true,
        };
        (0..self.all.len()).filter(is_worth_it).collect()
    }

    /// What people are told that these are.
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

    /// These, as a contest takes them.
    pub fn contestants<'a>(&'a self, which: &'a [usize]) -> impl Iterator<Item = Contestant<'a>> {
        which.iter().map(|&at| match &self.all[at] {
            Candidate::Plan(predicted) => Contestant::Plan(&predicted.plan),
            Candidate::SystemCalls(calls) => Contestant::SystemCalls(calls),
        })
    }
}

/// A contest of some of them.
pub struct Contested {
    /// Which.
    pub entrants: Vec<usize>,
    /// What came of it.
    pub measured: Measured,
}

impl Contested {
    /// The candidate that did best.
    pub fn best(&self) -> usize {
        self.entrants[self.measured.best]
    }

    /// What a candidate did in the race, if there was one and it took part.
    pub fn raced(&self, candidate: usize) -> Option<&Raced> {
        let at = self.entrants.iter().position(|&one| one == candidate)?;
        self.measured.raced.get(at)
    }
}
