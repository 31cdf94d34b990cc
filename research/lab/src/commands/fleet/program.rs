//! Finds the fleet's program: the installed one, or the one of this checkout and a Python to run
//! it.

use corehop::failure::{Exit, Failure};
use corehop_support::processes::{python_program, pythons, without_python_variables};
use std::path::Path;
use std::process::{Command, Stdio};

const PACKAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fleet/src/corehop_fleet");

/// The required packages, as a Python program that imports them.
const NEEDED: &str = "import sys\nassert sys.version_info >= (3, 11), \"it is older than 3.11\"\n\
                      import distributed, duckdb, fsspec, jinja2";

const REMEDY: &str = "make a virtual environment of Python 3.11 or newer, `pip install distributed \
                      fsspec duckdb jinja2` in it, and have it first in PATH (in a checkout, \
                      `scripts/setup.sh test` makes one), or name the program in COREHOP_FLEET";

/// Returns the command that starts the program.
pub fn command() -> Result<Command, Failure> {
    let mut command = match python_program("corehop-fleet", "COREHOP_FLEET") {
        Some(program) => Command::new(program),
        None => of_this_checkout()?,
    };
    without_python_variables(&mut command);
    Ok(command)
}

/// Returns the checkout's program, run by the first Python that has the required packages.
fn of_this_checkout() -> Result<Command, Failure> {
    let mut first = None;
    for python in pythons() {
        match lacks(&python) {
            None => {
                let mut command = Command::new(python);
                command.args(["-I", "-B", PACKAGE]);
                return Ok(command);
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

/// Returns why a Python cannot run it, from the last line of its output.
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

/// Returns the failure if the program was specified or found, but the system did not start it.
pub fn not_started(command: &Command, error: &std::io::Error) -> Failure {
    let program = Path::new(command.get_program()).display();
    Failure::new(Exit::Missing, format!("cannot run {program}: {error}")).remedy(REMEDY)
}
