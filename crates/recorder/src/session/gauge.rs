//! Progress and cost of a recording, for its observers.
//!
//! The gauge reads existing data: the counters shared by server and recorder, the file size, and
//! the process accounting of both. Two things slow a server down: its instrumentation, which `cost`
//! measures if some requests are not recorded, and the waiting of its threads when the recorder
//! lags behind.

use super::accounting;
use super::cost::{Costs, Moment};
use crate::reading::Reading;
use crate::transcript::Progress;
use corehop_traces::partial_path;
use corehop_wire::ring::{Memory, Requests};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// State of the gauge.
pub struct Gauge {
    started: Instant,
    partial: PathBuf,
    /// Number of requests to record, if limited.
    asked: Option<u64>,
    costs: Costs,
    /// Loads and stores at the last reading.
    data_accesses: u64,
}

impl Gauge {
    /// Returns a gauge for the recording to `output`.
    pub fn new(output: &Path, asked: Option<u64>) -> Gauge {
        Gauge {
            started: Instant::now(),
            partial: partial_path(output),
            asked,
            costs: Costs::default(),
            data_accesses: 0,
        }
    }

    /// Reads all values, for a server with these processes and their descendants.
    pub fn read(&mut self, memory: &Memory, server: &[u32], progress: &Progress) -> Reading {
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
        let taken = accounting::of(server);
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
        let disk = rustix::fs::statvfs(corehop_support::atomic_file::folder_of(&self.partial));
        Reading {
            state: state.into(),
            seconds: elapsed.as_secs_f64(),
            requests_seen: seen,
            requests_begun: chosen,
            requests_ended: ended,
            requests_written: progress.requests,
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
