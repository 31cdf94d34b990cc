//! The scheduler interface of the naive simulation; each decision is computed naively.

use crate::timing::against_naive::case::Case;
use crate::timing::against_naive::naive::Naive;
use crate::timing::against_naive::program::Script;

/// Why a thread began to wait: a request, or a function's entry or end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum By {
    Request,
    Entry(u32),
    End(u32),
}

/// The decisions of a scheduler, including its own state.
pub trait Policy {
    fn first_core(&self, case: &Case, connection: usize) -> usize;

    /// Handles the thread on `core` changing its stage; returns the core that it will wait for, if
    /// it leaves.
    fn enter(&mut self, at: &Naive<'_>, core: usize, stages: (u32, u32)) -> Option<usize>;

    fn may_take(&self, _case: &Case, _core: usize, _from: usize) -> bool {
        false
    }

    fn victim(&mut self, at: &Naive<'_>, _core: usize, candidates: &[usize]) -> usize {
        longest(at, candidates)
    }

    /// Returns which of the ready threads `core` takes, from their stages and the reasons for
    /// waiting.
    fn choose(&mut self, _case: &Case, _core: usize, _ready: &[(u32, By)]) -> usize {
        0
    }
}

/// Creates a policy.
pub type Make = fn(&Case, &[Script]) -> Box<dyn Policy>;

/// Returns the first of the longest queues.
pub fn longest(at: &Naive<'_>, candidates: &[usize]) -> usize {
    let length = |core: usize| at.waiting_for(core).len();
    let longest = candidates.iter().map(|&core| length(core)).max().unwrap();
    let mut longest = candidates.iter().filter(|&&core| length(core) == longest);
    *longest.next().unwrap()
}
