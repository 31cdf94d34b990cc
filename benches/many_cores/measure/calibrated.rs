//! `corehop calibrate`, as the first part.
//!
//! Its machine file goes to a temporary folder: the measured machine keeps its own.

use super::report;
use super::time::{self, Budget};
use crate::mariadb::installed;
use crate::running::{self, end_with_bench};
use crate::{Outcome, started};
use serde_json::{Value, json};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// With less time for everything, the calibration is a quick one.
const WHOLE_FROM_S: u64 = 300;
const LOOK: Duration = Duration::from_millis(20);

/// Calibrates, until this share of the time is used up.
pub fn measure(budget: &Budget, share: f64, is_brief: bool) -> Outcome<()> {
    if time::is_over() {
        return Ok(());
    }
    eprintln!("calibrating");
    let is_quick = is_brief || budget.seconds() < WHOLE_FROM_S;
    let found = calibrate(is_quick, budget.at(share))?;
    let (json, text) = match found {
        Ok(found) => (json!({"reason": null, "found": found}), text(&found)),
        Err(reason) => {
            let text = format!("calibration: {reason}");
            (json!({"reason": reason, "found": null}), text)
        }
    };
    report::publish("calibration", json, text);
    Ok(())
}

/// Returns the command's JSON, or why there is none.
fn calibrate(is_quick: bool, deadline: Instant) -> Outcome<Result<Value, String>> {
    let folder = running::folder()?;
    let [printed, said] = ["printed", "said"].map(|name| folder.path().join(name));
    let mut command = Command::new(installed::corehop());
    command.args(["calibrate", "--json", "--force", "-o"]);
    command.arg(folder.path().join("host.toml"));
    if is_quick {
        command.arg("--quick");
    }
    command.stdin(Stdio::null()).process_group(0);
    command
        .stdout(File::create(&printed)?)
        .stderr(File::create(&said)?);
    end_with_bench(&mut command);
    let mut child = command.spawn()?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if time::is_over() || Instant::now() > deadline {
            started::terminate(&child);
            child.wait()?;
            let reason = if time::is_over() {
                "interrupted"
            } else {
                "it took too long"
            };
            return Ok(Err(reason.into()));
        }
        std::thread::sleep(LOOK); // waits: between looks
    };
    if !status.success() {
        let said = std::fs::read_to_string(&said)?;
        return Ok(Err(format!("corehop calibrate: {status}: {}", said.trim())));
    }
    Ok(Ok(serde_json::from_slice(&std::fs::read(&printed)?)?))
}

/// Formats the latencies.
fn text(found: &Value) -> String {
    let latencies = ["l1d", "l2", "l3", "memory"].map(|level| (level, &found["latencies"][level]));
    let rows = latencies
        .into_iter()
        .chain([("a line of another core", &found["transfer"])]);
    let mut lines = vec![format!("{:<28}{:>10}{:>10}", "latency of", "cycles", "ns")];
    for (name, figure) in rows {
        let median = |unit: &str| match figure[unit]["median"].as_f64() {
            Some(median) => format!("{median:.1}"),
            None => "-".into(),
        };
        lines.push(format!(
            "{name:<28}{:>10}{:>10}",
            median("cycles"),
            median("ns")
        ));
    }
    let doubts = found["doubts"].as_array().into_iter().flatten();
    let doubts = doubts.filter_map(|doubt| doubt.as_str());
    lines.extend(doubts.map(|doubt| format!("doubt: {doubt}")));
    lines.join("\n")
}
