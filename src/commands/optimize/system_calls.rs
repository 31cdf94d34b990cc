//! Decides whether asynchronous system calls are worth trying, and which.
//!
//! They help a server with a thread for each connection: a thread leaves its wait for the next
//! request in its core's ring, and another thread continues without the kernel's scheduler
//! (research/notes/posted-calls.md). Therefore the calls of the threads that serve requests become
//! asynchronous, including their waits between requests, if a ring supports them. If one thread
//! serves all connections, no other thread can continue, and no measurement showed a gain. A trace
//! shows such a thread by its calls: it waits for many files at once, accepts the connections
//! itself, or switches between connections and back. If a trace shows none of these, such as with a
//! load of one connection, the calls are tried, which costs only a few rounds.

use super::search::Here;
use crate::failure::{Exit, Failure};
use crate::posted_calls::{BadCalls, checked, is_in_batches};
use corehop_measure::machine::cpus::can_carry;
use corehop_measure::machine::rings::why_no_rings;
use corehop_runtime::calls::postable;
use corehop_support::format::system_call::{is_made_by, name};
use corehop_traces::{ThreadId, Trace};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Calls that wait for many files at once.
const WAIT_FOR_MANY: [&str; 5] = [
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "select",
    "pselect6",
];

/// Calls that accept a connection.
const TAKE_ONE: [&str; 2] = ["accept", "accept4"];

/// The choice of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Try them if they are worth it.
    Auto,
    /// Do not try them.
    Nothing,
    /// Try these, in the form of `corehop run --system-calls`.
    These(String),
}

/// The decision.
#[derive(Debug, PartialEq, Eq)]
pub enum Posting {
    /// They are tried with these calls.
    Tried(String),
    /// They are not tried, for this reason.
    Untried(String),
}

/// Parses the option.
pub fn wanted(text: &str) -> Result<Wanted, BadCalls> {
    Ok(match text {
        "auto" => Wanted::Auto,
        "none" => Wanted::Nothing,
        calls => Wanted::These(checked(calls)?),
    })
}

impl Wanted {
    /// Refuses an impossible choice on this machine, before anything is recorded.
    pub fn check(&self, here: &Here) -> Result<(), Failure> {
        let Some(obstacle) = self.obstacle() else {
            return Ok(());
        };
        if let Wanted::These(calls) = self {
            let message = format!("--system-calls {calls}: {obstacle}");
            let remedy = "leave it out to try plans only, or use a machine that supports the \
                          backend carrier and io_uring";
            return Err(Failure::new(Exit::Missing, message).remedy(remedy));
        }
        let Some(no_hops) = here.why_no_hops() else {
            return Ok(());
        };
        let message = format!("{no_hops}; asynchronous system calls: {obstacle}");
        let calls = match self {
            Wanted::Nothing => "leave --system-calls out, ",
            _ => "",
        };
        Err(Failure::new(Exit::Missing, message).remedy(format!(
            "{calls}widen the mask (taskset, the container's CPUs), or use a machine with more \
             cores"
        )))
    }

    /// Returns why no call can be asynchronous, whatever a recording shows.
    fn obstacle(&self) -> Option<String> {
        let in_batches = match self {
            Wanted::Nothing => return Some("--system-calls is none".into()),
            Wanted::Auto => true,
            Wanted::These(calls) => is_in_batches(calls),
        };
        match (can_carry(), in_batches) {
            (false, _) => Some("the backend carrier does not work here".into()),
            (true, true) => why_no_rings().map(Into::into),
            (true, false) => None,
        }
    }

    /// Decides whether to try the recorded server with asynchronous calls, and with which.
    /// `has_load` states whether a load sends requests to it.
    pub fn posting(&self, trace: &Trace, has_load: bool) -> Posting {
        match (self, self.obstacle()) {
            (Wanted::These(calls), _) => Posting::Tried(calls.clone()),
            (_, Some(obstacle)) => Posting::Untried(obstacle),
            (_, None) if !has_load => {
                Posting::Untried("there is no --load that sends requests to the server".into())
            }
            (_, None) => derived(trace),
        }
    }
}

