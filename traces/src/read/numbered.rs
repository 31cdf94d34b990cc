//! Which calls of a trace enter functions of their own, where single calls do.

use crate::model::ids::{FunctionId, ThreadId};

/// Which calls enter functions of their own.
#[derive(Default)]
pub struct Numbered {
    /// By thread: numbers of executions, ascending, and what they enter.
    pub entered: Vec<Vec<(u64, FunctionId)>>,
    /// The made-up functions, of which the first has this index: the function, and which call.
    pub first: usize,
    pub meant: Vec<(FunctionId, u32)>,
}

impl Numbered {
    /// What an execution of a thread enters that is recorded as one that enters `function`.
    #[inline]
    pub fn entered(&self, thread: ThreadId, number: u64, function: FunctionId) -> FunctionId {
        let Some(own) = self.entered.get(thread.index()) else {
            return function;
        };
        let place = own.binary_search_by_key(&number, |entered| entered.0);
        place.map_or(function, |place| own[place].1)
    }

    /// The functions whose entries have to be looked at where those of `wanted` count, by index.
    pub fn recorded(&self, wanted: &[bool]) -> Vec<bool> {
        let mut recorded = wanted.to_vec();
        let made_up = wanted.iter().skip(self.first).zip(&self.meant);
        for (_, (function, _)) in made_up.filter(|(wanted, _)| **wanted) {
            recorded[function.index()] = true;
        }
        recorded
    }
}
