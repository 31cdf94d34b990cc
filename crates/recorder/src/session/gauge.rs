//! The progress of a recording and its cost, for those who watch it.
//!
//! The gauge reads what is kept anyway: the counters that server and recorder share, the size of
//! the file, and the process accounting of both. Two things slow a server down: its
//! instrumentation, which `cost` measures where some requests have none, and the time for which its
//! threads wait when the recorder falls behind.

use super::accounting;
use super::cost::{Costs, Moment};
use crate::reading::Reading;
use crate::transcript::Progress;
use corehop_traces::partial_path;
use corehop_wire::ring::{Memory, Requests};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Where a recording is watched.
pub struct Gauge {
    started: Instant,
    partial: PathBuf,
    /// Requests to record, where that is limited.
    asked: Option<u64>,
    costs: Costs,
    /// Loads and stores when it was read last.
    data_accesses: u64,
}

impl Gauge {
    /// Watches the recording to `output`.
    pub fn new(output: &Path, asked: Option<u64>) -> Gauge {
        Gauge {
            started: Instant::now(),
            partial: partial_path(output),
            asked,
            costs: Costs::default(),
            data_accesses: 0,
        }
    }

    /// Reads everything once, of a server of these processes and what they have started.
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
