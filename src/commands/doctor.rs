//! `corehop doctor`: checks what this machine supports, and prints the remedy for what it lacks.
//!
//! Where possible, each check is a real attempt, not a comparison of versions: QEMU loads the
//! plugin, a counter is opened, code runs from memory. A check that fails names the commands that
//! need it. A requirement is `missing` only if a command cannot work without it. If there is
//! another way, it is `warn`.

mod finding;
mod processor;
mod program;
mod recording;
mod system;

use crate::failure::{Exit, Failure};
use crate::terminal::console;
use crate::terminal::line::{Lines, line};
use clap::Args;
use finding::{Finding, State};
use serde_json::json;
use std::ffi::OsString;

/// Check what this machine supports, and print a remedy for what it lacks
#[derive(Args)]
#[command(after_help = "\
Example: corehop doctor
         corehop doctor --json
         corehop doctor mariadbd

Exit code 6 if something is missing that a command cannot work without, 0 if there are at most
warnings.")]
pub struct Arguments {
    /// Also check whether the backend `carrier` may refuse this program, found in PATH
    program: Option<OsString>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut findings = recording::look();
    findings.extend(processor::look());
    findings.extend(system::look());
    if let Some(program) = &arguments.program {
        findings.extend(program::look(program)?);
    }
    let is_missing = |finding: &&Finding| finding.state == State::Missing;
    let missing: Vec<&str> = findings.iter().filter(is_missing).map(|f| f.name).collect();
    match arguments.json {
        true => {
            let object = json!({"ok": missing.is_empty(), "checks": findings});
            console::print(&Lines::of_json(&object))?;
        }
        false => console::print(&render(&findings))?,
    }
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!("missing on this machine: {}", missing.join(", "));
    Err(Failure::new(Exit::Missing, message).remedy("the list above has a remedy for each"))
}

fn render(findings: &[Finding]) -> Lines {
    let mut text = Lines::new();
    for finding in findings {
        let state = match finding.state {
            State::Ok => "ok",
            State::Warn => "warn",
            State::Missing => "missing",
        };
        let Finding {
            name,
            found,
            serves,
            ..
        } = finding;
        line!(text, "{state:<9}{name:<16}{found} [{serves}]");
        if let Some(remedy) = &finding.remedy {
            line!(text, "{:25}remedy: {remedy}", "");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::finding::Check;
    use super::*;

    #[test]
    fn a_line_says_state_name_finding_use_and_remedy() {
        let check = Check {
            name: "memory",
            serves: "record",
        };
        let findings = [check.ok("8 GiB"), check.warn("1 GiB", "add some")];
        let expected = "\
ok       memory          8 GiB [record]
warn     memory          1 GiB [record]
                         remedy: add some
";
        assert_eq!(render(&findings).as_str(), expected);
        let json = serde_json::to_value(&findings[1]).unwrap();
        let expected = json!({
            "name": "memory", "state": "warn", "found": "1 GiB", "serves": "record",
            "remedy": "add some",
        });
        assert_eq!(json, expected);
    }
}
