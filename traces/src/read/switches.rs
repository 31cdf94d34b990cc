//! Finds where a replay switches from one thread to another.
//!
//! A recorder stamps a thread's runs whether or not another thread ran between them, and usually
//! none did. A player of single chunks would have to stop at every stamp. So opening a trace
//! determines once which stamps matter, and keeps only those.

use crate::model::ids::ThreadId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// For each thread, the stamps of its runs that follow a run of another thread; ascending.
#[derive(Default)]
pub struct Switches {
    by_thread: Vec<Vec<u64>>,
}

impl Switches {
    /// Consumes the ascending stamps of each thread's runs. `changes` returns the stamps at which a
    /// thread's mappings, pages or CPU change: the next run also counts as a switch.
    pub fn new<C: Iterator<Item = u64>>(
        stamps: Vec<Vec<u64>>,
        changes: impl Fn(ThreadId) -> C,
    ) -> Switches {
        let mut by_thread = vec![Vec::new(); stamps.len()];
        for (thread, own) in by_thread.iter_mut().enumerate() {
            let stamps = &stamps[thread];
            let thread = ThreadId::from_index(thread);
            let next = |change| stamps.get(stamps.partition_point(|&stamp| stamp < change));
            own.extend(changes(thread).filter_map(next));
        }
        let mut runs: Vec<_> = stamps.into_iter().map(Vec::into_iter).collect();
        let mut waiting = BinaryHeap::new();
        for (thread, runs) in runs.iter_mut().enumerate() {
            waiting.extend(runs.next().map(|stamp| Reverse((stamp, thread))));
        }
        let mut last = None;
        while let Some(Reverse((stamp, thread))) = waiting.pop() {
            if last != Some(thread) {
                by_thread[thread].push(stamp);
            }
            last = Some(thread);
            waiting.extend(runs[thread].next().map(|stamp| Reverse((stamp, thread))));
        }
        by_thread.iter_mut().for_each(|own| own.sort_unstable());
        Switches { by_thread }
    }

    /// Returns whether the run of `thread` with this stamp follows one of another thread.
    pub fn has(&self, thread: ThreadId, stamp: u64) -> bool {
        let stamps = self.by_thread.get(thread.index());
        stamps.is_some_and(|stamps| stamps.binary_search(&stamp).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_of_a_threads_runs_in_a_row_is_a_switch() {
        let stamps = vec![vec![1, 2, 5, 5, 9], vec![3, 9, 10], vec![]];
        let switches = Switches::new(stamps, |_| std::iter::empty());
        let of = |thread| {
            (0..12)
                .filter(|&at| switches.has(ThreadId(thread), at))
                .collect::<Vec<u64>>()
        };
        assert_eq!([of(0), of(1), of(2)], [vec![1, 5], vec![3, 9], vec![]]);
    }

    #[test]
    fn the_first_run_after_a_change_of_memory_is_a_switch() {
        let changes = |thread| {
            [4, 6, 10]
                .into_iter()
                .filter(move |_| thread == ThreadId(0))
        };
        let switches = Switches::new(vec![vec![1, 2, 5, 7, 9], vec![20]], changes);
        let all = (0..12).filter(|&at| switches.has(ThreadId(0), at));
        assert_eq!(all.collect::<Vec<u64>>(), [1, 5, 7]);
    }
}
