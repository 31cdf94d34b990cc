//! Records which CPU each thread runs on, if the trace contains it.

use crate::model::ids::ThreadId;
use crate::model::thread::Thread;
use std::collections::HashMap;

/// The CPU that a thread runs on, from one stamp on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnCpu {
    /// The operating system's number of the thread's process.
    pub process_id: u32,
    /// The operating system's number of the thread.
    pub os_thread_id: u32,
    /// The CPU holds for the thread's runs with this stamp and later ones. If stamps are equal, the
    /// later one in the trace holds.
    pub since: u64,
    /// Number of the CPU, from 0.
    pub cpu: u16,
}

/// The CPUs of all threads.
#[derive(Debug, Default)]
pub struct Cpus {
    /// For each thread, pairs of a stamp and the CPU from then on, in ascending order of stamps.
    of_thread: Vec<Vec<(u64, u16)>>,
}

impl Cpus {
    /// Collects the CPUs of `threads`, by thread number.
    pub fn new(threads: &[Thread], all: &[OnCpu]) -> Cpus {
        let mut by_numbers: HashMap<(u32, u32), Vec<(u64, u16)>> = HashMap::new();
        for on in all {
            let own = by_numbers.entry((on.process_id, on.os_thread_id));
            own.or_default().push((on.since, on.cpu));
        }
        // If stamps are equal, the later one holds; a stable sort keeps their order.
        by_numbers
            .values_mut()
            .for_each(|own| own.sort_by_key(|&(since, _)| since));
        let own = |thread: &Thread| {
            let numbers = (thread.process_id, thread.os_thread_id);
            by_numbers.get(&numbers).cloned().unwrap_or_default()
        };
        Cpus {
            of_thread: match all {
                [] => Vec::new(),
                _ => threads.iter().map(own).collect(),
            },
        }
    }

    /// Returns the CPU of a thread in its run with this stamp; `None` if the trace does not contain
    /// it.
    pub fn of(&self, thread: ThreadId, stamp: u64) -> Option<u16> {
        let own = self.of_thread.get(thread.index())?;
        let passed = own.partition_point(|&(since, _)| since <= stamp);
        Some(own.get(passed.checked_sub(1)?)?.1)
    }

    /// Returns the stamps at which a thread moves to another CPU.
    pub fn changes_of(&self, thread: ThreadId) -> impl Iterator<Item = u64> {
        let own = self.of_thread.get(thread.index()).into_iter().flatten();
        own.map(|&(since, _)| since).filter(|&since| since > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_where_it_was_told_last() {
        let threads = [(1, 7), (1, 8), (2, 7)].map(|(process_id, os_thread_id)| Thread {
            process_id,
            os_thread_id,
        });
        let on = |os_thread_id, since, cpu| OnCpu {
            process_id: 1,
            os_thread_id,
            since,
            cpu,
        };
        let cpus = Cpus::new(
            &threads,
            &[on(8, 30, 0), on(8, 10, 1), on(7, 0, 2), on(8, 30, 3)],
        );
        let of = |thread, stamp| cpus.of(ThreadId(thread), stamp);
        assert_eq!([of(0, 0), of(0, 99)], [Some(2); 2]);
        assert_eq!([of(1, 9), of(1, 10), of(1, 29)], [None, Some(1), Some(1)]);
        assert_eq!([of(1, 30), of(2, 30)], [Some(3), None]);
        assert_eq!(
            cpus.changes_of(ThreadId(1)).collect::<Vec<_>>(),
            [10, 30, 30]
        );
        assert_eq!(Cpus::new(&threads, &[]).of(ThreadId(0), 0), None);
    }
}
