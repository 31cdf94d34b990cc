//! Small programs with hops, patched like users' servers.
//!
//! The timed code is the output of the real patcher with the shipped runtime, never a copy. Two
//! functions are hooked, one for each of two cores.

use crate::calibration::error::Error;
use corehop_patcher::Analysis;
use corehop_plan::{Argument, Destination, Mode, Plan, PlannedFunction};
use corehop_support::topology::{Topology, allowed};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Name of the plan file.
pub const PLAN: &str = "split.toml";

/// The program that times hops: `programs/hop.c`, compiled with this crate.
const HOP: &[u8] = include_bytes!(env!("COREHOP_HOP_PROGRAM"));
const HOP_FUNCTIONS: [&str; 2] = ["first_core", "second_core"];

/// A program in its own folder: as compiled, and with hops.
pub struct Program {
    _folder: tempfile::TempDir,
    /// As compiled. The plan is in the same folder.
    pub plain: PathBuf,
    patched: PathBuf,
    /// The CPUs of plan cores 0 and 1.
    pub processors: [usize; 2],
}

impl Program {
    /// Creates the program that times hops, with its first function in this mode.
    ///
    /// # Errors
    /// Those of [`Program::of`].
    pub fn hop(first: Mode) -> Result<Program, Error> {
        Program::of("hop", HOP, HOP_FUNCTIONS, first)
    }

    /// The same, but the destination of its first function depends on its argument, which is always
    /// one object.
    ///
    /// # Errors
    /// Those of [`Program::of`].
    pub fn hop_by_argument() -> Result<Program, Error> {
        let to = Destination::By(Argument::ALL[0].into());
        Program::with_first("hop", HOP, HOP_FUNCTIONS, (to, Mode::Enter))
    }

    /// Hooks these functions of an executable, on cores 0 and 1. The first has this mode; the
    /// second stays.
    ///
    /// # Errors
    /// If it cannot be written to a temporary folder, or cannot be patched.
    pub fn of(
        name: &str,
        executable: &[u8],
        hooked: [&str; 2],
        first: Mode,
    ) -> Result<Program, Error> {
        Program::with_first(name, executable, hooked, (Destination::Core(0), first))
    }

    fn with_first(
        name: &str,
        executable: &[u8],
        hooked: [&str; 2],
        first: (Destination, Mode),
    ) -> Result<Program, Error> {
        let folder =
            corehop_support::atomic_file::private_folder().map_err(|source| Error::Folder {
                path: std::env::temp_dir(),
                source,
            })?;
        let plain = folder.path().join(name);
        keep(&plain, executable)?;
        let plan = plan(&plain, hooked, first)?;
        corehop_plan::write(&plan, &plain.with_file_name(PLAN))?;
        let patched = folder.path().join(format!("{name}.hop"));
        corehop_patcher::patch(&plain, &plan, &patched, false)?;
        Ok(Program {
            processors: two_processors(&Topology::here())?,
            _folder: folder,
            plain,
            patched,
        })
    }

    /// Runs the program, unpatched or with hops by a backend, and returns the numbers that it
    /// prints.
    ///
    /// # Errors
    /// If it does not start, fails, writes to standard error, or prints no numbers.
    pub fn run(&self, backend: Option<&str>, words: &[String]) -> Result<Vec<f64>, Error> {
        self.run_in(&[], backend, words)
    }

