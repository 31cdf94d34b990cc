//! The order in which a core runs waiting threads: in cohorts of those that came by the same hook.
//!
//! This is the rule of `research/lab/runtime/cohort.c`. The core continues with the longest-waiting
//! thread that came by the hook of its turn, until it has run B threads in this turn or none waits.
//! Then the longest-waiting thread of all begins a turn. With B = 1 this is first come, first
//! served. With H hooks, at most (B - 1)(H - 1) threads that come later run before a waiting
//! thread, and at most B - 1 once it is the longest-waiting one.

use corehop_simulator::CameBy;

/// One core's turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    most: u32,
    /// The hook of the turn; `None` for threads that a request woke.
    came_by: Option<CameBy>,
    /// Number of threads that may still run in this turn.
    left: u32,
}

impl Turn {
    /// Creates the state before the first turn; a turn has up to `most` threads.
    pub fn of(most: u32) -> Turn {
        Turn {
            most,
            came_by: None,
            left: 0,
        }
    }

    /// Returns the index of the next thread to run. `waiting` contains the hooks by which threads
    /// came, longest-waiting first; there is at least one.
    pub fn choose(&mut self, mut waiting: impl Iterator<Item = Option<CameBy>> + Clone) -> usize {
        let goes_on = match self.left {
            0 => None,
            _ => waiting.clone().position(|by| by == self.came_by),
        };
        if let Some(place) = goes_on {
            self.left -= 1;
            return place;
        }
        self.came_by = waiting.next().flatten();
        self.left = self.most.saturating_sub(1);
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corehop_traces::FunctionId;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// The hooks by which threads come in tests.
    const HOOKS: [Option<CameBy>; 4] = [
        None,
        Some(CameBy::Entry(FunctionId(0))),
        Some(CameBy::End(FunctionId(0))),
        Some(CameBy::Entry(FunctionId(1))),
    ];

    /// A waiting thread: its hook, the number of later threads that ran before it, and the number
    /// of these since it is the longest-waiting one.
    #[derive(Clone, Copy, Debug)]
    struct Thread {
        by: Option<CameBy>,
        overtaken: u32,
        as_first: u32,
    }

    fn take(turn: &mut Turn, waiting: &mut Vec<Thread>) -> Thread {
        let place = turn.choose(waiting.iter().map(|thread| thread.by));
        let taken = waiting.remove(place);
        for (older, thread) in waiting[..place].iter_mut().enumerate() {
            thread.overtaken += 1;
            thread.as_first += u32::from(older == 0);
        }
        taken
    }

    proptest! {
        #[test]
        fn nobody_is_overtaken_more_often_than_the_bound(
            most in 1u32..7,
            // Threads that come; values from 4 on run one.
            events in vec(0usize..7, 1..200),
        ) {
            let (mut turn, mut waiting) = (Turn::of(most), Vec::new());
            for event in events {
                match HOOKS.get(event) {
                    Some(&by) => waiting.push(Thread { by, overtaken: 0, as_first: 0 }),
                    None if waiting.is_empty() => {}
                    None => {
                        let taken = take(&mut turn, &mut waiting);
                        let hooks = HOOKS.len() as u32;
                        prop_assert!(taken.overtaken <= (most - 1) * (hooks - 1), "{taken:?}");
                        prop_assert!(taken.as_first < most, "{taken:?}");
                    }
                }
            }
        }

        #[test]
        fn one_in_turn_is_the_order_in_which_threads_come(comes in vec(0usize..4, 1..50)) {
            let mut turn = Turn::of(1);
            for from in 0..comes.len() {
                let waiting = comes[from..].iter().map(|&come| HOOKS[come]);
                prop_assert_eq!(turn.choose(waiting), 0);
            }
        }
    }

    #[test]
    fn who_comes_while_a_turn_lasts_takes_part_in_it() {
        let [request, entry, end, _] = HOOKS;
        let mut turn = Turn::of(3);
        assert_eq!(turn.choose([entry, request].into_iter()), 0);
        assert_eq!(turn.choose([request, end, entry, entry].into_iter()), 2);
        assert_eq!(turn.choose([request, end, entry, entry].into_iter()), 2);
        // Three have run in this turn.
        assert_eq!(turn.choose([request, end, entry].into_iter()), 0);
        assert_eq!(turn.choose([end, entry].into_iter()), 0);
    }
}
