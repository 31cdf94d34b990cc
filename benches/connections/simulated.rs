//! Replays the recording of many connections with time on the published machine.
//!
//! The plan is the best split of the trace over the four cores that the paper used; teams of two
//! cores each have the best split over two. Connections think as long as the real client, by the
//! machine's base clock. The gain of the split depends on two numbers that the paper does not give:
//! the cost of a hop and the clients' think time. Other values of both are therefore simulated too,
//! and so is a core that overlaps misses.

use crate::client::Client;
use crate::published::{CORES, CYCLES_PER_US, HOP_CYCLES, MACHINE};
use crate::timed::{IN_ORDER, Question, Timed, connections_of, replay};
use crate::{Extent, Outcome};
use corehop_simulator::machine::CARRIED_HOP_CYCLES;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The other simulated core model.
const INTERVAL: &str = "interval";
/// Schedulers with [`CORES`] cores.
const SCHEDULERS: [&str; 4] = ["free", "pinned", "split", "split-if-idle"];
/// Schedulers with [`TEAM`] cores each.
const IN_TEAMS: [&str; 1] = ["teams"];
const TEAM: u32 = 2;
/// Schedulers that are simulated with other hop costs and think times.
const VARIED: [&str; 2] = ["free", "split"];
/// Number of searched requests. Connections begin at different places of the load, so that ten, the
/// usual number, give different plans for each recording.
const SEARCHED: &str = "60";
const FEW_SEARCHED: &str = "3";
/// Other hop costs: those of the carrier backend, and those of the machine's description.
const OTHER_HOPS: [Option<u32>; 2] = [Some(CARRIED_HOP_CYCLES), None];
/// Other think times, as multiples of the time of a request of one connection with `free`.
const LONGER_THINKING: [f64; 2] = [1.0, 3.0];

/// Results of the simulations.
pub struct Simulated {
    /// Every scheduler with each number of connections.
    pub usual: Vec<Timed>,
    pub variations: Vec<Variation>,
    /// Why there are no more connections.
    pub reason: Option<String>,
}

/// `free` and `split` with another hop cost, longer think times, or the other core model.
pub struct Variation {
    /// Name of the difference.
    pub name: String,
    pub found: Vec<Timed>,
}

impl Simulated {
    /// Returns the usual results and all variations.
    pub fn all(&self) -> impl Iterator<Item = &Timed> {
        let others = self.variations.iter().flat_map(|other| &other.found);
        self.usual.iter().chain(others)
    }
}

/// Runs all simulations.
pub fn measure(
    trace: &Path,
    extent: &Extent,
    client: Option<&Client>,
    folder: &Path,
) -> Outcome<Simulated> {
    let there = connections_of(trace)?;
    let wanted = extent.simulated;
    let lacks = || format!("the trace has {there} connections, not {wanted}");
    let reason = (there < wanted).then(lacks);
    let think_us = client.map_or(0.0, |client| client.think_us);
    let think_cycles = (think_us * CYCLES_PER_US) as u64;
    let [whole, half] = [CORES, TEAM].map(|cores| plan(trace, cores, extent.is_whole, folder));
    let (whole, half) = (whole?, half?);
    let connections: Vec<u32> = (1..=there.min(wanted)).collect();
    let question = |plan, schedulers| Question {
        trace,
        machine: MACHINE,
        core_model: IN_ORDER,
        is_detailed: false,
        cores: CORES,
        plan,
        connections: &connections,
        is_repeating: false,
        schedulers,
        think_cycles,
        hop_cycles: Some(HOP_CYCLES),
    };
    eprintln!("simulating {there} connections");
    let mut usual = replay(&question(&whole, &SCHEDULERS))?;
    let answered = usual.first().ok_or("nothing was simulated")?;
    let answering = (1e6 / answered.throughput - think_cycles as f64).max(0.0);
    usual.extend(replay(&question(&half, &IN_TEAMS))?);
    let mut variations = Vec::new();
    for hop_cycles in OTHER_HOPS {
        let found = replay(&Question {
            hop_cycles,
            ..question(&whole, &VARIED)
        })?;
        let cost = found.first().map_or(0, |timed| timed.hop_cycles);
        let name = format!("hop {cost}");
        variations.push(Variation { name, found });
    }
    for share in LONGER_THINKING {
        let think_cycles = (share * answering) as u64;
        let found = replay(&Question {
            think_cycles,
            ..question(&whole, &VARIED)
        })?;
        let name = format!("think {think_cycles}");
        variations.push(Variation { name, found });
    }
    let found = replay(&Question {
        core_model: INTERVAL,
        ..question(&whole, &VARIED)
    })?;
    variations.push(Variation {
        name: INTERVAL.to_owned(),
        found,
    });
    Ok(Simulated {
        usual,
        variations,
        reason,
    })
}

/// Searches for the best split over this many cores.
fn plan(trace: &Path, cores: u32, is_whole: bool, folder: &Path) -> Outcome<PathBuf> {
    let plan = folder.join(format!("split-{cores}.toml"));
    let mut partition = Command::new(env!("CARGO_BIN_EXE_corehop"));
    partition.args(["partition", "-q", "--machine", MACHINE, "--objective", "l2"]);
    partition.args(["--cores", &cores.to_string(), "--resamples", "1"]);
    partition.args([
        "--returns",
        "never",
        "--ignore-verdict",
        "--time-limit",
        "60",
    ]);
    let requests = if is_whole { SEARCHED } else { FEW_SEARCHED };
    partition.args(["--requests", requests]);
    let output = partition.arg("-o").arg(&plan).arg(trace).output()?;
    match plan.exists() {
        true => Ok(plan),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("no split over {cores} cores: {}", said.trim()).into())
        }
    }
}
