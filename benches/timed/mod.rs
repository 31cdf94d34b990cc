//! Runs `corehop replay --timed` and parses its JSON. Only this file knows its format.

use crate::Outcome;
use corehop_simulator::Machine;
use corehop_traces::{ThreadId, Trace};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The default core model of a replay.
pub const IN_ORDER: &str = "in-order";
/// The model that is closest to a real core (`make bench-core-model`).
pub const WINDOW: &str = "window";
/// What predictions are of: this core model, with TLBs, predictors, and pages at random places.
pub const PREDICTING: &str = "window, TLBs, next-line-mid, TAGE, pages at random";
/// The nearest to the prefetchers of real L2s.
const PREFETCHER: &str = "next-line-mid";
const BRANCH_PREDICTOR: &str = "tage";
/// Seeds of the placements of pages.
const PLACEMENTS: [u64; 3] = [1, 2, 3];

/// A replay to run.
pub struct Question<'a> {
    pub trace: &'a Path,
    pub machine: &'a str,
    /// Core model, as on the command line.
    pub core_model: &'a str,
    /// Whether addresses are translated, if the machine has TLBs, lines are prefetched, branches
    /// are predicted, and pages are placed at random, in several ways.
    pub is_detailed: bool,
    pub cores: u32,
    pub plan: &'a Path,
    pub connections: &'a [u32],
    /// Whether missing connections repeat those in the trace.
    pub is_repeating: bool,
    pub schedulers: &'a [&'a str],
    pub think_cycles: u64,
    /// `None` for the machine's own cost.
    pub hop_cycles: Option<u32>,
}

/// Result of one scheduler with this many connections.
pub struct Timed {
    pub connections: u32,
    pub scheduler: String,
    /// Placement of pages.
    pub placement: u64,
    /// Cost of a hop.
    pub hop_cycles: u32,
    pub think_cycles: u64,
    pub core_model: String,
    /// Requests served per million cycles.
    pub throughput: f64,
    /// Per request.
    pub l2_misses: f64,
    /// Per request.
    pub hops: f64,
    /// Sum over all cores, per request.
    pub busy_cycles: f64,
    /// Share of the busiest core.
    pub busiest: f64,
}

impl Timed {
    /// Renders JSON, for transactions of this many requests.
    pub fn json(&self, statements: f64) -> Value {
        json!({
            "connections": self.connections, "scheduler": self.scheduler,
            "hop_cost_cycles": self.hop_cycles, "think_cycles": self.think_cycles,
            "core_model": self.core_model,
            "transactions_per_mcycle": self.throughput / statements,
            "l2_misses_per_transaction": self.l2_misses * statements,
            "hops_per_transaction": self.hops * statements,
            "share_of_busiest_core": self.busiest,
        })
    }
}

/// Returns the number of connections in a trace: threads that served a complete request.
pub fn connections_of(trace: &Path) -> Outcome<u32> {
    let trace = Trace::open(trace)?;
    let complete = trace.requests().iter().filter(|request| request.complete);
    let threads: BTreeSet<ThreadId> = complete.map(|request| request.thread).collect();
    Ok(threads.len() as u32)
}

/// Replays every scheduler with each number of connections.
pub fn replay(question: &Question) -> Outcome<Vec<Timed>> {
    let mut replay = Command::new(env!("CARGO_BIN_EXE_corehop"));
    replay.args(["replay", "-q", "--timed", "--json"]);
    replay.args(["--machine", question.machine]);
    replay.args(["--core-model", question.core_model]);
    replay.args(["--cores", &question.cores.to_string()]);
    replay.arg("--plan").arg(question.plan);
    let connections = question.connections.iter().map(u32::to_string);
    replay.args(["--connections", &connections.collect::<Vec<_>>().join(",")]);
    replay.args(["--scheduler", &question.schedulers.join(",")]);
    replay.args(["--think-time", &question.think_cycles.to_string()]);
    if question.is_detailed {
        let seeds = PLACEMENTS.map(|seed| seed.to_string());
        replay.args([
            "--random-pages",
            &seeds.join(","),
            "--prefetcher",
            PREFETCHER,
            "--branch-predictor",
            BRANCH_PREDICTOR,
        ]);
        let machine =
            Machine::named_or_path(question.machine).map_err(|error| error.to_string())?;
        replay.args(machine.translation.map(|_| "--tlb"));
    }
    if question.is_repeating {
        replay.arg("--repeat-connections");
    }
    if let Some(hop_cycles) = question.hop_cycles {
        replay.args(["--hop-cost", &hop_cycles.to_string()]);
    }
    let output = replay.arg(question.trace).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("corehop replay --timed: {}", said.trim()).into());
    }
    parse(&output.stdout)
}

/// Parses the command's JSON.
fn parse(said: &[u8]) -> Outcome<Vec<Timed>> {
    let told: Value = serde_json::from_slice(said)?;
    let settings = told["settings"].as_array().ok_or("no settings")?;
    let hop_cycles = told["hop_cost_cycles"].as_u64().ok_or("no cost of a hop")?;
    let think_cycles = told["load"]["think_cycles"]
        .as_u64()
        .ok_or("no think time")?;
    let core_model = told["core_model"].as_str().ok_or("no core model")?;
    let timed = |setting: &Value| {
        let number = |key: &str| {
            let number = setting[key].as_f64();
            number.ok_or_else(|| format!("no {key} in the JSON of replay --timed"))
        };
        let requests = number("requests")?.max(1.0);
        let busy = busy(setting)?;
        let all_busy: f64 = busy.iter().sum();
        Ok(Timed {
            connections: number("connections")? as u32,
            scheduler: name(&setting["scheduler"]),
            placement: setting["random_pages"].as_u64().unwrap_or(0),
            hop_cycles: hop_cycles as u32,
            think_cycles,
            core_model: core_model.to_owned(),
            throughput: number("requests_per_million_cycles")?,
            l2_misses: number("l2_misses")? / requests,
            hops: number("hops")? / requests,
            busy_cycles: all_busy / requests,
            busiest: busy.into_iter().fold(0.0, f64::max) / all_busy.max(1.0),
        })
    };
    settings.iter().map(timed).collect()
}

/// Returns each core's busy cycles.
fn busy(setting: &Value) -> Outcome<Vec<f64>> {
    let cores = setting["per_core"].as_array().ok_or("no cores")?;
    let busy = cores.iter().filter_map(|core| core["busy_cycles"].as_f64());
    Ok(busy.collect())
}

/// Returns a scheduler's name without its number: `split-if-idle` for `split-if-idle=1`.
fn name(scheduler: &Value) -> String {
    let text = scheduler.as_str().unwrap_or("?");
    text.split('=').next().unwrap_or(text).to_owned()
}
