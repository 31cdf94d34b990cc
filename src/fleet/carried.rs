//! The fleet's program: where it is, or what this program carries of it and which Python runs that.

use crate::failure::{Exit, Failure};
use corehop_processes::{python_program, pythons, unpacked, without_python_variables};
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

const PACKAGE: &str = "corehop_fleet";

/// The packages that it cannot do without, as Python imports them.
const NEEDED: &str = "import sys\nassert sys.version_info >= (3, 11), \"it is older than 3.11\"\n\
                      import distributed, duckdb, fsspec, jinja2";

const REMEDY: &str = "make a virtual environment of Python 3.11 or newer, `pip install distributed \
                      fsspec duckdb jinja2` in it, and have it first in PATH (in a checkout, \
                      `scripts/setup.sh test` makes one), or name the program in COREHOP_FLEET";

/// A file of the package, by its name.
macro_rules! carried {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../fleet/src/corehop_fleet/", $name)))),*]
    };
}

/// The package.
const CARRIED: [(&str, &str); 17] = carried![
    "__init__.py",
    "__main__.py",
    "command.py",
    "console.py",
    "errors.py",
    "machines.py",
    "page.html",
    "page.py",
    "program.py",
    "run.py",
    "store.py",
    "sweep.py",
    "sweeping.py",
    "table.py",
    "traces.py",
    "work.py",
    "workers.py",
];

/// What starts it, and the folder that must be there as long as it runs.
pub struct Runnable {
    pub command: Command,
    pub folder: Option<TempDir>,
}

/// What starts the program.
pub fn runnable() -> Result<Runnable, Failure> {
    let mut runnable = match python_program("corehop-fleet", "COREHOP_FLEET") {
        Some(program) => Runnable {
            command: Command::new(program),
            folder: None,
        },
        None => from_carried()?,
    };
    without_python_variables(&mut runnable.command);
    Ok(runnable)
}

/// What is carried, run by the first Python that has what it needs.
fn from_carried() -> Result<Runnable, Failure> {
    let mut first = None;
    for python in pythons() {
        match lacks(&python) {
            None => {
                let folder = unpacked(PACKAGE, &CARRIED).map_err(|error| {
                    Failure::new(Exit::Output, format!("cannot unpack the fleet: {error}"))
                        .remedy("set TMPDIR to a folder with room")
                })?;
                let mut command = Command::new(python);
                command.args(["-I", "-B"]).arg(folder.path());
                let folder = Some(folder);
                return Ok(Runnable { command, folder });
            }
            Some(said) => {
                first.get_or_insert(format!("{}: {said}", python.display()));
            }
        }
    }
    let said = first.unwrap_or_else(|| "there is no Python".into());
    let message = format!("no Python here can run a fleet: {said}");
    Err(Failure::new(Exit::Missing, message).remedy(REMEDY))
}

/// Why a Python cannot run it, by the last line that it says.
fn lacks(python: &Path) -> Option<String> {
    let mut command = Command::new(python);
    command
        .args(["-I", "-B", "-c", NEEDED])
        .stdin(Stdio::null());
    without_python_variables(&mut command);
    let output = match command.output() {
        Ok(output) if output.status.success() => return None,
        Ok(output) => output,
        Err(error) => return Some(error.to_string()),
    };
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.trim().lines().last().map(str::to_owned);
    Some(last.unwrap_or_else(|| output.status.to_string()))
}

/// The program is named, or was found, and the system would not start it.
pub fn not_started(command: &Command, error: &std::io::Error) -> Failure {
    let program = Path::new(command.get_program()).display();
    Failure::new(Exit::Missing, format!("cannot run {program}: {error}")).remedy(REMEDY)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One that is not carried would be missed by installed commands alone.
    #[test]
    fn all_of_the_fleet_is_carried() {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("fleet/src")
            .join(PACKAGE);
        let files = std::fs::read_dir(package).unwrap().flatten();
        let names = files.filter_map(|file| file.file_name().into_string().ok());
        let mut names: Vec<String> = names
            .filter(|name| name.ends_with(".py") || name.ends_with(".html"))
            .collect();
        names.sort();
        assert_eq!(names, CARRIED.map(|(name, _)| name));
    }
}
