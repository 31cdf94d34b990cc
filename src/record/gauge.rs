//! The progress of a recording and its cost, for those who watch it.
//!
//! The gauge reads what is kept anyway: the counters that server and recorder share, the size of
//! the file, and the process accounting of both. Two things slow a server down: its
//! instrumentation, which `cost` measures where some requests have none, and the time for which its
//! threads wait when the recorder falls behind.

use super::accounting;
use super::cost::{Costs, Moment};
use super::transcript::Progress;
use corehop_ring::{Memory, Requests};
use corehop_traces::partial_path;
use indicatif::HumanBytes;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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

impl Reading {
    /// One line, for a terminal.
    pub fn line(&self) -> String {
        let server = HumanBytes(self.server_bytes);
        if self.requests_seen == 0 {
            return format!("waiting for the first request, server {server}");
        }
        let of = self.requests_asked.map(|asked| format!(" of {asked}"));
        format!(
            "{}: {}{} requests ({} seen), {} loads and stores, {} written{}, held up {:.1} s by \
             the recorder, server {server}",
            self.state,
            self.requests_begun,
            of.unwrap_or_default(),
            self.requests_seen,
            super::progress::millions(self.data_accesses),
            HumanBytes(self.trace_bytes),
            self.cost(),
            self.waited_seconds,
        )
    }

    /// What a request takes, as far as that is known.
    fn cost(&self) -> String {
        let Some(seconds) = self.instrumented_request_seconds else {
            return String::new();
        };
        let cost = format!(", {:.2} ms of CPU a request", seconds * 1e3);
        match self.slowdown {
            Some(slowdown) => format!("{cost}, {slowdown:.1} times what one takes unrecorded"),
            None => cost,
        }
    }

    /// What the whole recording will cost, judged by what it has cost since `first`.
    pub fn preview(&self, first: &Reading) -> Option<String> {
        let seconds = self.seconds - first.seconds;
        let ended = (self.requests_ended - first.requests_ended) as f64;
        let seen = (self.requests_seen - first.requests_seen) as f64;
        let bytes = self.trace_bytes.saturating_sub(first.trace_bytes) as f64;
        if seconds <= 0.0 || ended == 0.0 {
            return None;
        }
        let free = HumanBytes(self.disk_free_bytes);
        let so_far = format!(
            "{:.0} requests recorded in {seconds:.0} s, {} each",
            ended,
            HumanBytes((bytes / ended).round() as u64)
        );
        Some(match self.requests_asked {
            Some(asked) => {
                let times = asked as f64 / ended;
                let took = Duration::from_secs_f64((seconds * times).min(1e9));
                let size = HumanBytes((bytes * times) as u64);
                format!(
                    "{so_far}: all {asked} will take about {} and {size} ({free} are free)",
                    indicatif::HumanDuration(took)
                )
            }
            None => {
                let hourly = HumanBytes((bytes / seconds * 3600.0) as u64);
                let rate = seen / seconds;
                format!("{so_far}, {rate:.1} a second: about {hourly} an hour ({free} are free)")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(seconds: f64, requests: u64, trace_bytes: u64) -> Reading {
        Reading {
            state: "recording".into(),
            seconds,
            requests_seen: requests,
            requests_begun: requests,
            requests_ended: requests,
            requests_asked: Some(1000),
            data_accesses: 0,
            trace_bytes,
            disk_free_bytes: 5 << 30,
            server_bytes: 0,
            recorder_bytes: 0,
            instrumented_request_seconds: None,
            bare_request_seconds: None,
            slowdown: None,
            waited_seconds: 0.0,
        }
    }

    #[test]
    fn a_preview_goes_by_what_the_first_seconds_cost() {
        let first = reading(10.0, 0, 1 << 20);
        let now = reading(13.0, 50, 2 << 20);
        assert_eq!(
            now.preview(&first).unwrap(),
            "50 requests recorded in 3 s, 20.48 KiB each: all 1000 will take about 60 seconds and \
             20.00 MiB (5.00 GiB are free)"
        );
        let endless = Reading {
            requests_asked: None,
            ..now
        };
        assert_eq!(
            endless.preview(&first).unwrap(),
            "50 requests recorded in 3 s, 20.48 KiB each, 16.7 a second: about 1.17 GiB an hour \
             (5.00 GiB are free)"
        );
        let small = reading(13.0, 50, (1 << 20) + 15_040);
        let said = small.preview(&first).unwrap();
        assert!(
            said.starts_with("50 requests recorded in 3 s, 301 B each: "),
            "{said}"
        );
        assert!(first.preview(&first).is_none());
    }

    #[test]
    fn a_line_says_what_a_request_takes_and_the_slowdown_where_it_is_known() {
        let mut now = reading(13.0, 50, 2 << 20);
        let rest = "held up 0.0 s by the recorder, server 0 B";
        let begin = "recording: 50 of 1000 requests (50 seen), 0.0 M loads and stores, 2.00 MiB \
                     written";
        assert_eq!(now.line(), format!("{begin}, {rest}"));
        now.instrumented_request_seconds = Some(0.012_345);
        let cost = "12.35 ms of CPU a request";
        assert_eq!(now.line(), format!("{begin}, {cost}, {rest}"));
        now.slowdown = Some(3.06);
        let slowdown = "3.1 times what one takes unrecorded";
        assert_eq!(now.line(), format!("{begin}, {cost}, {slowdown}, {rest}"));
    }
}
