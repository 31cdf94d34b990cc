//! `corehop doctor`: what this machine can and cannot do, and how to mend it.
//!
//! Each check is a real try where one is possible (QEMU loads the plugin, a counter is opened, code
//! runs from memory), not a look at versions. A check that fails says which command feels it. Only
//! what leaves a command with no way to work is `missing`; where there is another way it is `warn`.

mod processor;
mod recording;
mod system;

use crate::console;
use crate::failure::{Exit, Failure};
use crate::line::{Lines, line};
use clap::Args;
use serde::Serialize;
use serde_json::json;

/// Say what this machine can and cannot do, and how to mend it
#[derive(Args)]
#[command(after_help = "\
Example: corehop doctor
         corehop doctor --json

Exit code 6 when something is missing without which a command cannot work; 0 with warnings alone.")]
pub struct Arguments {
    /// Print one JSON object instead
    #[arg(long)]
    json: bool,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    /// All there.
    Ok,
    /// Something works less well, or in another way.
    Warn,
    /// A command cannot work.
    Missing,
}

/// What one check found.
#[derive(Debug, Serialize)]
struct Finding {
    name: &'static str,
    state: State,
    /// What there is, and where it falls short what that means.
    found: String,
    /// The command or backend that needs it.
    serves: &'static str,
    remedy: Option<String>,
}

/// What is looked at, before it is known how it is.
#[derive(Clone, Copy)]
struct Check {
    name: &'static str,
    serves: &'static str,
}

impl Check {
    fn ok(self, found: impl Into<String>) -> Finding {
        self.finding(State::Ok, found.into(), None)
    }

    fn warn(self, found: impl Into<String>, remedy: impl Into<String>) -> Finding {
        self.finding(State::Warn, found.into(), Some(remedy.into()))
    }

    fn missing(self, found: impl Into<String>, remedy: impl Into<String>) -> Finding {
        self.finding(State::Missing, found.into(), Some(remedy.into()))
    }

    fn finding(self, state: State, found: String, remedy: Option<String>) -> Finding {
        let Check { name, serves } = self;
        Finding {
            name,
            state,
            found,
            serves,
            remedy,
        }
    }
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut findings = recording::look();
    findings.extend(processor::look());
    findings.extend(system::look());
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
    Err(Failure::new(Exit::Missing, message).remedy("each has its own above"))
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