/// Decides by the trace.
fn derived(trace: &Trace) -> Posting {
    let threads = Serving::of(trace);
    if threads.serve_alone() {
        let each = match threads.threads.len() {
            1 => "one thread",
            _ => "one thread of each process",
        };
        return Posting::Untried(format!(
            "{each} serves all connections, for which no measurement showed a gain \
             (--system-calls CALLS@batch tries it)"
        ));
    }
    match threads.in_batches() {
        calls if !calls.is_empty() => Posting::Tried(format!("{}@batch", calls.join(","))),
        _ if threads.calls().next().is_none() => {
            Posting::Untried("the trace has no system calls: record it again".into())
        }
        _ => Posting::Untried(
            "the threads that serve requests make none that can be made in batches".into(),
        ),
    }
}

/// The threads that served requests.
struct Serving<'t> {
    trace: &'t Trace,
    /// By thread, the known connections of its requests, in order.
    threads: BTreeMap<ThreadId, Vec<u64>>,
}

impl Serving<'_> {
    fn of(trace: &Trace) -> Serving<'_> {
        let mut threads: BTreeMap<ThreadId, Vec<u64>> = BTreeMap::new();
        for request in trace.requests() {
            let connections = threads.entry(request.thread).or_default();
            connections.extend(request.connection);
        }
        Serving { trace, threads }
    }

    /// Returns whether in every process a single thread served requests and waits for several
    /// connections.
    fn serve_alone(&self) -> bool {
        let process = |thread: &ThreadId| self.trace.threads()[thread.index()].process_id;
        let processes: BTreeSet<u32> = self.threads.keys().map(process).collect();
        processes.len() == self.threads.len()
            && self.threads.iter().all(|(&thread, connections)| {
                let makes = |any: &[&str]| calls(self.trace, thread).any(|c| any.contains(&&*c));
                let several = connections.iter().any(|one| *one != connections[0]);
                makes(&WAIT_FOR_MANY) || goes_back(connections) || several && makes(&TAKE_ONE)
            })
    }

    /// Returns the calls that these threads made.
    fn calls(&self) -> impl Iterator<Item = Cow<'static, str>> {
        let threads = self.threads.keys();
        threads.flat_map(|&thread| calls(self.trace, thread))
    }

    /// Returns the libc functions that may have made these calls and that can be batched.
    fn in_batches(&self) -> Vec<&'static str> {
        let made: BTreeSet<Cow<'static, str>> = self.calls().collect();
        let is_made = |libc: &str| made.iter().any(|kernel| is_made_by(kernel, libc));
        let calls = postable().into_iter();
        let calls = calls.filter(|call| call.in_batches && is_made(call.name));
        calls.map(|call| call.name).collect()
    }
}

fn calls(trace: &Trace, thread: ThreadId) -> impl Iterator<Item = Cow<'static, str>> {
    let calls = trace.system_calls(thread).iter();
    calls.map(|call| name(call.number))
}

