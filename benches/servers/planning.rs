//! A server recorded under its load, and the best split of it over two cores, gain or not.
//!
//! What may be expected of the split is what the timed replay of the same recording says.

use crate::Outcome;
use crate::foretold::Foretold;
use crate::measuring::Effort;
use crate::running::{Running, Variant, Way};
use crate::server::Server;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// For the load to be recorded, and for the recorder to write what it has.
const PATIENCE: Duration = Duration::from_secs(400);
const MEMORY_LIMIT_MIB: &str = "4096";

/// A plan, and what is expected of it.
pub struct Planned {
    pub plan: PathBuf,
    /// Names of the functions that hop, in the order of their cores.
    functions: Vec<String>,
    /// Only of a plan that a search found.
    foretold: Option<Foretold>,
}

/// What is to be recorded.
pub struct Wanted {
    pub requests: u64,
    /// Of the load.
    pub connections: u32,
    /// Whether a batch of the load comes before, unrecorded.
    pub is_warm: bool,
}

impl Planned {
    /// Records and searches. The inner error says why there is no plan.
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
            is_warm: false,
        };
        match record(server, &wanted, folder.join("recorded"), &trace)? {
            Err(reason) => Ok(Err(reason)),
            Ok(_) => Planned::search(server, &trace, folder, 0.0),
        }
    }

    /// Searches a trace of the server, whoever recorded it. A request takes so much of the CPUs
    /// outside the server's own code, as far as that is known.
    pub fn search(
        server: &dyn Server,
        trace: &Path,
        folder: &Path,
        outside_us: f64,
    ) -> Outcome<Result<Planned, String>> {
        let plan = folder.join("plan.toml");
        let mut partition = Command::new(env!("CARGO_BIN_EXE_corehop"));
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
        let foretold = Foretold::of(trace, &plan, server.connections(), outside_us)?;
        Ok(Ok(Planned {
            foretold: Some(foretold),
            plan,
            functions: functions.map(name).collect(),
        }))
    }

    /// A plan that no search found, of which nothing is expected.
    pub fn by_hand(plan: PathBuf, functions: Vec<String>) -> Planned {
        Planned {
            plan,
            functions,
            foretold: None,
        }
    }

    /// The original's time by the variant's, as the timed replay has them.
    pub fn predicted(&self, variant: Variant, connections: u32) -> Option<f64> {
        self.foretold.as_ref()?.ratio(variant, connections)
    }
}

impl std::fmt::Display for Planned {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "hops at {}", self.functions.join(" and "))
    }
}

/// Drives the server under the recorder until enough requests are recorded; how long that took,
/// from the first that could be. The inner error says why there is no trace.
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
        is_paused: wanted.is_warm,
        memory_limit_mib: MEMORY_LIMIT_MIB,
    };
    let mut running = Running::start(server, &way, folder)?;
    let driven = drive(server, wanted, trace, &mut running);
    // The recorder ends the server in the middle of an answer, which is no failure.
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
    if wanted.is_warm {
        load.batch()?;
        start_recording(trace)?;
    }
    let begun = Instant::now();
    let deadline = begun + PATIENCE;
    while Instant::now() < deadline {
        if let Err(error) = load.batch() {
            // It is the recorder that ends the server; it takes some time to write the trace.
            running.wait_to_end(deadline).map_err(|_| error)?;
            return Ok(begun.elapsed());
        }
    }
    Err("the requests to record did not come".into())
}

/// Ends the pause of a recording.
fn start_recording(trace: &Path) -> Outcome<()> {
    let mut control = Command::new(env!("CARGO_BIN_EXE_corehop"));
    let output = control.args(["control", "start"]).arg(trace).output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into()),
    }
}
