//! What the naive simulation asks a scheduler, which is there once more, each decision found the
//! obvious way.

use crate::timing::against_naive::case::Case;
use crate::timing::against_naive::naive::Naive;
use crate::timing::against_naive::program::Script;

/// By what a thread began to wait: a request, or a function's entry or end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum By {
    Request,
    Entry(u32),
    End(u32),
}

/// What a scheduler decides; its own memory is in it.
pub trait Policy {
    fn first_core(&self, case: &Case, connection: usize) -> usize;

    /// The thread on `core` goes from stage to stage: the core it is to wait for, if it leaves.
    fn enter(&mut self, at: &Naive<'_>, core: usize, stages: (u32, u32)) -> Option<usize>;

    fn may_take(&self, _case: &Case, _core: usize, _from: usize) -> bool {
        false
    }

    fn victim(&mut self, at: &Naive<'_>, _core: usize, candidates: &[usize]) -> usize {
        longest(at, candidates)
    }

    /// Which of the threads that are ready, by their stages and by what they came, `core` takes.
    fn choose(&mut self, _case: &Case, _core: usize, _ready: &[(u32, By)]) -> usize {
        0
    }
}

/// Makes one.
pub type Make = fn(&Case, &[Script]) -> Box<dyn Policy>;

/// The first of the longest queues.
pub fn longest(at: &Naive<'_>, candidates: &[usize]) -> usize {
    let length = |core: usize| at.waiting_for(core).len();
    let longest = candidates.iter().map(|&core| length(core)).max().unwrap();
    let mut longest = candidates.iter().filter(|&&core| length(core) == longest);
    *longest.next().unwrap()
}
