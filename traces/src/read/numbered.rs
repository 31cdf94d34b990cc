//! Maps single calls to made-up functions that they enter.

use crate::model::ids::{FunctionId, ThreadId};

/// The calls that enter made-up functions.
#[derive(Default)]
pub struct Numbered {
    /// For each thread: numbers of executions, ascending, and the functions that they enter.
    pub entered: Vec<Vec<(u64, FunctionId)>>,
    /// Index of the first made-up function, and for each of them the recorded function and the
    /// number of the call.
    pub first: usize,
    pub meant: Vec<(FunctionId, u32)>,
}

impl Numbered {
    /// Returns the function that an execution enters; `function` is the recorded one.
    #[inline]
    pub fn entered(&self, thread: ThreadId, number: u64, function: FunctionId) -> FunctionId {
        let Some(own) = self.entered.get(thread.index()) else {
            return function;
        };
        let place = own.binary_search_by_key(&number, |entered| entered.0);
        place.map_or(function, |place| own[place].1)
    }

    /// Returns the recorded functions whose entries must be examined to find entries of `wanted`,
    /// by index.
    pub fn recorded(&self, wanted: &[bool]) -> Vec<bool> {
        let mut recorded = wanted.to_vec();
        let made_up = wanted.iter().skip(self.first).zip(&self.meant);
        for (_, (function, _)) in made_up.filter(|(wanted, _)| **wanted) {
            recorded[function.index()] = true;
        }
        recorded
    }
}
