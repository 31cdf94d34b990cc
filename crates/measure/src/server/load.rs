//! Runs the load as a shell command, and extracts the throughput from its output.

use super::printed::{create, last_lines, read};
use super::role::Role;
use crate::Error;
use crate::error::NoNumber;
use corehop_support::processes::{Process, end_with_this_process};
use corehop_support::quantity::printed;
use regex::Regex;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Interval between checks for an interruption while a program runs.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Why a text is not an expression that finds a number.
#[derive(Debug, thiserror::Error)]
pub enum BadExpression {
    /// It is not a regular expression.
    #[error(transparent)]
    Syntax(#[from] regex::Error),
    /// It has no group, or more than one.
    #[error("it needs one group in parentheses, around the number")]
    Groups,
}

/// Parses a regular expression that has exactly one group; the last match of the group is the
/// number.
///
/// # Errors
/// What is wrong with it.
pub fn expression(text: &str) -> Result<Regex, BadExpression> {
    let expression = Regex::new(text)?;
    match expression.captures_len() {
        2 => Ok(expression),
        _ => Err(BadExpression::Groups),
    }
}

/// The option whose expression finds the throughput.
pub(crate) const THROUGHPUT: &str = "--throughput";

/// Returns the number in the last match of an option's expression, in the formats that programs
/// print (`corehop_support::quantity::printed`).
pub(crate) fn number(
    (option, expression): (&'static str, &Regex),
    output: &str,
) -> Result<f64, Error> {
    let failed = |problem| Error::NoThroughput {
        option,
        expression: expression.clone(),
        problem: Box::new(problem),
        said: last_lines(output),
    };
    let last = expression.captures_iter(output).last();
    let Some((whole, found)) = last.and_then(|found| found.get(0).zip(found.get(1))) else {
        return Err(failed(NoNumber::NoMatch));
    };
    // Text that the expression matches around the number separates it from its surroundings.
    let is_all = (whole.start() == found.start(), whole.end() == found.end());
    let from = if is_all.0 { 0 } else { found.start() };
    let to = if is_all.1 { output.len() } else { found.end() };
    let (start, end) = (found.start() - from, found.end() - from);
    if let Some(longer) = printed::cut_from(&output[from..to], start, end) {
        return Err(failed(NoNumber::Cut {
            found: found.as_str().into(),
            longer: longer.into(),
        }));
    }
    match printed::number(found.as_str()) {
        Ok(value) if value > 0.0 => Ok(value),
        Err(ambiguous @ printed::NoNumber::Ambiguous { .. }) => {
            Err(failed(NoNumber::Ambiguous(ambiguous)))
        }
        _ => Err(failed(NoNumber::NotPositive(found.as_str().into()))),
    }
}

/// Runs the command to its end, as long as `go_on` returns no error. Returns its output and its
/// duration in seconds. The output is stored in `folder` during the run.
///
/// # Errors
/// Those of `go_on`; [`Error::Unwritable`], [`Error::NoShell`] and [`Error::LoadFailed`].
pub fn run<E: From<Error>>(
    (role, command): (Role, &str),
    folder: &Path,
    go_on: impl Fn() -> Result<(), E>,
) -> Result<(String, f64), E> {
    let (out, err) = (folder.join("load.out"), folder.join("load.err"));
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null());
    shell.stdout(create(&out)?).stderr(create(&err)?);
    end_with_this_process(&mut shell);
    let began = Instant::now();
    let mut load = Process::spawn(&mut shell).map_err(|source| Error::NoShell { role, source })?;
    let (status, seconds) = ended(|limit| load.ended_within(limit), began, go_on)?;
    let printed = read(&out);
    if !status.success() {
        let said = last_lines(&(printed + &read(&err)));
        return Err(E::from(Error::LoadFailed {
            role,
            command: command.into(),
            status,
            said,
        }));
    }
    Ok((printed, seconds))
}

/// Waits until `program`, which waits for a limited time, returns an exit status, as long as
/// `go_on` returns no error. Also returns the seconds since `began`.
pub(crate) fn ended<E>(
    mut program: impl FnMut(Duration) -> Option<ExitStatus>,
    began: Instant,
    go_on: impl Fn() -> Result<(), E>,
) -> Result<(ExitStatus, f64), E> {
    loop {
        // First, because a short program has ended after one wait.
        go_on()?;
        if let Some(status) = program(LOOK_EVERY) {
            return Ok((status, began.elapsed().as_secs_f64()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_match_is_the_throughput() {
        let expression = expression("([0-9.,]+) requests per second").unwrap();
        let found = |output: &str| number((THROUGHPUT, &expression), output).ok();
        let output = "SET: 10.5 requests per second\nGET: 12,345.5 requests per second\n";
        assert_eq!(found(output), Some(12_345.5));
        assert_eq!(found("0 requests per second"), None);
        assert_eq!(found(".. requests per second"), None);
        let refused = number((THROUGHPUT, &expression), "one\ntwo").unwrap_err();
        let expected = "--throughput ([0-9.,]+) requests per second: the output has no match";
        assert_eq!(refused.to_string(), expected);
        assert_eq!(refused.said(), ["one", "two"]);
    }

    #[test]
    fn a_number_that_may_be_another_is_refused_with_what_was_found() {
        let of = |text: &str, output: &str| {
            let refused = number(("--latency", &expression(text).unwrap()), output).unwrap_err();
            let said = refused.to_string();
            said.strip_prefix(&format!("--latency {text}: "))
                .unwrap()
                .to_owned()
        };
        let ambiguous = of("([0-9.,]+) a second", "1,234 a second");
        assert_eq!(ambiguous, "\"1,234\" may be 1234 or 1.234");
        let cut = of("([0-9.]+) a second", "1,234.5 a second");
        assert_eq!(cut, "it matches \"234.5\", a part of \"1,234.5\"");
        let cut = of("rate: ([0-9.]+)", "rate: 1,234");
        assert_eq!(cut, "it matches \"1\", a part of \"1,234\"");
    }

    #[test]
    fn decimals_may_follow_a_comma() {
        let found = |text: &str, output: &str| {
            number((THROUGHPUT, &expression(text).unwrap()), output).unwrap()
        };
        assert_eq!(found("([0-9.,]+) a second", "1.234,5 a second"), 1234.5);
        assert_eq!(found("([0-9.,]+) a second", "12,5 a second"), 12.5);
        // The comma is part of the expression.
        assert_eq!(found("GET,([0-9.]+),", "GET,234.5,678"), 234.5);
    }

    #[test]
    fn an_expression_has_one_group() {
        assert!(expression("[0-9]+").is_err());
        assert!(expression("([0-9]+)/([0-9]+)").is_err());
        assert!(expression("([0-9]+").is_err());
        assert!(expression("(?:a|b)([0-9]+)").is_ok());
    }

    #[test]
    fn a_load_gives_what_it_printed_and_its_failure_what_it_said() {
        let folder = tempfile::tempdir().unwrap();
        let go_on = || Ok::<(), Error>(());
        let run = |command| run((Role::Load, command), folder.path(), go_on);
        let (printed, seconds) = run("echo 5; sleep 0.02").unwrap();
        assert_eq!(printed, "5\n");
        assert!(seconds >= 0.02);
        let never = || Err(Error::Interrupted);
        let ended = super::run((Role::Load, "true"), folder.path(), never);
        assert!(matches!(ended, Err(Error::Interrupted)));
        let failed = run("echo half; echo wrong >&2; exit 3").unwrap_err();
        assert_eq!(failed.to_string(), "the load failed, exit status: 3");
        assert_eq!(failed.said(), ["half", "wrong"]);
    }
}
