//! Observations of a recording that waits for its first request, and advice.

use crate::system::Stage;
use corehop_support::format::system_call;
use corehop_wire::ring::{Memory, RequestMarker};
use std::fmt::{Display, Formatter, Result, Write};
use std::time::{Duration, Instant};

/// Time after which a recording reports that it waits.
const WAITS: Duration = Duration::from_secs(10);

/// Maximum number of kinds of system calls reported.
const MOST_KINDS: usize = 8;

/// Decides when a recording reports that it waits: once, and in a guest once for each stage.
pub struct Watch {
    since: Instant,
    told: Option<Option<Stage>>,
}

impl Watch {
    /// Returns the watch of a recording that begins to wait.
    pub fn start() -> Watch {
        Watch {
            since: Instant::now(),
            told: None,
        }
    }

    /// Returns the report that is due now, if any; `memory` and `stage` are as for [`Waiting::of`].
    pub fn look(&mut self, memory: &Memory, stage: Option<Stage>) -> Option<Waiting> {
        let Some(waiting) = Waiting::of(memory, stage) else {
            // A recording that does not wait now may do so later.
            self.since = Instant::now();
            return None;
        };
        if self.told == Some(stage) || self.since.elapsed() < WAITS {
            return None;
        }
        *self = Watch {
            told: Some(stage),
            ..Watch::start()
        };
        Some(waiting)
    }
}

/// Observations so far.
#[derive(Debug)]
pub struct Waiting {
    marker: Option<RequestMarker>,
    connections: u64,
    /// Numbers and counts, most first.
    calls: Vec<(u32, u32)>,
    /// The stage of the guest, if there is one: system calls are not counted there.
    stage: Option<Stage>,
}

impl Waiting {
    /// Returns the observations of a server with this shared memory, in a guest at `stage`, if any;
    /// `None` if a request has begun, or if none is expected.
    fn of(memory: &Memory, stage: Option<Stage>) -> Option<Waiting> {
        (memory.requests().seen == 0 && !memory.is_paused()).then(|| Waiting {
            marker: memory.marker(),
            connections: memory.connections(),
            calls: memory.calls(),
            stage,
        })
    }

    fn advice(&self) -> &'static str {
        match (&self.marker, self.connections) {
            _ if self.calls.is_empty() => "the server does not run yet, or waits for nothing",
            (Some(RequestMarker::SystemCalls), 0) => {
                "send requests to it; one that takes them neither over connections that it accepts \
                 nor as datagrams needs the function that they enter: --request-at NAME"
            }
            (Some(RequestMarker::SystemCalls), _) => {
                "nothing was read from these by a call that docs/guide/requests.md lists: send \
                 requests, or name the function that they enter: --request-at NAME"
            }
            (Some(RequestMarker::NoOp { .. }), _) => {
                "no such no-op was executed: send requests, see that the library with it is loaded \
                 (--preload), or try --request-at syscalls"
            }
            (Some(RequestMarker::At { .. }) | None, _) => {
                "the function was not entered: send requests, or try --request-at syscalls, which \
                 needs none"
            }
        }
    }
}

/// Returns the observation in a guest, and advice.
fn on_guest(stage: Stage) -> &'static str {
    match stage {
        Stage::Starting => "the guest still starts",
        Stage::Started => {
            "the server has started on the guest, and has no socket that it listens on; the load \
             begins when it has, or after 30 s of the guest's time; without --load the server must \
             do something by itself"
        }
        Stage::Loaded => {
            "the load runs on the guest, and no request has met the mark: see that it sends \
             requests, or name another function: --request-at NAME"
        }
    }
}

impl Display for Waiting {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        let seconds = WAITS.as_secs();
        if let Some(stage) = self.stage {
            let seen = on_guest(stage);
            return write!(formatter, "no request has begun for {seconds} s; {seen}");
        }
        let mut calls = String::new();
        for &(number, count) in self.calls.iter().take(MOST_KINDS) {
            let _ = write!(
                calls,
                ", {} {count}",
                system_call::name(number.cast_signed())
            );
        }
        let connections = match self.connections {
            0 => "no connection was accepted and no datagram received".to_owned(),
            1 => "1 connection".to_owned(),
            more => format!("{more} connections"),
        };
        write!(
            formatter,
            "no request has begun for {seconds} s; {connections}; system calls: {}; {}",
            calls.strip_prefix(", ").unwrap_or("none"),
            self.advice()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corehop_wire::ring::Settings;

    fn said(marker: &RequestMarker, connections: u64, calls: &[i64]) -> String {
        let (memory, _file) = Memory::create(&Settings::default()).unwrap();
        memory.set_marker(marker);
        for _ in 0..connections {
            memory.next_connection();
        }
        calls.iter().for_each(|&number| memory.count_call(number));
        Waiting::of(&memory, None).unwrap().to_string()
    }

    #[test]
    fn it_tells_what_was_seen_and_what_to_try() {
        let syscalls = RequestMarker::SystemCalls;
        let said_of = said(
            &syscalls,
            0,
            &[libc::SYS_poll, libc::SYS_read, libc::SYS_poll, 400],
        );
        let begin = "no request has begun for 10 s; no connection was accepted and no datagram \
                     received; system calls: poll 2, read 1, call 400 1; send requests to it;";
        assert!(said_of.starts_with(begin), "{said_of}");
        let said_of = said(&syscalls, 2, &[libc::SYS_epoll_wait]);
        let begin = "no request has begun for 10 s; 2 connections; system calls: epoll_wait 1; \
                     nothing was read from these";
        assert!(said_of.starts_with(begin), "{said_of}");
        let no_op = RequestMarker::NoOp { number: None };
        assert!(
            said(&no_op, 1, &[0]).contains("1 connection; system calls: read 1; no such no-op")
        );
        let at = RequestMarker::At {
            path: "/bin/true".into(),
            file_offset: 1,
        };
        assert!(said(&at, 0, &[0]).contains("the function was not entered"));
        assert!(
            said(&at, 0, &[]).ends_with("none; the server does not run yet, or waits for nothing")
        );
    }

    #[test]
    fn of_a_guest_it_tells_how_far_that_has_come() {
        let (memory, _file) = Memory::create(&Settings::default()).unwrap();
        let said = |stage| Waiting::of(&memory, Some(stage)).unwrap().to_string();
        let begin = "no request has begun for 10 s; ";
        assert_eq!(
            said(Stage::Starting),
            format!("{begin}the guest still starts")
        );
        assert!(said(Stage::Started).starts_with(&format!("{begin}the server has started on")));
        assert!(said(Stage::Loaded).starts_with(&format!("{begin}the load runs on the guest")));
    }

    #[test]
    fn nothing_is_told_once_a_request_has_begun_or_while_none_is_to() {
        let (memory, _file) = Memory::create(&Settings::default()).unwrap();
        memory.set_paused(true);
        assert!(Waiting::of(&memory, None).is_none());
        memory.set_paused(false);
        assert!(Waiting::of(&memory, None).is_some());
        memory.count_mark();
        assert!(Waiting::of(&memory, None).is_none());
    }
}
