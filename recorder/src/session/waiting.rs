//! What a recording that waits for its first request has seen of the server instead, and what to
//! try.

use corehop_ring::{Memory, RequestMarker};
use std::fmt::{Display, Formatter, Result, Write};
use std::time::Duration;

/// So long a recording waits before it says so.
pub const WAITS: Duration = Duration::from_secs(10);

/// So many kinds of system calls are told.
const MOST_KINDS: usize = 8;

/// What was seen so far.
#[derive(Debug)]
pub struct Waiting {
    marker: Option<RequestMarker>,
    connections: u64,
    /// Numbers and counts, most first.
    calls: Vec<(u32, u32)>,
}

impl Waiting {
    /// Of a recording whose server shares this memory; `None` where a request has begun, or none
    /// is waited for.
    pub fn of(memory: &Memory) -> Option<Waiting> {
        (memory.requests().seen == 0 && !memory.is_paused()).then(|| Waiting {
            marker: memory.marker(),
            connections: memory.connections(),
            calls: memory.calls(),
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

impl Display for Waiting {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        let mut calls = String::new();
        for &(number, count) in self.calls.iter().take(MOST_KINDS) {
            let _ = match name(number) {
                Some(name) => write!(calls, ", {name} {count}"),
                None => write!(calls, ", call {number} {count}"),
            };
        }
        let connections = match self.connections {
            0 => "no connection was accepted and no datagram received".to_owned(),
            1 => "1 connection".to_owned(),
            more => format!("{more} connections"),
        };
        write!(
            formatter,
            "no request has begun for {} s; {connections}; system calls: {}; {}",
            WAITS.as_secs(),
            calls.strip_prefix(", ").unwrap_or("none"),
            self.advice()
        )
    }
}

/// Makes a table of the names of system calls.
macro_rules! names {
    ($($name:ident $number:ident),* $(,)?) => {
        /// The name of a system call that servers make often.
        fn name(number: u32) -> Option<&'static str> {
            $(if i64::from(number) == libc::$number {
                return Some(stringify!($name));
            })*
            None
        }
    };
}

names! {
    accept SYS_accept, accept4 SYS_accept4, bind SYS_bind, brk SYS_brk, clone SYS_clone,
    clone3 SYS_clone3, clock_gettime SYS_clock_gettime, clock_nanosleep SYS_clock_nanosleep,
    close SYS_close, connect SYS_connect, epoll_ctl SYS_epoll_ctl, epoll_pwait SYS_epoll_pwait,
    epoll_wait SYS_epoll_wait, execve SYS_execve, fcntl SYS_fcntl, fork SYS_fork, fstat SYS_fstat,
    futex SYS_futex, getdents64 SYS_getdents64, getpid SYS_getpid, getrandom SYS_getrandom,
    io_uring_enter SYS_io_uring_enter, ioctl SYS_ioctl, listen SYS_listen, lseek SYS_lseek,
    madvise SYS_madvise, mmap SYS_mmap, mprotect SYS_mprotect, munmap SYS_munmap,
    nanosleep SYS_nanosleep, newfstatat SYS_newfstatat, open SYS_open, openat SYS_openat,
    pause SYS_pause, poll SYS_poll, ppoll SYS_ppoll, pread64 SYS_pread64, pselect6 SYS_pselect6,
    pwrite64 SYS_pwrite64, read SYS_read, readv SYS_readv, recvfrom SYS_recvfrom,
    recvmmsg SYS_recvmmsg, recvmsg SYS_recvmsg, rt_sigaction SYS_rt_sigaction,
    rt_sigprocmask SYS_rt_sigprocmask, rt_sigtimedwait SYS_rt_sigtimedwait,
    sched_yield SYS_sched_yield, select SYS_select, sendfile SYS_sendfile, sendmsg SYS_sendmsg,
    sendto SYS_sendto, setsockopt SYS_setsockopt, socket SYS_socket, stat SYS_stat,
    wait4 SYS_wait4, waitid SYS_waitid, write SYS_write, writev SYS_writev,
}

#[cfg(test)]
mod tests {
    use super::*;
    use corehop_ring::Settings;

    fn said(marker: &RequestMarker, connections: u64, calls: &[i64]) -> String {
        let (memory, _file) = Memory::create(&Settings::default()).unwrap();
        memory.set_marker(marker);
        for _ in 0..connections {
            memory.next_connection();
        }
        calls.iter().for_each(|&number| memory.count_call(number));
        Waiting::of(&memory).unwrap().to_string()
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
    fn nothing_is_told_once_a_request_has_begun_or_while_none_is_to() {
        let (memory, _file) = Memory::create(&Settings::default()).unwrap();
        memory.set_paused(true);
        assert!(Waiting::of(&memory).is_none());
        memory.set_paused(false);
        assert!(Waiting::of(&memory).is_some());
        memory.count_mark();
        assert!(Waiting::of(&memory).is_none());
    }
}
