//! What the symbolizer prints when it is run: the functions of a file, or why there are none.

use crate::error::Error;
use crate::symbol::Symbol;
use corehop_processes::without_python_variables;
use serde::Deserialize;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// What the symbolizer tells of a file.
#[derive(Deserialize)]
pub struct Told {
    /// Sorted by offset.
    pub functions: Vec<Symbol>,
    /// Empty where the file has none.
    #[serde(default)]
    pub build_id: String,
    /// The file that has what was stripped from it.
    #[serde(default)]
    pub debug_file: Option<PathBuf>,
}

/// What the symbolizer says of `path`, run by `command`.
pub fn told_by(command: &mut Command, path: &Path) -> Result<Told, Error> {
    without_python_variables(command);
    // In a process group of its own, so that a Ctrl-C meant for a recording does not cut it short.
    let output = command.process_group(0).output();
    let program = || command.get_program().into();
    let output = output.map_err(|source| Error::Start {
        program: program(),
        source,
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(refusal(&said, output.status, path));
    }
    let parsed: Result<Told, _> = serde_json::from_slice(&output.stdout);
    let readable = |told: Told| Told {
        functions: told.functions.into_iter().map(Symbol::readable).collect(),
        ..told
    };
    parsed.map(readable).map_err(|source| Error::Output {
        program: program(),
        path: path.into(),
        source,
    })
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
            let told = told_by(Command::new("/bin/sh").args(["-c", script]), Path::new("f"));
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
    }
}
