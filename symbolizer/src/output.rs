//! Parses the symbolizer's output: the functions of a file, or why there are none.

use crate::error::Error;
use crate::symbol::Symbol;
use corehop_support::processes::{end_with_this_process, without_python_variables};
use serde::Deserialize;
use serde::de::Error as _;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// The symbolizer's result for a file.
pub struct Told {
    /// Sorted by offset.
    pub functions: Vec<Symbol>,
    /// The debug file with the names stripped from it.
    pub debug_file: Option<PathBuf>,
}

/// The results for several files, each with an error if it has no functions.
pub type Each = Vec<Result<Told, Error>>;

/// One output line: the functions of a file, or an error if several files were given.
#[derive(Deserialize)]
struct Line {
    functions: Option<Vec<Symbol>>,
    #[serde(default)]
    debug_file: Option<PathBuf>,
    error: Option<String>,
}

/// Runs `command` on these files and parses its output.
pub fn told_by(command: &mut Command, paths: &[&Path]) -> Result<Each, Error> {
    without_python_variables(command);
    // In its own process group, so that a Ctrl-C for a recording does not interrupt it.
    // Nor would a signal that ends corehop reach it.
    end_with_this_process(command);
    let output = command.process_group(0).output();
    let program = || command.get_program().into();
    let output = output.map_err(|source| Error::Start {
        program: program(),
        source,
    })?;
    let is_well = output.status.success();
    match lines_of(&output.stdout, paths) {
        // The exit status is also an error if one of several files has no functions.
        Ok(told) if is_well || told.iter().any(Result::is_err) => Ok(told),
        Err(source) if is_well => Err(Error::Output {
            program: program(),
            path: paths[0].into(),
            source,
        }),
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(refusal(&said, output.status, paths[0]))
        }
    }
}

/// Parses the output for these files: one line each, in order.
fn lines_of(printed: &[u8], paths: &[&Path]) -> Result<Each, serde_json::Error> {
    let lines = serde_json::Deserializer::from_slice(printed).into_iter();
    let lines = lines.collect::<Result<Vec<Line>, _>>()?;
    if lines.len() != paths.len() {
        let counts = format!("{} lines for {} files", lines.len(), paths.len());
        return Err(serde_json::Error::custom(counts));
    }
    let lines = lines.into_iter().zip(paths);
    lines.map(|(line, path)| line.told(path)).collect()
}

impl Line {
    /// Returns the functions of the file at `path`, or why there are none.
    fn told(self, path: &Path) -> Result<Result<Told, Error>, serde_json::Error> {
        match (self.functions, self.error) {
            (Some(functions), _) => Ok(Ok(Told {
                functions: functions.into_iter().map(Symbol::readable).collect(),
                debug_file: self.debug_file,
            })),
            (None, Some(reason)) => Ok(Err(Error::Refused {
                path: path.into(),
                reason,
            })),
            (None, None) => Err(serde_json::Error::missing_field("functions")),
        }
    }
}

/// Returns the error for `path` from a symbolizer's messages and exit status.
fn refusal(said: &str, status: ExitStatus, path: &Path) -> Error {
    let reason = match said.split_once("corehop-symbolizer: ") {
        Some((_, problem)) => problem.trim().to_owned(),
        // It did not start: missing module, too old a Python, no Python at all.
        None if status.code().is_some() => {
            let last = said.trim().lines().last().map(str::to_owned);
            return Error::Unusable {
                said: last.unwrap_or_else(|| status.to_string()),
            };
        }
        None => format!("the symbolizer ended by {status}"),
    };
    Error::Refused {
        path: path.into(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbolizer_that_does_not_come_to_speak_is_missing() {
        let refused = |script: &str| {
            let told = told_by(
                Command::new("/bin/sh").args(["-c", script]),
                &[Path::new("f")],
            );
            told.err().unwrap()
        };
        for script in [
            "echo 'ModuleNotFoundError: no elftools' >&2; exit 1",
            "echo 'Traceback' >&2; echo 'SyntaxError: invalid syntax' >&2; exit 1",
            "exit 127",
        ] {
            let failure = refused(script);
            assert!(failure.is_missing(), "{failure}");
            assert!(
                failure
                    .to_string()
                    .starts_with("the symbolizer does not run: ")
            );
        }
        let failure =
            refused("echo 'corehop-symbolizer: f: not an ELF file; name one' >&2; exit 3");
        assert!(!failure.is_missing());
        assert_eq!(
            failure.to_string(),
            "no functions of f: f: not an ELF file; name one"
        );
        assert!(!refused("kill -KILL $$").is_missing());
        assert!(!refused("echo '{\"functions\": []}'; kill -KILL $$").is_missing());
        for nonsense in ["{}", "{\"functions\": 3}", "", "{\"error\": \"e\"} {}"] {
            let failure = refused(&format!("echo '{nonsense}'"));
            assert!(matches!(failure, Error::Output { .. }), "{failure}");
        }
    }
}
