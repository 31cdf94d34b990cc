// SPDX-License-Identifier: GPL-2.0-or-later
//! Determines which descriptors are connections, and where requests begin on them, only from system
//! calls.
//!
//! A server accepts a connection, reads a request from it and writes a response. So a request
//! begins where data is read from a connection all of whose earlier requests have had some
//! response. Data read before that belongs to the same request. An event loop for many connections
//! behaves the same, call by call. A datagram socket whose first datagram is received is a server's
//! socket, and each receiving call begins a request: clients share the socket, so one client's
//! second datagram cannot be distinguished from another's first. A datagram socket that sends first
//! is a client's. Threads share descriptors, and a process may fork at any time, so there are no
//! locks: one word per descriptor, and one per unanswered request. Rejected: following poll and
//! epoll, which report that a server may read, not that it has.

use crate::shared::plugin;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

/// Larger descriptors are not followed; Linux allows at most 2^20, by default 1024.
const MOST_DESCRIPTORS: usize = 1 << 16;

/// By descriptor: the number of its connection, from 1; 0 for no connection. With [`DATAGRAMS`]: a
/// datagram socket, which is a connection once it has received a datagram.
static CONNECTIONS: [AtomicU64; MOST_DESCRIPTORS] = [const { AtomicU64::new(0) }; MOST_DESCRIPTORS];

/// Set for a datagram socket that was not used as a client.
const DATAGRAMS: u64 = 1 << 63;

/// Connections with an unanswered request, each at its number modulo the length. If two share an
/// element, a request in several pieces counts as several.
static UNANSWERED: [AtomicU64; MOST_DESCRIPTORS] = [const { AtomicU64::new(0) }; MOST_DESCRIPTORS];

/// A system call: its number and its first arguments.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SystemCall {
    pub(crate) number: i64,
    pub(crate) arguments: [u64; 4],
}

/// Returns the connections that stay open in an executed program: descriptor, number, and whether a
/// request is unanswered.
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
    // SAFETY: fcntl takes numbers here and accesses no memory.
    let flags = unsafe { libc::fcntl(descriptor as i32, libc::F_GETFD) };
    flags >= 0 && flags & libc::FD_CLOEXEC == 0
}

/// Sets the connections that an executed program has inherited.
pub(crate) fn inherit(connections: &[(u64, u64, bool)]) {
    for &(descriptor, number, waits) in connections {
        set(descriptor, number);
        if waits {
            unanswered(number).store(number, Ordering::Relaxed);
        }
    }
}

/// A read from a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionRead {
    /// The connection.
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

/// Returns the entry of a descriptor.
fn standing(descriptor: u64) -> u64 {
    place(descriptor).map_or(0, |place| place.load(Ordering::Relaxed))
}

/// Returns the entry of a new socket.
fn of_socket(domain: u64, kind: u64) -> u64 {
    const KINDS: u64 = 0xf;
    let domains = [libc::AF_INET, libc::AF_INET6, libc::AF_UNIX];
    let is_known = domains.iter().any(|&known| known as u64 == domain);
    match is_known && kind & KINDS == libc::SOCK_DGRAM as u64 {
        true => DATAGRAMS,
        false => 0,
    }
}

/// Marks a datagram socket that has not received any as a client's: it sends to a peer or is bound
/// to one.
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

/// Handles the begin of a call. Responses are noted here, because the next request may be read
/// before the call returns. Closed descriptors are removed here, because another thread may get the
/// same one at once.
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

/// Handles the return of a call; returns what it has read from a connection.
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
        // The descriptor now has a new meaning, whoever closed the connection.
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

/// Whether a receiving call with these flags consumes the data.
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

/// Handles the first received datagram of a socket; returns its connection number. Several threads
/// may receive at the same time.
fn receives(descriptor: u64) -> Option<u64> {
    let number = DATAGRAMS | plugin().memory.next_connection();
    let relaxed = Ordering::Relaxed;
    let _ = place(descriptor)?.compare_exchange(DATAGRAMS, number, relaxed, relaxed);
    connection(descriptor)
}
