//! Requests hop statistics from the runtime inside a hooked server while the server runs.
//!
//! Many servers end without exit handlers, so statistics cannot wait until the end. An update of a
//! control file's time requests them (docs/reference/carrier.md). Each process writes its own file,
//! and may run as another user by then.

use super::printed::create;
use crate::Error;
use crate::rounds::median;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

/// Longer than the runtime's interval between checks of its control file, four times a second.
const LOOKS_WITHIN: Duration = Duration::from_millis(300);
/// Updates of the control file without an answer: about ten seconds. Updates count, not time, so
/// that a suspended machine does not look like a silent server.
const MOST_TOUCHES: usize = 34;
const PAUSE: Duration = Duration::from_millis(10);

/// Hops of all processes of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Hops {
    /// The backend that moved threads.
    pub backend: String,
    /// Number of hops.
    pub hops: u64,
    /// Number of failed hops.
    pub failed_hops: u64,
    /// Median time of a hop, in nanoseconds, accurate within a factor of two; 0 if unknown.
    pub hop_ns: f64,
    /// Asynchronous system calls, and those that were made synchronously instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_calls: Option<Posted>,
    /// Number of calls by function.
    #[serde(skip)]
    pub calls: BTreeMap<String, u64>,
}

/// System calls of all processes of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Posted {
    /// Made on another core, in batches, or after a yield.
    pub posted: u64,
    /// Made synchronously by the calling thread.
    pub declined: u64,
}

impl std::ops::AddAssign for Posted {
    fn add_assign(&mut self, other: Posted) {
        self.posted += other.posted;
        self.declined += other.declined;
    }
}

/// Statistics that a process writes.
#[derive(Deserialize)]
struct Told {
    backend: String,
    hops: u64,
    failed_hops: u64,
    hop_ns: u64,
    timed_hops: u64,
    functions: Vec<Function>,
    system_calls: Option<Calls>,
}

#[derive(Deserialize)]
struct Calls {
    calls: Vec<Call>,
}

#[derive(Deserialize)]
struct Call {
    posted: u64,
    declined: u64,
}

#[derive(Deserialize)]
struct Function {
    symbol: String,
    calls: u64,
}

/// The control and statistics files of one server.
pub(crate) struct Orders {
    folder: PathBuf,
}

impl Orders {
    /// Prepares `folder`, which must be the server's own, for a server that is not yet started.
    pub(crate) fn new(folder: &Path) -> Result<Orders, Error> {
        let orders = Orders {
            folder: folder.into(),
        };
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let _ = std::fs::remove_file(entry.path());
        }
        create(&orders.control())?;
        Ok(orders)
    }

    fn control(&self) -> PathBuf {
        self.folder.join("control")
    }

    /// Makes the server write statistics; with `while_it_runs`, also on request.
    pub(crate) fn give<'a>(
        &self,
        command: &'a mut Command,
        while_it_runs: bool,
    ) -> &'a mut Command {
        command.env("COREHOP_STATS", self.folder.join("%p.json"));
        match while_it_runs {
            true => command.env("COREHOP_CONTROL", self.control()),
            false => command.env_remove("COREHOP_CONTROL"),
        }
    }

    /// Requests statistics from the processes of a running server; `None` if none of them answers.
    pub(crate) fn ask(&self, processes: impl Fn() -> Vec<u32>) -> Option<Hops> {
        let asked = SystemTime::now();
        let asked_of = (0..MOST_TOUCHES).find_map(|_| self.touch(&processes, asked))?;
        if asked_of.len() > 1 {
            std::thread::sleep(LOOKS_WITHIN);
        }
        self.told()
    }

    /// Updates the control file. Returns the current processes if they answer the request made at
    /// `since`.
    fn touch(&self, processes: impl Fn() -> Vec<u32>, since: SystemTime) -> Option<Vec<u32>> {
        // A server's first look at the file is not a request, so a second update may be necessary.
        let _ = File::options()
            .append(true)
            .open(self.control())
            .and_then(|file| file.set_modified(SystemTime::now()));
        // Do not wait for a process that has ended.
        let processes = processes();
        let again = Instant::now() + LOOKS_WITHIN;
        while !self.is_answered(&processes, since) {
            if Instant::now() >= again {
                return None;
            }
            std::thread::sleep(PAUSE);
        }
        Some(processes)
    }

    /// Whether every process that ever wrote statistics has written since, and there is at least
    /// one. Others may have no hooks.
    fn is_answered(&self, processes: &[u32], since: SystemTime) -> bool {
        let written = processes.iter().filter_map(|process| {
            let file = self.folder.join(format!("{process}.json"));
            file.metadata().ok()?.modified().ok()
        });
        written.min().is_some_and(|oldest| oldest >= since)
    }

    /// Returns the sum of the latest statistics of all processes.
    pub(crate) fn told(&self) -> Option<Hops> {
        let files = std::fs::read_dir(&self.folder).ok()?.flatten();
        let files = files.filter(|file| file.path().extension().is_some_and(|e| e == "json"));
        // Do not follow another user's link or pipe.
        let files = files.filter(|file| file.file_type().is_ok_and(|kind| kind.is_file()));
        let texts = files.filter_map(|file| std::fs::read(file.path()).ok());
        sum(texts.filter_map(|text| serde_json::from_slice(&text).ok()))
    }
}

