//! ROCS' search for the pages that pollute an L2, with replays instead of a running program.
//!
//! Soares ("Operating System Techniques for Reducing Processor State Pollution", thesis, Toronto
//! 2012, algorithm 1) puts all pages on a stack, with the highest L2 miss rate on top. He confines
//! a fixed number at a time from the top to the pollute buffer, and measures the program after each
//! step, until fewer pages are left. He keeps the best of these states. The result of his listing
//! counts one step fewer than was confined in the best state; here it is the best state.
//!
//! He measures instructions per cycle on a processor. Here a replay counts, and a state must be
//! strictly better, also compared with confining nothing, which his listing does not try.

use super::colours::PolluteBuffer;
use super::error::Error;
use super::replay::{PageUse, replay_with_buffer};
use corehop_simulator::{Machine, Prepared, Replay, Split};
use std::cmp::Reverse;
use std::num::NonZeroUsize;

/// The objective to minimize.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judge {
    /// L2 misses.
    L2Misses,
    /// Simulated cycles.
    Cycles,
}

/// Parameters of a search.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    /// Number of pages that a step confines.
    pub step: NonZeroUsize,
    /// The objective by which states are compared.
    pub judge: Judge,
    /// Called after each step.
    pub progress: &'a dyn Fn(),
}

/// A state that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Number of confined pages from the top of the stack.
    pub pages: usize,
    /// Number of L2 misses.
    pub l2_misses: u64,
    /// Simulated cycles.
    pub cycles: u64,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Found {
    /// Numbers of the pages to confine, from the top of the stack: the fewest with the best result.
    pub confined: Vec<u64>,
    /// All tried states, in order: nothing confined, then step by step.
    pub tried: Vec<Tried>,
}

impl Judge {
    /// Returns the value of the objective for a replay.
    pub fn of(self, replay: &Replay) -> u64 {
        match self {
            Judge::L2Misses => replay.counters.l2.misses(),
            Judge::Cycles => replay.counters.cycles,
        }
    }
}

/// Searches for the pages to confine. `before` is a replay without a buffer, with the counts of
/// each page; `prepared` is the result of [`super::prepare`].
///
/// # Errors
/// Those of [`Prepared::replay`], and [`Error::TooFewColours`].
///
/// # Panics
/// Those of [`replay_with_buffer`].
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

/// Returns the numbers of the pages that access an L2, highest miss rate first. At equal rates,
/// more misses come first, and then the lower number.
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