    /// The same, with these variables in the environment.
    ///
    /// # Errors
    /// Those of [`Program::run`].
    pub fn run_in(
        &self,
        variables: &[(&str, &str)],
        backend: Option<&str>,
        words: &[String],
    ) -> Result<Vec<f64>, Error> {
        let mut command = Command::new(backend.map_or(&self.plain, |_| &self.patched));
        // Settings for the user's own servers do not apply to this program.
        let orders = std::env::vars_os().map(|(name, _)| name);
        for name in orders.filter(|name| name.as_encoded_bytes().starts_with(b"COREHOP_")) {
            command.env_remove(name);
        }
        let [first, second] = self.processors;
        let output = command
            .args(words)
            .env("COREHOP_BACKEND", backend.unwrap_or("off"))
            .env("COREHOP_CPUS", format!("{first},{second}"))
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
            // Hops are measured even if others queue, and whatever other load the machine has.
            .env("COREHOP_QUEUE", "0")
            .env("COREHOP_RUN_DELAY", "100")
            .envs(variables.iter().copied())
            .output()
            .map_err(|source| Error::NotStarted {
                path: self.plain.clone(),
                source,
            })?;
        let failed = |said: String| Error::Program {
            path: self.plain.clone(),
            words: words.join(" "),
            said,
        };
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() || !said.is_empty() {
            return Err(failed(format!("{}: {}", output.status, said.trim())));
        }
        let printed = String::from_utf8_lossy(&output.stdout);
        let numbers = printed.split_whitespace().map(str::parse);
        let numbers: Result<Vec<f64>, _> = numbers.collect();
        numbers.map_err(|error| failed(format!("printed something other than a number: {error}")))
    }
}

/// Writes an executable that only this user can change.
fn keep(path: &Path, executable: &[u8]) -> Result<(), Error> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o700).open(path);
    let written = file.and_then(|mut file| file.write_all(executable));
    written.map_err(|source| Error::Folder {
        path: path.into(),
        source,
    })
}

fn plan(plain: &Path, hooked: [&str; 2], first: (Destination, Mode)) -> Result<Plan, Error> {
    let lacks = |what: String| Error::Unpatchable {
        path: plain.into(),
        what,
    };
    let analysis = Analysis::of(plain)?;
    let build_id = analysis
        .build_id()
        .ok_or_else(|| lacks("build id".into()))?;
    let second = (Destination::Core(1), Mode::Enter);
    let planned = |((to, mode), symbol): ((Destination, Mode), &str)| {
        let of = |f: &&corehop_patcher::Function| f.symbol.as_deref() == Some(symbol);
        let function = analysis.functions().iter().find(of);
        let function = function.ok_or_else(|| lacks(format!("function {symbol}")))?;
        Ok(PlannedFunction {
            module: plain.to_string_lossy().into(),
            build_id: build_id.into(),
            offset: function.offset,
            symbol: symbol.into(),
            to,
            mode,
        })
    };
    let functions: Result<Vec<_>, Error> = [first, second]
        .into_iter()
        .zip(hooked)
        .map(planned)
        .collect();
    Ok(Plan {
        version: corehop_plan::VERSION_BY_ARGUMENT,
        machine: "any".into(),
        trace: "none".into(),
        cores: 2,
        seed: 1,
        carriers_refuse: None,
        request: None,
        expected: None,
        functions: functions?,
    })
}

/// Returns the first two CPUs of this process's mask that the topology places on different cores.
/// On a machine with one CPU, returns that one twice.
fn two_processors(topology: &Topology) -> Result<[usize; 2], Error> {
    let mut found = allowed().into_iter();
    let first = found.next().ok_or(Error::NoCpu)?;
    let is_other = |&cpu: &usize| topology.share_a_core([first, cpu]) != Some(true);
    Ok([first, found.find(is_other).unwrap_or(first)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_carried_program_runs_as_it_is_and_counts_calls_when_patched() {
        let program = Program::hop(Mode::Enter).unwrap();
        let words = ["call".to_owned(), "3".to_owned()];
        assert_eq!(program.run(None, &words).unwrap().len(), 3);
        assert_eq!(program.run(Some("count"), &words).unwrap().len(), 3);
        let unknown = ["fly".to_owned(), "3".to_owned()];
        let failed = program.run(None, &unknown).unwrap_err().to_string();
        assert!(
            failed.contains("fly 3") && failed.contains("unknown trial fly"),
            "{failed}"
        );
    }

    #[test]
    fn a_program_without_the_functions_is_refused_by_their_name() {
        let refused = Program::of("hop", HOP, ["first_core", "third_core"], Mode::Enter);
        let said = refused.err().unwrap().to_string();
        assert!(said.ends_with("has no function third_core"), "{said}");
    }
}
