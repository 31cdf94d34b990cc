//! Records a server under its load, and searches for the best split over two cores, with or without
//! a gain.
//!
//! The timed replay of the same recording predicts the effect of the split.

use crate::Outcome;
use crate::mariadb::installed;
use crate::measuring::Effort;
use crate::prediction::Prediction;
use crate::running::{Running, Variant, Way};
use crate::server::Server;
use corehop_partitioner::expected::Speedup;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Timeout for the load to be recorded and for the recorder to write the trace.
const PATIENCE: Duration = Duration::from_secs(400);
const MEMORY_LIMIT_MIB: &str = "4096";

/// A plan and its prediction.
pub struct Planned {
    pub plan: PathBuf,
    /// Names of the functions that hop, in the order of their cores.
    pub functions: Vec<String>,
    /// Only for a plan from a search.
    prediction: Option<Prediction>,
}

/// What to record.
pub struct Wanted {
    pub requests: u64,
    /// Connections of the load.
    pub connections: u32,
}

impl Planned {
    /// Records and searches. The inner error explains why there is no plan.
    pub fn of(
        server: &dyn Server,
        effort: &Effort,
        folder: &Path,
    ) -> Outcome<Result<Planned, String>> {
        let trace = folder.join("trace");
        let requests = effort.recorded_requests.min(server.recorded_requests());
        let wanted = Wanted {
            requests,
            connections: 1,
        };
        match record(server, &wanted, folder.join("recorded"), &trace)? {
            Err(reason) => Ok(Err(reason)),
            Ok(_) => Planned::search(server, &trace, folder, 0.0),
        }
    }

    /// Searches a trace of the server from any recorder. The last argument is the CPU time of a
    /// request outside the server's own code, if known.
    pub fn search(
        server: &dyn Server,
        trace: &Path,
        folder: &Path,
        outside_us: f64,
    ) -> Outcome<Result<Planned, String>> {
        let plan = folder.join("plan.toml");
        let mut partition = Command::new(installed::corehop());
        partition.args(["partition", "-q", "--cores", "2", "--machine", "host"]);
        partition.args([
            "--objective",
            "l2",
            "--ignore-verdict",
            "--json",
            "--resamples",
            "1",
        ]);
        partition.args(["--returns", "never", "--time-limit", "60", "-o"]);
        partition.arg(&plan);
        let output = partition.arg(trace).output()?;
        if !plan.exists() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Ok(Err(format!("no split was found: {}", said.trim())));
        }
        let told: Value = serde_json::from_slice(&output.stdout)?;
        let name = |function: &Value| function["symbol"].as_str().unwrap_or("?").to_owned();
        let functions = told["plan"].as_array().into_iter().flatten();
        let prediction = Prediction::of(trace, &plan, server.connections(), outside_us)?;
        Ok(Ok(Planned {
            prediction: Some(prediction),
            plan,
            functions: functions.map(name).collect(),
        }))
    }

    /// Wraps a plan that is not from a search and has no prediction.
    pub fn by_hand(plan: PathBuf, functions: Vec<String>) -> Planned {
        Planned {
            plan,
            functions,
            prediction: None,
        }
    }

    /// Returns the original's time divided by the variant's, as predicted by the timed replay.
    pub fn predicted(&self, variant: Variant, connections: u32) -> Option<Speedup> {
        self.prediction.as_ref()?.ratio(variant, connections)
    }
}

impl std::fmt::Display for Planned {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "hops at {}", self.functions.join(" and "))
    }
}

/// Drives the server under the recorder until enough requests are recorded. Recording begins after
/// the server is filled, which may take requests too, and after a batch of its load. Returns the
/// time since then. The inner error explains why there is no trace.
pub fn record(
    server: &dyn Server,
    wanted: &Wanted,
    folder: PathBuf,
    trace: &Path,
) -> Outcome<Result<Duration, String>> {
    let way = Way::Recorded {
        trace,
        request_at: server.request_at(),
        requests: wanted.requests,
        memory_limit_mib: MEMORY_LIMIT_MIB,
    };
    let mut running = Running::start(server, &way, folder)?;
    let driven = drive(server, wanted, trace, &mut running);
    // The recorder ends the server in the middle of an answer, which is not a failure.
    let status = running.end()?;
    match (driven, trace.exists()) {
        (Err(error), _) => Ok(Err(format!("not recorded: {error}"))),
        (Ok(took), true) => Ok(Ok(took)),
        (Ok(_), false) => {
            let said = running.last_words();
            Ok(Err(format!("no trace was written ({status}): {said}")))
        }
    }
}

fn drive(
    server: &dyn Server,
    wanted: &Wanted,
    trace: &Path,
    running: &mut Running,
) -> Outcome<Duration> {
    server.fill(running)?;
    let mut load = server.connect(running, wanted.connections)?;
    load.batch()?;
    start_recording(trace)?;
    let begun = Instant::now();
    let deadline = begun + PATIENCE;
    while Instant::now() < deadline {
        if let Err(error) = load.batch() {
            // The recorder ends the server; writing the trace takes some time.
            running.wait_to_end(deadline).map_err(|_| error)?;
            return Ok(begun.elapsed());
        }
    }
    Err("the requests to record did not come".into())
}

/// Ends the pause of a recording.
fn start_recording(trace: &Path) -> Outcome<()> {
    let mut control = Command::new(installed::corehop());
    let output = control.args(["control", "start"]).arg(trace).output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into()),
    }
}
