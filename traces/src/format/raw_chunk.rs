//! A chunk of one thread's executions while a writer collects it; it becomes a `block` entry.

use crate::codec::match_finder::MatchFinder;
use crate::codec::matches::{Expanded, Parsed};
use crate::model::ids::ThreadId;
use crate::model::run::Run;
use crate::model::system_call::SystemCall;
use std::ops::Range;

/// Executions of one thread, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RawChunk {
    /// The thread.
    pub thread: ThreadId,
    /// Number of executions.
    pub executions: u32,
    /// Number of their data accesses.
    pub data_accesses: u32,
    /// The executions.
    pub parsed: Parsed,
    /// Runs, by ascending stamp.
    pub runs: Vec<Run>,
    /// Places of the executions that begin a request, ascending.
    pub requests: Vec<u32>,
    /// Number of each of `requests` among all that the server served; 0 if it is not known.
    pub numbers: Vec<u64>,
    /// Connection of each of `requests`; 0 if it is not known.
    pub connections: Vec<u64>,
    /// The system calls that the thread made, in order.
    pub system_calls: Vec<SystemCall>,
}

impl RawChunk {
    /// Clears the contents and keeps the buffers.
    pub fn clear(&mut self) {
        (self.executions, self.data_accesses) = (0, 0);
        self.parsed.clear();
        self.runs.clear();
        self.requests.clear();
        self.numbers.clear();
        self.connections.clear();
        self.system_calls.clear();
    }

    /// Moves the executions of a match finder into the chunk.
    pub fn fill(&mut self, finder: &mut MatchFinder) {
        self.executions = finder.executions() as u32;
        self.data_accesses = finder.data_accesses() as u32;
        self.parsed = finder.take();
    }

    fn fill_from(&mut self, all: &Expanded<'_>, executions: Range<u32>) {
        self.executions = executions.len() as u32;
        self.data_accesses = all.data_accesses(&executions);
        self.parsed = all.part(&executions);
    }

    /// Splits the chunk into two, each with half of the executions. `data_counts` has the number of
    /// data accesses of each template.
    pub fn halves(mut self, data_counts: &[u16]) -> [RawChunk; 2] {
        let parsed = std::mem::take(&mut self.parsed);
        let all = parsed.expanded(data_counts);
        let half = all.executions() / 2;
        let mut later = RawChunk {
            thread: self.thread,
            ..RawChunk::default()
        };
        let mut room = half;
        for run in std::mem::take(&mut self.runs) {
            let stamp = run.stamp;
            let executions = run.executions.min(room);
            room -= executions;
            let rest = run.executions - executions;
            if executions > 0 {
                self.runs.push(Run { stamp, executions });
            }
            if rest > 0 {
                later.runs.push(Run {
                    stamp,
                    executions: rest,
                });
            }
        }
        let first_later = self.requests.partition_point(|&place| place < half);
        let places = self.requests.split_off(first_later);
        later.numbers = self.numbers.split_off(first_later);
        later.connections = self.connections.split_off(first_later);
        later.requests = places.into_iter().map(|place| place - half).collect();
        let made_earlier = |call: &SystemCall| call.after <= u64::from(half);
        let first_later = self.system_calls.partition_point(made_earlier);
        later.system_calls = self.system_calls.split_off(first_later);
        for call in &mut later.system_calls {
            call.after -= u64::from(half);
        }
        self.fill_from(&all, 0..half);
        later.fill_from(&all, half..all.executions());
        [self, later]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::matches::Match;

    /// Returns a chunk with executions of templates with no data access and with one.
    fn chunk(templates: &[u32], addresses: &[u64]) -> RawChunk {
        RawChunk {
            executions: templates.len() as u32,
            data_accesses: addresses.len() as u32,
            parsed: Parsed {
                matches: Vec::new(),
                templates: templates.into(),
                addresses: addresses.into(),
            },
            ..RawChunk::default()
        }
    }

    fn call(after: u64, number: i32) -> SystemCall {
        SystemCall {
            after,
            number,
            result: None,
        }
    }

    #[test]
    fn halves_hold_what_the_whole_held() {
        let run = |stamp, executions| Run { stamp, executions };
        let whole = RawChunk {
            thread: ThreadId(3),
            runs: vec![run(5, 1), run(7, 4)],
            requests: vec![1, 2, 5],
            numbers: vec![7, 9, 0],
            connections: vec![3, 0, 0],
            system_calls: vec![call(1, 7), call(2, 8), call(2, 9), call(5, 10)],
            ..chunk(&[0, 1, 0, 1, 1], &[10, 11, 12])
        };
        let earlier = RawChunk {
            thread: ThreadId(3),
            runs: vec![run(5, 1), run(7, 1)],
            requests: vec![1],
            numbers: vec![7],
            connections: vec![3],
            system_calls: vec![call(1, 7), call(2, 8), call(2, 9)],
            ..chunk(&[0, 1], &[10])
        };
        let later = RawChunk {
            thread: ThreadId(3),
            runs: vec![run(7, 3)],
            requests: vec![0, 3],
            numbers: vec![9, 0],
            connections: vec![0, 0],
            system_calls: vec![call(3, 10)],
            ..chunk(&[0, 1, 1], &[11, 12])
        };
        assert_eq!(whole.halves(&[0, 1]), [earlier, later]);
    }

    #[test]
    fn of_a_match_each_half_keeps_what_has_its_source_there() {
        let matched = |place, length, distance| Match {
            place,
            length,
            distance,
        };
        // Executions 4 to 19 equal those at 0 to 15, and the one at 21 equals the one at 3.
        let whole = RawChunk {
            executions: 24,
            data_accesses: 13,
            parsed: Parsed {
                matches: vec![matched(4, 16, 4), matched(21, 1, 18)],
                templates: vec![0, 1, 0, 1, 1, 1, 0],
                addresses: vec![10, 11, 12, 13],
            },
            ..RawChunk::default()
        };
        let parsed = whole.parsed.expanded(&[0, 1]);
        let (templates, addresses) = (parsed.templates, parsed.addresses);
        let [earlier, later] = whole.halves(&[0, 1]);
        assert_eq!(earlier.parsed.matches, [matched(4, 8, 4)]);
        assert_eq!(later.parsed.matches, [matched(4, 4, 4)]);
        let halves = [earlier, later].map(|half| {
            let all = half.parsed.expanded(&[0, 1]);
            assert_eq!(half.executions, all.templates.len() as u32);
            assert_eq!(half.data_accesses, all.addresses.len() as u32);
            (all.templates, all.addresses)
        });
        let [(earlier, its), (later, others)] = halves;
        assert_eq!([earlier, later].concat(), templates);
        assert_eq!([its, others].concat(), addresses);
    }
}
