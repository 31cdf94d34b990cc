//! Sessions: what requests are of the same client.
//!
//! A session is a connection. Where a recording did not see connections, a session is a thread,
//! which is right for servers that serve each connection by a thread of its own. One rule holds for
//! all requests: a trace that knows the connections of some of them only has threads for sessions,
//! since otherwise what one client touches would count as touched by two.

use corehop_traces::{RequestId, Trace};
use std::collections::HashMap;

/// The session of each request.
#[derive(Clone, Debug)]
pub struct Sessions {
    /// By request of the trace; those not asked about are of none.
    of_requests: Vec<Option<u32>>,
    count: u32,
    are_connections: bool,
}

impl Sessions {
    /// Those of these requests, numbered as they first come.
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

    /// The session of a request.
    pub fn session(&self, request: RequestId) -> Option<u32> {
        self.of_requests[request.index()]
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether they are connections; threads otherwise.
    pub fn are_connections(&self) -> bool {
        self.are_connections
    }

    /// Whether a line can be told to be of one session or of all: not where there is only one.
    pub fn are_told_apart(&self) -> bool {
        self.count > 1
    }
}
