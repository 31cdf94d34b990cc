// SPDX-License-Identifier: GPL-2.0-or-later
//! Which descriptors are connections, and where a request begins on one, from system calls alone.
//!
//! A server accepts a connection, reads a request from it and writes an answer. So a request begins
//! where data is read from a connection all of whose earlier requests have had some answer; what is
//! read before that is more of the same request. An event loop that waits for many connections does
//! the same, call by call. A socket for datagrams whose first one is received is a server's, and
//! each call that receives from it begins a request: clients share it, and nothing tells one's
//! second datagram from another's first. One that sends first asks others. Threads share
//! descriptors, and a process may be forked off at any time, so there are no locks: a word for each
//! descriptor, and one for each request without an answer. Rejected: to follow what is waited for
//! (poll, epoll), which says when a server may read, not that it has.

use crate::shared::plugin;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

/// Descriptors beyond are not followed; Linux allows no more than 2^20, by default 1024.
const MOST_DESCRIPTORS: usize = 1 << 16;

/// Of each descriptor the number of its connection, from 1; 0 where it is none. With
/// [`DATAGRAMS`], of a socket for datagrams, which is a connection once it has received one.
static CONNECTIONS: [AtomicU64; MOST_DESCRIPTORS] = [const { AtomicU64::new(0) }; MOST_DESCRIPTORS];

/// Set in what stands of a socket for datagrams that has not been used to ask others.
const DATAGRAMS: u64 = 1 << 63;

/// Connections that have sent something that is not answered yet, each at its number modulo the
/// length: one that must share its place counts a request in several pieces as several.
static UNANSWERED: [AtomicU64; MOST_DESCRIPTORS] = [const { AtomicU64::new(0) }; MOST_DESCRIPTORS];

/// A system call: its number and its first arguments.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SystemCall {
    pub(crate) number: i64,
    pub(crate) arguments: [u64; 4],
}

/// The connections that a program which is executed now still has: descriptor, number, and whether
/// something came over it that waits for an answer.
pub(crate) fn inherited() -> Vec<(u64, u64, bool)> {
    let followed = (0..).zip(&CONNECTIONS);
    let found = followed.filter_map(|(descriptor, place)| {
        let number = place.load(Ordering::Relaxed);
        let waits = unanswered(number).load(Ordering::Relaxed) == number;
        (number != 0 && stays_open(descriptor)).then_some((descriptor, number, waits))
    });
    found.collect()
}

fn stays_open(descriptor: u64) -> bool {
    // SAFETY: fcntl takes numbers here and touches no memory.
    let flags = unsafe { libc::fcntl(descriptor as i32, libc::F_GETFD) };
    flags >= 0 && flags & libc::FD_CLOEXEC == 0
}

/// These are the connections of a program that was executed.
pub(crate) fn inherit(connections: &[(u64, u64, bool)]) {
    for &(descriptor, number, waits) in connections {
        set(descriptor, number);
        if waits {
            unanswered(number).store(number, Ordering::Relaxed);
        }
    }
}

/// What a thread has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionRead {
    /// The connection it came over.
    pub(crate) connection: u64,
    /// Whether it begins a request.
    pub(crate) begins: bool,
}

fn place(descriptor: u64) -> Option<&'static AtomicU64> {
    CONNECTIONS.get(usize::try_from(descriptor).ok()?)
}

fn connection(descriptor: u64) -> Option<u64> {
    let number = place(descriptor)?.load(Ordering::Relaxed) & !DATAGRAMS;
    (number != 0).then_some(number)
}

/// What stands of a descriptor.
fn standing(descriptor: u64) -> u64 {
    place(descriptor).map_or(0, |place| place.load(Ordering::Relaxed))
}

/// What is to stand of a new socket.
fn of_socket(domain: u64, kind: u64) -> u64 {
    const KINDS: u64 = 0xf;
    let domains = [libc::AF_INET, libc::AF_INET6, libc::AF_UNIX];
    let is_known = domains.iter().any(|&known| known as u64 == domain);
    match is_known && kind & KINDS == libc::SOCK_DGRAM as u64 {
        true => DATAGRAMS,
        false => 0,
    }
}

