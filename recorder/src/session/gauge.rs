//! The progress of a recording and its cost, for those who watch it.
//!
//! The gauge reads what is kept anyway: the counters that server and recorder share, the size of
//! the file, and the process accounting of both. Two things slow a server down: its
//! instrumentation, which `cost` measures where some requests have none, and the time for which its
//! threads wait when the recorder falls behind.

use super::accounting;
use super::cost::{Costs, Moment};
use crate::transcript::Progress;
use corehop_ring::{Memory, Requests};
use corehop_traces::partial_path;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Where a recording is watched.
pub struct Gauge {
    started: Instant,
    partial: PathBuf,
    server: u32,
    /// Requests to record, where that is limited.
    asked: Option<u64>,
    costs: Costs,
    /// Loads and stores when it was read last.
    data_accesses: u64,
}

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

impl Gauge {
    /// Watches the recording of `server` to `output`.
    pub fn new(output: &Path, server: u32, asked: Option<u64>) -> Gauge {
        Gauge {
            started: Instant::now(),
            partial: partial_path(output),
            server,
            asked,
            costs: Costs::default(),
            data_accesses: 0,
        }
    }

    /// Reads everything once.
    pub fn read(&mut self, memory: &Memory, progress: &Progress) -> Reading {
        let Requests {
            seen,
            chosen,
            ended,
        } = memory.requests();
        let state = match (memory.is_paused(), seen) {
            (true, _) => "paused",
            (false, 0) => "waiting",
            (false, _) => "recording",
        };
        let taken = accounting::of(self.server);
        let elapsed = self.started.elapsed();
        self.costs.add(Moment {
            at: elapsed,
            cpu: taken.cpu,
            requests: seen,
            instrumented: chosen > ended
                || memory.is_next_near()
                || progress.data_accesses > self.data_accesses,
        });
        self.data_accesses = progress.data_accesses;
        let (instrumented, bare) = (self.costs.instrumented_seconds(), self.costs.bare_seconds());
        let disk = rustix::fs::statvfs(corehop_outputs::folder_of(&self.partial));
        Reading {
            state: state.into(),
            seconds: elapsed.as_secs_f64(),
            requests_seen: seen,
            requests_begun: chosen,
            requests_ended: ended,
            requests_asked: self.asked,
            data_accesses: progress.data_accesses,
            trace_bytes: std::fs::metadata(&self.partial).map_or(0, |file| file.len()),
            disk_free_bytes: disk.map_or(0, |disk| disk.f_bavail * disk.f_frsize),
            server_bytes: taken.resident_bytes,
            recorder_bytes: accounting::resident_bytes(std::process::id()),
            instrumented_request_seconds: instrumented,
            bare_request_seconds: bare,
            slowdown: instrumented.zip(bare).map(|(one, other)| one / other),
            waited_seconds: memory.waited().as_secs_f64(),
        }
    }
}
