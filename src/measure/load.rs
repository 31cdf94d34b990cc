//! The load: run as a shell command, and what it says of throughput.

use super::ended;
use crate::failure::{Exit, Failure};
use corehop_processes::Process;
use regex::Regex;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Lines of a failed program's output that are shown.
const SHOWN_LINES: usize = 8;

/// Reads a regular expression that has exactly one group.
pub fn expression(text: &str) -> Result<Regex, String> {
    let expression = Regex::new(text).map_err(|error| error.to_string())?;
    match expression.captures_len() {
        2 => Ok(expression),
        _ => Err("it needs one group in parentheses, around the number".into()),
    }
}

/// The number in the last match; thousands may be separated by commas.
pub fn throughput(expression: &Regex, output: &str) -> Result<f64, Failure> {
    let failed = |message: String| {
        let message = format!("--throughput {expression}: {message}:");
        let failure = Failure::new(Exit::Input, message).below(last_lines(output));
        failure.remedy("make its group match the number of operations a second")
    };
    let last = expression.captures_iter(output).last();
    let Some(number) = last.and_then(|captures| captures.get(1)) else {
        return Err(failed("the output has no match".into()));
    };
    let number = number.as_str();
    match number.replace(',', "").parse() {
        Ok(value) if f64::is_finite(value) && value > 0.0 => Ok(value),
        _ => Err(failed(format!("{number:?} is not a number above 0"))),
    }
}

/// A shell command of the user's on a server that is ready.
#[derive(Clone, Copy, Debug)]
pub enum Role {
    /// It puts the server under load.
    Load,
    /// It fills the server with data.
    Preparation,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Role::Load => "load",
            Role::Preparation => "preparation",
        }
    }

    fn option(self) -> &'static str {
        match self {
            Role::Load => "--load",
            Role::Preparation => "--prepare",
        }
    }
}

/// Runs the command to its end, as long as `go_on` finds nothing against it; gives what it printed
/// and how long that took in seconds.
pub fn run(
    (role, command): (Role, &str),
    folder: &Path,
    go_on: impl Fn() -> Result<(), Failure>,
) -> Result<(String, f64), Failure> {
    let (out, err) = (folder.join("load.out"), folder.join("load.err"));
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null());
    shell.stdout(create(&out)?).stderr(create(&err)?);
    let began = Instant::now();
    let mut load = Process::spawn(&mut shell).map_err(|error| {
        let remedy = format!("{} needs a shell", role.option());
        Failure::new(Exit::Server, format!("sh: {error}")).remedy(remedy)
    })?;
    let (status, seconds) = ended(&mut load, began, go_on)?;
    let printed = read(&out);
    if !status.success() {
        let said = last_lines(&(printed + &read(&err)));
        let message = format!("the {} failed, {status}:", role.name());
        return Err(Failure::new(Exit::Server, message)
            .below(said)
            .remedy(format!("start the server, and run by hand: {command}")));
    }
    Ok((printed, seconds))
}

/// A new file for what a program prints.
pub fn create(path: &Path) -> Result<File, Failure> {
    File::create(path).map_err(|error| unwritable(path, &error))
}

/// What a program prints cannot be kept.
pub fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Output, format!("{}: {error}", path.display()))
        .remedy("set TMPDIR to a folder that can be written to")
}

/// What a program printed.
pub fn read(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The end of what a program printed, by line.
pub fn last_lines(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(SHOWN_LINES);
    match lines.is_empty() {
        true => vec!["it printed nothing".into()],
        false => lines[from..].iter().map(ToString::to_string).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_match_is_the_throughput() {
        let expression = expression("([0-9.,]+) requests per second").unwrap();
        let found = |output: &str| throughput(&expression, output).ok();
        let output = "SET: 10.5 requests per second\nGET: 12,345.5 requests per second\n";
        assert_eq!(found(output), Some(12_345.5));
        assert_eq!(found("0 requests per second"), None);
        assert_eq!(found(".. requests per second"), None);
        let refused = throughput(&expression, "one\ntwo").unwrap_err().lines();
        let expected = "the output has no match:\n    one\n    two\n  remedy";
        assert!(refused.as_str().contains(expected), "{refused:?}");
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
        let run = |command| run((Role::Load, command), folder.path(), || Ok(()));
        let (printed, seconds) = run("echo 5; sleep 0.02").unwrap();
        assert_eq!(printed, "5\n");
        assert!(seconds >= 0.02);
        let failed = run("echo half; echo wrong >&2; exit 3").unwrap_err();
        let expected = "corehop: the load failed, exit status: 3:\n    half\n    wrong\n";
        assert!(failed.lines().as_str().starts_with(expected), "{failed:?}");
    }
}
