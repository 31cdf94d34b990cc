//! ROCS' search for the pages that pollute an L2, by replays in the place of a running program.
//!
//! Soares ("Operating System Techniques for Reducing Processor State Pollution", thesis, Toronto
//! 2012, algorithm 1) puts all pages on a stack, that with the highest L2 miss rate on top, and
//! confines so many at a time from there to the pollute buffer, each time watching how the program
//! does, until fewer than so many are left. The best of these states it keeps. What his listing
//! gives back counts one step fewer than was confined when it did best; here it is what was.
//!
//! He watches instructions per cycle on a processor. Here a replay counts, and a state is better
//! only if it is strictly so, also than confining nothing, which his listing does not try.

use super::colours::PolluteBuffer;
use super::error::Error;
use super::replay::{PageUse, replay_with_buffer};
use corehop_simulator::{Machine, Prepared, Replay, Split};
use std::cmp::Reverse;
use std::num::NonZeroUsize;

/// By what states are told apart: less of it is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judge {
    /// Misses of the L2s.
    L2Misses,
    /// Simulated cycles.
    Cycles,
}

/// How to search.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    /// Pages that a step confines.
    pub step: NonZeroUsize,
    /// By what steps are told apart.
    pub judge: Judge,
    /// Told after each step.
    pub progress: &'a dyn Fn(),
}

/// A state that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Pages from the top of the stack that were confined.
    pub pages: usize,
    /// What the L2s missed.
    pub l2_misses: u64,
    /// Simulated cycles.
    pub cycles: u64,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Numbers of the pages to confine, from the top of the stack: as few as do best.
    pub confined: Vec<u64>,
    /// All that was tried, in order: nothing confined, then step by step.
    pub tried: Vec<Tried>,
}

impl Judge {
    /// What a replay has of it.
    pub fn of(self, replay: &Replay) -> u64 {
        match self {
            Judge::L2Misses => replay.counters.l2.misses(),
            Judge::Cycles => replay.counters.cycles,
        }
    }
}

/// Searches for the pages to confine. `before` is a replay without a buffer, with what each page
/// did in it; `prepared` is what [`super::prepare`] has read.
///
/// # Errors
/// As [`Prepared::replay`], and [`Error::TooFewColours`].
///
/// # Panics
/// As [`replay_with_buffer`].
pub fn find_pollute_pages(
    prepared: &Prepared,
    (machine, split): (&Machine, &Split),
    (before, pages): (&Replay, &[PageUse]),
    search: &Search<'_>,
) -> Result<Found, Error> {
    let stack = stack(pages);
    let tried = |pages, replay: &Replay| Tried {
        pages,
        l2_misses: replay.counters.l2.misses(),
        cycles: replay.counters.cycles,
    };
    let mut found = Found {
        confined: Vec::new(),
        tried: vec![tried(0, before)],
    };
    let mut best = search.judge.of(before);
    let step = search.step.get();
    for pages in (1..=stack.len() / step).map(|steps| steps * step) {
        let buffer = PolluteBuffer::new(machine, stack[..pages].iter().copied())?;
        let replay = replay_with_buffer(prepared, (machine, split), &buffer)?;
        found.tried.push(tried(pages, &replay));
        let came_to = search.judge.of(&replay);
        if came_to < best {
            best = came_to;
            found.confined = stack[..pages].to_vec();
        }
        (search.progress)();
    }
    Ok(found)
}

/// The numbers of the pages that reference an L2, that with the highest miss rate first. Of equal
/// rates more misses come first, and then the lower number.
fn stack(pages: &[PageUse]) -> Vec<u64> {
    let mut stack: Vec<&PageUse> = pages.iter().filter(|of| of.l2_accesses > 0).collect();
    stack.sort_by(|one, other| {
        let by =
            |of: &PageUse, all: &PageUse| u128::from(of.l2_misses) * u128::from(all.l2_accesses);
        let by_rate = by(other, one).cmp(&by(one, other));
        let else_by = |of: &PageUse| (Reverse(of.l2_misses), of.page);
        by_rate.then_with(|| else_by(one).cmp(&else_by(other)))
    });
    stack.into_iter().map(|of| of.page).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_miss_rate_is_on_top_of_the_stack() {
        let page = |page, l2_accesses, l2_misses| PageUse {
            page,
            l2_accesses,
            l2_misses,
        };
        let pages = [
            page(1, 4, 1),
            page(2, 0, 0),
            page(3, 2, 2),
            page(4, 8, 2),
            page(5, 9, 9),
            page(6, 2, 2),
        ];
        assert_eq!(stack(&pages), [5, 3, 6, 4, 1]);
    }
}