/// Returns whether the thread served a connection again after another one.
fn goes_back(connections: &[u64]) -> bool {
    let mut left = BTreeSet::new();
    connections.windows(2).any(|two| {
        if two[0] != two[1] {
            left.insert(two[0]);
        }
        left.contains(&two[1])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use corehop_traces::{CodeBlock, EndReason, Header, Writer, WriterOptions};

    /// Returns a trace of requests, each of a thread and a connection, after which the thread makes
    /// these calls; threads are (process, calls).
    fn trace(threads: &[(u32, &[i64])], requests: &[(usize, u64)]) -> Trace {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.trace");
        let mut writer =
            Writer::create(&path, &Header::default(), &WriterOptions::default()).unwrap();
        let block = writer.code_block(&CodeBlock::new(0x1000, [4]), None);
        let block = block.unwrap();
        let numbered = (1..).zip(threads);
        let ids: Vec<ThreadId> = numbered
            .map(|(number, (process, _))| writer.thread(*process, number).unwrap())
            .collect();
        let mut stamp = 0;
        let mut serve = |at: usize, connection: Option<u64>| {
            stamp += 1;
            writer.stamp(ids[at], stamp).unwrap();
            if let Some(connection) = connection {
                writer.request(ids[at]).unwrap();
                writer.connection(ids[at], connection).unwrap();
            }
            for call in threads[at].1.iter().chain(&[libc::SYS_futex]) {
                writer.execution(ids[at], block).unwrap();
                writer.system_call(ids[at], *call as i32, Some(0)).unwrap();
            }
        };
        for &(thread, connection) in requests {
            serve(thread, Some(connection));
        }
        let idle = (0..threads.len()).filter(|at| requests.iter().all(|(by, _)| by != at));
        idle.for_each(|at| serve(at, None));
        writer.finish(EndReason::RequestsReached).unwrap();
        Trace::open(&path).unwrap()
    }

    const ASKS: &[i64] = &[libc::SYS_sendto, libc::SYS_poll, libc::SYS_recvfrom];
    const WAITS: &[i64] = &[libc::SYS_epoll_wait, libc::SYS_read, libc::SYS_write];
    const TAKES: &[i64] = &[libc::SYS_accept, libc::SYS_read, libc::SYS_write];

    fn why(threads: &[(u32, &[i64])], requests: &[(usize, u64)]) -> String {
        match derived(&trace(threads, requests)) {
            Posting::Untried(why) => why,
            tried => panic!("{tried:?}"),
        }
    }

    fn tried(threads: &[(u32, &[i64])], requests: &[(usize, u64)]) -> String {
        match derived(&trace(threads, requests)) {
            Posting::Tried(calls) => calls,
            untried => panic!("{untried:?}"),
        }
    }

    #[test]
    fn calls_are_those_of_the_threads_that_serve_in_the_runtimes_order() {
        let threads = [(1, TAKES), (1, ASKS), (1, ASKS)];
        let expected = "recv,recvfrom,send,sendto,poll@batch";
        assert_eq!(tried(&threads, &[(1, 1), (2, 2), (1, 1)]), expected);
        let expected = "read,write,epoll_wait@batch";
        let loops = [(1, WAITS), (1, WAITS)];
        assert_eq!(
            tried(&loops, &[(0, 1), (1, 2)]),
            expected,
            "several may gain"
        );
        assert_eq!(
            tried(&threads, &[(1, 1), (1, 1)]).matches("@batch").count(),
            1
        );
    }

    #[test]
    fn one_thread_for_all_connections_is_told_by_its_waits_or_its_connections() {
        let alone = "one thread serves all connections";
        assert!(why(&[(1, WAITS)], &[(0, 1)]).starts_with(alone));
        assert!(why(&[(1, ASKS)], &[(0, 1), (0, 2), (0, 1)]).starts_with(alone));
        assert!(why(&[(1, TAKES), (1, ASKS)], &[(0, 1), (0, 2)]).starts_with(alone));
        let workers = why(&[(1, WAITS), (2, WAITS)], &[(0, 1), (1, 2)]);
        assert!(
            workers.starts_with("one thread of each process serves"),
            "{workers}"
        );
        // Other threads may wait in addition to it.
        tried(&[(1, TAKES)], &[(0, 1), (0, 1)]);
        tried(&[(1, ASKS)], &[(0, 1), (0, 2), (0, 2)]);
        tried(&[(1, ASKS), (2, WAITS)], &[(0, 1), (1, 2)]);
    }

    #[test]
    fn nothing_is_tried_that_no_batch_can_take() {
        let files = [libc::SYS_pread64, libc::SYS_openat];
        let threads = [(1, &files[..]), (1, &files[..])];
        let why = why(&threads, &[(0, 1), (1, 2)]);
        assert!(why.contains("none that can be made in batches"), "{why}");
    }

    #[test]
    fn a_sequence_goes_back_where_something_else_lies_between_two_equal_ones() {
        for number in 0..3_u64.pow(6) {
            let all: Vec<u64> = (0..6).map(|digit| number / 3_u64.pow(digit) % 3).collect();
            for length in 0..=all.len() {
                let some = &all[..length];
                let mut naive = false;
                for first in 0..length {
                    for between in first..length {
                        let mut last = some[between..].iter();
                        naive |= some[between] != some[first] && last.any(|c| *c == some[first]);
                    }
                }
                assert_eq!(goes_back(some), naive, "{some:?}");
            }
        }
    }
}
