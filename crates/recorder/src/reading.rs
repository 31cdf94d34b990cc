//! How far a recording has come and what it costs, at one moment.
//!
//! The observer is told of it, and `corehop control` gets it as JSON.

use serde::{Deserialize, Serialize};

/// What was read at one moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reading {
    /// `recording`, `paused`, or `waiting` for the first request.
    pub state: String,
    /// Since the server was started.
    pub seconds: f64,
    /// Requests that the server has begun, recorded or not.
    pub requests_seen: u64,
    /// Requests of which recording has begun.
    pub requests_begun: u64,
    /// Recorded requests that have ended.
    pub requests_ended: u64,
    /// Recorded requests that the recorder has taken in: it may be behind the server.
    pub requests_written: u64,
    /// How many are to be recorded, where that is limited.
    pub requests_asked: Option<u64>,
    /// Loads and stores.
    pub data_accesses: u64,
    /// Size of the trace so far.
    pub trace_bytes: u64,
    /// Free space where the trace is.
    pub disk_free_bytes: u64,
    /// Resident memory.
    pub server_bytes: u64,
    /// Resident memory, that shared with the server included.
    pub recorder_bytes: u64,
    /// Processor time that the server takes for a request while it is instrumented; none before
    /// enough have been served.
    pub instrumented_request_seconds: Option<f64>,
    /// The same for a request while it is not.
    pub bare_request_seconds: Option<f64>,
    /// The ratio of the two: what recording costs over QEMU alone.
    pub slowdown: Option<f64>,
    /// Time that the server's threads have waited for the recorder, added up.
    pub waited_seconds: f64,
}
