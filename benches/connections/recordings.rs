//! Recordings of mariadbd on one or several connections, and whether their requests are
//! distinguished.
//!
//! A connection has a server thread, and a request records both. Requests are distinguished if as
//! many connections were found as the load has, each on one thread that serves no other of them.
//! The connections of the unrecorded warm-up batch exist before, and their quit commands may
//! arrive late.

use crate::Outcome;
use crate::planning::{self, Wanted};
use crate::published::MACHINE;
use crate::tpcc::Mariadb;
use corehop_traces::{Request, ThreadId, Trace};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Requests per connection.
const REQUESTS: u32 = 100;

/// One recording and its properties.
pub struct Recording {
    /// Connections of the load.
    pub connections: u32,
    pub trace: PathBuf,
    pub requests: usize,
    /// Requests of each connection found, ascending.
    pub requests_of_each: Vec<u64>,
    pub is_told_apart: bool,
    pub accesses: u64,
    pub bytes: u64,
    /// L2 misses per request on one core of the published machine, after half of the requests have
    /// warmed it up.
    pub l2_misses: f64,
    /// Time from the end of the pause until the trace was complete.
    pub seconds: f64,
}

impl Recording {
    /// Renders JSON.
    pub fn json(&self) -> Value {
        json!({
            "connections": self.connections, "requests": self.requests,
            "requests_of_each": self.requests_of_each, "is_told_apart": self.is_told_apart,
            "accesses": self.accesses, "size_bytes": self.bytes,
            "l2_misses_per_request": self.l2_misses, "seconds": self.seconds,
        })
    }
}

/// Records this many connections into this folder; the inner error explains why there is no trace.
pub fn record(
    server: &Mariadb,
    connections: u32,
    folder: &Path,
) -> Outcome<Result<Recording, String>> {
    let trace = folder.join(format!("connections-{connections}.trace"));
    let place = folder.join(format!("recorded-{connections}"));
    let wanted = Wanted {
        requests: u64::from(REQUESTS * connections),
        connections,
    };
    let took = match planning::record(server, &wanted, place, &trace)? {
        Ok(took) => took,
        Err(reason) => return Ok(Err(reason)),
    };
    let told = ask(&["info"], &trace)?;
    let number = |key: &str| {
        let number = told[key].as_u64();
        number.ok_or_else(|| format!("no {key} in info"))
    };
    let opened = Trace::open(&trace)?;
    let found = by_connection(opened.requests());
    Ok(Ok(Recording {
        connections,
        requests: opened.requests().len(),
        is_told_apart: are_told_apart(&found, connections),
        requests_of_each: requests_of_each(&found),
        accesses: number("accesses")?,
        bytes: number("size_bytes")?,
        l2_misses: l2_misses(&trace, opened.requests())?,
        seconds: took.as_secs_f64(),
        trace,
    }))
}

/// Returns the JSON output of a subcommand for the trace.
fn ask(words: &[&str], trace: &Path) -> Outcome<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    let output = command.args(words).arg("--json").arg(trace).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn l2_misses(trace: &Path, requests: &[Request]) -> Outcome<f64> {
    let complete = requests.iter().filter(|request| request.complete).count();
    let warm_up = complete / 2;
    let words = ["replay", "-q", "--machine", MACHINE, "--warm-up"];
    let told = ask(&[&words[..], &[&warm_up.to_string()]].concat(), trace)?;
    let misses = told["counters"]["l2"]["misses"].as_f64();
    let misses = misses.ok_or("no misses of an L2 in replay")?;
    Ok(misses / (complete - warm_up).max(1) as f64)
}

/// By connection: the number of requests, and the threads that served them.
type ByConnection = BTreeMap<u64, (u64, BTreeSet<ThreadId>)>;

/// Returns the load's connections: each sends more than a quit command.
fn by_connection(requests: &[Request]) -> ByConnection {
    let mut found = ByConnection::new();
    for request in requests {
        if let Some(connection) = request.connection {
            let (count, threads) = found.entry(connection).or_default();
            *count += 1;
            threads.insert(request.thread);
        }
    }
    found.retain(|_, (count, _)| *count > 1);
    found
}

fn requests_of_each(found: &ByConnection) -> Vec<u64> {
    let mut counts: Vec<u64> = found.values().map(|(count, _)| *count).collect();
    counts.sort_unstable();
    counts
}

fn are_told_apart(found: &ByConnection, connections: u32) -> bool {
    let threads: BTreeSet<ThreadId> = found
        .values()
        .flat_map(|(_, t)| t.iter().copied())
        .collect();
    found.len() == connections as usize
        && threads.len() == found.len()
        && found.values().all(|(_, threads)| threads.len() == 1)
}
