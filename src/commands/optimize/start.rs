//! Starts the faster server: one shell command, and a script with it.
//!
//! The command for a plan lets the runtime decide whether to hop (`auto`), because a load other
//! than the measured one may not gain. If only the kernel migrates threads, the command selects
//! that backend instead. Asynchronous calls need no such setting: `corehop run` sets what the
//! backend `carrier` needs.

use super::candidate::Candidate;
use crate::terminal::shell::quoted;
use std::path::Path;

/// Returns the command. `tunables` are the libc tunables of the measurement, and `backend` migrated
/// the threads.
pub fn command(
    pays: &Candidate,
    plan: &Path,
    (backend, tunables): (&str, &str),
    server: &[String],
) -> String {
    let plan = plan.display().to_string();
    let (environment, option) = match pays {
        Candidate::SystemCalls(calls) => (Vec::new(), ["--system-calls", calls]),
        Candidate::Plan(_) => {
            let environment = match backend {
                "affinity" => vec!["COREHOP_BACKEND=affinity".into()],
                _ => vec![
                    format!("GLIBC_TUNABLES={}", quoted(tunables)),
                    "COREHOP_BACKEND=auto".into(),
                ],
            };
            (environment, ["--plan", &plan])
        }
    };
    let words = ["corehop", "run"].into_iter().chain(option).chain(["--"]);
    let words = words.chain(server.iter().map(String::as_str)).map(quoted);
    let all: Vec<String> = environment.into_iter().chain(words).collect();
    all.join(" ")
}

/// Returns a script that executes the command.
pub fn script(command: &str) -> String {
    format!("#!/bin/sh\nexec env {command}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posted_calls_are_started_without_a_plan() {
        let calls = Candidate::SystemCalls("recv,poll@batch".into());
        let server = ["./a server".to_owned(), "-X".to_owned()];
        let command = command(&calls, Path::new("plan.toml"), ("carrier", ""), &server);
        let expected = "corehop run --system-calls recv,poll@batch -- './a server' -X";
        assert_eq!(command, expected);
        assert_eq!(
            script(&command),
            format!("#!/bin/sh\nexec env {expected}\n")
        );
    }
}