/// Something is sent to a peer, or a socket is bound to one: a socket for datagrams that has not
/// received any asks.
fn asks(descriptor: u64) {
    if standing(descriptor) == DATAGRAMS {
        set(descriptor, 0);
    }
}

fn set(descriptor: u64, connection: u64) {
    if let Some(place) = place(descriptor) {
        place.store(connection, Ordering::Relaxed);
    }
}

fn unanswered(connection: u64) -> &'static AtomicU64 {
    &UNANSWERED[connection as usize % MOST_DESCRIPTORS]
}

/// A call begins. Answers are noted here, because the next request may be read before they return,
/// and descriptors are given up here, because another thread may get the same one at once.
pub(crate) fn begins(call: &SystemCall) {
    let [first, second, third, _] = call.arguments;
    match call.number {
        libc::SYS_close => set(first, 0),
        libc::SYS_close_range => close_all(first..=second),
        libc::SYS_write | libc::SYS_writev => answer(first),
        libc::SYS_sendto | libc::SYS_sendmsg | libc::SYS_sendmmsg => answer(first),
        libc::SYS_sendfile => answer(first),
        libc::SYS_splice => answer(third),
        libc::SYS_connect => asks(first),
        _ => {}
    }
}

fn close_all(descriptors: RangeInclusive<u64>) {
    let last = (*descriptors.end()).min(MOST_DESCRIPTORS as u64 - 1);
    (*descriptors.start()..=last).for_each(|descriptor| set(descriptor, 0));
}

fn answer(descriptor: u64) {
    asks(descriptor);
    if let Some(connection) = connection(descriptor) {
        unanswered(connection).store(0, Ordering::Relaxed);
    }
}

/// A call returns; what it has read from a connection.
pub(crate) fn returns(call: &SystemCall, result: i64) -> Option<ConnectionRead> {
    let result = u64::try_from(result).ok()?;
    let [first, second, third, fourth] = call.arguments;
    match call.number {
        libc::SYS_accept | libc::SYS_accept4 => {
            set(result, plugin().memory.next_connection());
            None
        }
        libc::SYS_dup | libc::SYS_dup2 | libc::SYS_dup3 => {
            set(result, standing(first));
            None
        }
        libc::SYS_fcntl if duplicates(second) => {
            set(result, standing(first));
            None
        }
        // A descriptor that means something else now, whoever closed the connection.
        libc::SYS_socket => {
            set(result, of_socket(first, second));
            None
        }
        libc::SYS_openat | libc::SYS_open | libc::SYS_epoll_create1 => {
            set(result, 0);
            None
        }
        libc::SYS_read | libc::SYS_readv if result > 0 => read(first),
        libc::SYS_recvfrom if result > 0 && takes(fourth) => read(first),
        libc::SYS_recvmsg if result > 0 && takes(third) => read(first),
        libc::SYS_recvmmsg if result > 0 && takes(fourth) => read(first),
        _ => None,
    }
}

fn duplicates(command: u64) -> bool {
    let commands = [libc::F_DUPFD, libc::F_DUPFD_CLOEXEC];
    commands.iter().any(|&known| known as u64 == command)
}

/// Whether a receiving call with these flags takes what it reads.
fn takes(flags: u64) -> bool {
    flags & libc::MSG_PEEK as u64 == 0
}

fn read(descriptor: u64) -> Option<ConnectionRead> {
    if standing(descriptor) & DATAGRAMS != 0 {
        let connection = connection(descriptor).or_else(|| receives(descriptor))?;
        let begins = true;
        return Some(ConnectionRead { connection, begins });
    }
    let connection = connection(descriptor)?;
    let before = unanswered(connection).swap(connection, Ordering::Relaxed);
    Some(ConnectionRead {
        connection,
        begins: before != connection,
    })
}

/// A socket for datagrams receives its first; the number that it has from now on. Several threads
/// may receive at once.
fn receives(descriptor: u64) -> Option<u64> {
    let number = DATAGRAMS | plugin().memory.next_connection();
    let relaxed = Ordering::Relaxed;
    let _ = place(descriptor)?.compare_exchange(DATAGRAMS, number, relaxed, relaxed);
    connection(descriptor)
}
