//! What the symbolizer prints when it is run: the functions of a file, or why there are none.

use crate::error::Error;
use crate::symbol::Symbol;
use corehop_processes::without_python_variables;
use serde::Deserialize;
use serde::de::Error as _;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// What the symbolizer tells of a file.
pub struct Told {
    /// Sorted by offset.
    pub functions: Vec<Symbol>,
    /// Empty where the file has none.
    pub build_id: String,
    /// The file that has what was stripped from it.
    pub debug_file: Option<PathBuf>,
}

/// What it prints of a file: its functions or, where it was asked for several files, an error.
#[derive(Deserialize)]
struct Line {
    functions: Option<Vec<Symbol>>,
    #[serde(default)]
    build_id: String,
    #[serde(default)]
    debug_file: Option<PathBuf>,
    error: Option<String>,
}

/// What the symbolizer says of each of these files, run by `command`.
pub fn told_by(command: &mut Command, paths: &[&Path]) -> Result<Vec<Result<Told, Error>>, Error> {
    without_python_variables(command);
    // In a process group of its own, so that a Ctrl-C meant for a recording does not cut it short.
    let output = command.process_group(0).output();
    let program = || command.get_program().into();
    let output = output.map_err(|source| Error::Start {
        program: program(),
        source,
    })?;
    let said = serde_json::Deserializer::from_slice(&output.stdout).into_iter();
    let lines: Result<Vec<Line>, serde_json::Error> = said.collect();
    let told = lines.and_then(|lines| match lines.len() == paths.len() {
        true => lines
            .into_iter()
            .zip(paths)
            .map(|(line, path)| line.told(path))
            .collect(),
        false => Err(serde_json::Error::custom(format!(
            "{} lines for {} files",
            lines.len(),
            paths.len()
        ))),
    });
    told.map_err(|source| match output.status.success() {
        true => Error::Output {
            program: program(),
            path: paths[0].into(),
            source,
        },
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            refusal(&said, output.status, paths[0])
        }
    })
}

impl Line {
    /// The functions of the file at `path`, or why it has none.
    fn told(self, path: &Path) -> Result<Result<Told, Error>, serde_json::Error> {
        match (self.functions, self.error) {
            (Some(functions), _) => Ok(Ok(Told {
                functions: functions.into_iter().map(Symbol::readable).collect(),
                build_id: self.build_id,
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

/// Why there are no functions of `path`, where a symbolizer ended so after saying so.
fn refusal(said: &str, status: ExitStatus, path: &Path) -> Error {
    let reason = match said.split_once("corehop-symbolizer: ") {
        Some((_, problem)) => problem.trim().to_owned(),
        // It did not come to speak: no module, too old a Python, no Python at all.
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
        for nonsense in ["{}", "{\"functions\": 3}", "", "{\"error\": \"e\"} {}"] {
            let failure = refused(&format!("echo '{nonsense}'"));
            assert!(matches!(failure, Error::Output { .. }), "{failure}");
        }
    }
}
