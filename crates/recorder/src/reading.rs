//! Progress and cost of a recording at one moment.
//!
//! The observer receives it, and `corehop control` gets it as JSON.

use serde::{Deserialize, Serialize};

/// The values at one moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reading {
    /// `recording`, `paused`, or `waiting` for the first request.
    pub state: String,
    /// Seconds since the server was started.
    pub seconds: f64,
    /// Number of requests that the server has begun, recorded or not.
    pub requests_seen: u64,
    /// Number of requests whose recording has begun.
    pub requests_begun: u64,
    /// Number of recorded requests that have ended.
    pub requests_ended: u64,
    /// Number of recorded requests that the recorder has processed: it may lag behind the server.
    pub requests_written: u64,
    /// Number of requests to record, if limited.
    pub requests_asked: Option<u64>,
    /// Number of loads and stores.
    pub data_accesses: u64,
    /// Size of the trace so far.
    pub trace_bytes: u64,
    /// Free space of the trace's file system.
    pub disk_free_bytes: u64,
    /// Resident memory of the server.
    pub server_bytes: u64,
    /// Resident memory of the recorder, including memory shared with the server.
    pub recorder_bytes: u64,
    /// Processor time of the server per request with instrumentation; `None` until enough requests
    /// have been served.
    pub instrumented_request_seconds: Option<f64>,
    /// The same without instrumentation.
    pub bare_request_seconds: Option<f64>,
    /// The ratio of the two: the overhead of recording over QEMU alone.
    pub slowdown: Option<f64>,
    /// Total time for which the server's threads have waited for the recorder.
    pub waited_seconds: f64,
}
