//! Sessions: groups of requests of the same client.
//!
//! A session is a connection. If a recording has no connections, a session is a thread, which is
//! correct for thread-per-connection servers. The same rule applies to all requests: if only some
//! requests have a connection, sessions are threads. Otherwise the accesses of one client could
//! count as those of two.

use corehop_traces::{RequestId, Trace};
use std::collections::HashMap;

/// The session of each request.
#[derive(Clone, Debug)]
pub struct Sessions {
    /// Indexed by request of the trace; requests outside the selection have none.
    of_requests: Vec<Option<u32>>,
    count: u32,
    are_connections: bool,
}

impl Sessions {
    /// Determines the sessions of these requests, numbered in order of first occurrence.
    pub fn of(trace: &Trace, requests: &[RequestId]) -> Sessions {
        let all = trace.requests();
        let are_connections = requests
            .iter()
            .all(|request| all[request.index()].connection.is_some());
        let mut numbers: HashMap<u64, u32> = HashMap::new();
        let mut of_requests = vec![None; all.len()];
        for request in requests {
            let of = &all[request.index()];
            let client = match of.connection {
                Some(connection) if are_connections => connection,
                _ => of.thread.0.into(),
            };
            let next = numbers.len() as u32;
            of_requests[request.index()] = Some(*numbers.entry(client).or_insert(next));
        }
        Sessions {
            of_requests,
            count: numbers.len() as u32,
            are_connections,
        }
    }

    /// Returns the session of a request.
    pub fn session(&self, request: RequestId) -> Option<u32> {
        self.of_requests[request.index()]
    }

    /// Returns the number of sessions.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns whether they are connections; otherwise they are threads.
    pub fn are_connections(&self) -> bool {
        self.are_connections
    }

    /// Returns whether session-local and session-global lines can be distinguished: not with one
    /// session.
    pub fn are_told_apart(&self) -> bool {
        self.count > 1
    }
}
