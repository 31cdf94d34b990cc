//! The choices of a search by argument, as splits of the trace: each candidate, on each number of
//! cores, with each number of calls before an object gets a core.

use super::object::{Object, ObjectArgument, objects_of};
use crate::Error;
use corehop_plan::{By, Mode};
use corehop_simulator::{Split, calls_of};
use corehop_traces::{EnteredCall, FunctionId, Trace};
use std::collections::HashMap;

/// An object gets its core after one of these numbers of calls.
pub const AFTER: [u32; 5] = [0, 1, 4, 16, 64];

/// A candidate, its number of cores, and the number of calls before an object gets a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Choice {
    pub place: usize,
    pub after: u32,
    pub cores: u32,
}

/// Sort key of choices: the smallest is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    value: u64,
    cores: u32,
    hops: u64,
    pub choice: Choice,
}

impl Choice {
    /// Returns the rank of this choice for a value of the objective and a number of hops.
    pub fn rank(self, value: u64, hops: u64) -> Rank {
        Rank {
            value,
            cores: self.cores,
            hops,
            choice: self,
        }
    }
}

/// All choices of a search.
pub struct Choices<'c> {
    trace: &'c Trace,
    candidates: &'c [ObjectArgument],
    /// Calls of each candidate's function, in the order of the trace.
    calls: HashMap<FunctionId, Vec<EnteredCall>>,
}

impl<'c> Choices<'c> {
    pub fn of(trace: &'c Trace, candidates: &'c [ObjectArgument]) -> Result<Choices<'c>, Error> {
        let mut calls: HashMap<FunctionId, Vec<EnteredCall>> = HashMap::new();
        for call in calls_of(trace, candidates.iter().map(|one| one.function))? {
            calls.entry(call.function).or_default().push(call);
        }
        Ok(Choices {
            trace,
            candidates,
            calls,
        })
    }

    pub fn all(&self, most_cores: u32) -> Vec<Choice> {
        let mut all = Vec::new();
        for place in 0..self.candidates.len() {
            let most = self.most_calls(place);
            for after in AFTER.into_iter().filter(|&after| u64::from(after) < most) {
                all.extend((2..=most_cores).map(|cores| Choice {
                    place,
                    cores,
                    after,
                }));
            }
        }
        all
    }

    /// Returns the largest number of known calls of one object.
    fn most_calls(&self, place: usize) -> u64 {
        let one = &self.candidates[place];
        let mut calls: HashMap<Object, u64> = HashMap::new();
        for call in &self.calls[&one.function] {
            let objects = objects_of(self.trace, call);
            if let Some(object) = objects[usize::from(one.argument.number()) - 1] {
                *calls.entry(object).or_default() += 1;
            }
        }
        calls.into_values().max().unwrap_or(0)
    }

    pub fn split(&self, choice: &Choice) -> Result<Split, Error> {
        let one = &self.candidates[choice.place];
        let by = By {
            argument: one.argument,
            after: choice.after,
        };
        let calls = &self.calls[&one.function];
        let functions = [(one.function, by, Mode::Enter)];
        Ok(Split::default().by_arguments_of(calls, self.trace, &functions, choice.cores)?)
    }
}