fn sum(told: impl Iterator<Item = Told>) -> Option<Hops> {
    let mut all = Hops::default();
    let mut most_timed = None;
    for told in told {
        all.hops += told.hops;
        all.failed_hops += told.failed_hops;
        for call in told.system_calls.iter().flat_map(|calls| &calls.calls) {
            *all.system_calls.get_or_insert_default() += Posted {
                posted: call.posted,
                declined: call.declined,
            };
        }
        for function in told.functions {
            *all.calls.entry(function.symbol).or_default() += function.calls;
        }
        if most_timed.is_none_or(|most| told.timed_hops > most) {
            most_timed = Some(told.timed_hops);
            all.backend = told.backend;
            all.hop_ns = told.hop_ns as f64;
        }
    }
    most_timed.map(|_| all)
}

impl Hops {
    /// Combines several servers: the sum of hops and the median cost of one; `None` if none
    /// reported.
    pub fn together(told: &[Hops]) -> Option<Hops> {
        Some(Hops {
            backend: told.first()?.backend.clone(),
            hops: told.iter().map(|hops| hops.hops).sum(),
            failed_hops: told.iter().map(|hops| hops.failed_hops).sum(),
            hop_ns: median(told.iter().map(|hops| hops.hop_ns)),
            system_calls: together(told.iter().filter_map(|hops| hops.system_calls)),
            ..Hops::default()
        })
    }

    /// Whether anything was done that the original does not do.
    pub fn is_any(&self) -> bool {
        self.hops > 0 || self.system_calls.is_some_and(|calls| calls.posted > 0)
    }

    /// Subtracts the counts at `before`.
    pub fn since(mut self, before: &Hops) -> Hops {
        self.hops = self.hops.saturating_sub(before.hops);
        self.failed_hops = self.failed_hops.saturating_sub(before.failed_hops);
        if let (Some(calls), Some(before)) = (&mut self.system_calls, before.system_calls) {
            calls.posted = calls.posted.saturating_sub(before.posted);
            calls.declined = calls.declined.saturating_sub(before.declined);
        }
        for (symbol, calls) in &mut self.calls {
            *calls = calls.saturating_sub(before.calls.get(symbol).copied().unwrap_or(0));
        }
        self
    }
}

fn together<T: std::ops::AddAssign>(told: impl Iterator<Item = T>) -> Option<T> {
    told.reduce(|mut sum, more| {
        sum += more;
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(hops: u64, timed_hops: u64, hop_ns: u64) -> Told {
        let text = serde_json::json!({
            "backend": "carrier", "process": 7, "cores": 2, "calls": 9, "hops": hops,
            "failed_hops": 1, "tallies": 1, "hop_ns": hop_ns, "timed_hops": timed_hops,
            "stalls": 0, "carriers": 2,
            "functions": [{"module": "m", "symbol": "f", "offset": 1, "core": 0, "calls": hops}],
        });
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn processes_add_up_and_the_busiest_tells_what_a_hop_takes() {
        let before = sum([told(5, 1, 900)].into_iter()).unwrap();
        let all = sum([told(10, 1, 900), told(40, 8, 300), told(1, 0, 0)].into_iter()).unwrap();
        assert_eq!((all.hops, all.failed_hops, all.hop_ns), (51, 3, 300.0));
        let since = all.since(&before);
        assert_eq!(
            (since.hops, since.failed_hops, since.calls["f"]),
            (46, 2, 46)
        );
        assert_eq!(sum(std::iter::empty()), None);
    }

    #[test]
    fn posted_calls_add_up_too() {
        let of = |posted: u64| {
            let mut told = told(0, 0, 0);
            let calls = serde_json::json!({"by": "batch", "core": null, "calls": [
                {"name": "read", "posted": posted, "declined": 1},
                {"name": "write", "posted": 2, "declined": 0},
            ]});
            told.system_calls = serde_json::from_value(calls).unwrap();
            told
        };
        let before = sum([of(3)].into_iter()).unwrap();
        let all = sum([of(10), of(20), told(0, 0, 0)].into_iter()).unwrap();
        let (posted, declined) = (34, 2);
        assert_eq!(all.system_calls, Some(Posted { posted, declined }));
        let since = all.since(&before).system_calls.unwrap();
        assert_eq!((since.posted, since.declined), (29, 1));
        assert!(!before.clone().since(&before).is_any());
    }
}
