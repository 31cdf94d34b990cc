//! Verdicts of `auto` on a load without any gain and on one with a large gain, twenty times each.
//!
//! A single run means little for a test that may err. So redis is restarted each time, with both
//! walks of its deep pages in one L2 (0.3 of it each) or not (0.7). It is driven until `auto` has
//! had time to decide. Prints the number of each verdict, and one JSON object.

use crate::Outcome;
use crate::here::Here;
use crate::measuring::Effort;
use crate::planning::Planned;
use crate::redis::Redis;
use crate::running::{self, Running, Variant, Verdict, Way};
use crate::server::Server;
use serde_json::json;
use std::time::{Duration, Instant};

const RUNS: usize = 20;
/// Time for several trials.
const DECISION: Duration = Duration::from_secs(8);

/// Runs everything.
pub fn measure(here: &Here, effort: &Effort) -> Outcome<()> {
    println!(
        "{:<8}{:>8}{:>8}{:>10}{:>10}",
        "server", "L2s", "gain", "no gain", "none yet"
    );
    let mut rows = Vec::new();
    for size_of_l2 in [0.3, 0.7] {
        let server = Redis::of(size_of_l2, here.l2_bytes);
        let said = verdicts_of(&server, effort)?;
        let count = |verdict: &str| said.iter().filter(|said| said.said() == verdict).count();
        let [gain, no_gain, none] = ["gain", "no gain", "none yet"].map(count);
        println!(
            "{:<8}{size_of_l2:>8}{gain:>8}{no_gain:>10}{none:>10}",
            server.name()
        );
        rows.push(json!({
            "server": server.name(), "size_of_l2": size_of_l2, "runs": RUNS,
            "gain": gain, "no_gain": no_gain, "none_yet": none,
        }));
    }
    println!("{}", json!({"verdicts": rows}));
    Ok(())
}

fn verdicts_of(server: &Redis, effort: &Effort) -> Outcome<Vec<Verdict>> {
    let folder = running::folder()?;
    let planned = Planned::of(server, effort, folder.path())??;
    let way = Way::Hopping {
        variant: Variant::Auto,
        plan: &planned.plan,
        cpus: &[],
    };
    let mut said = Vec::new();
    for run in 0..RUNS {
        let place = folder.path().join(format!("run-{run}"));
        let mut running = Running::start(server, &way, place)?;
        server.fill(&mut running)?;
        let mut load = server.connect(&mut running, 1)?;
        let deadline = Instant::now() + DECISION;
        while Instant::now() < deadline {
            load.batch()?;
        }
        said.push(running.verdict()?);
        eprintln!("{planned}: {}", said[run]);
    }
    Ok(said)
}
