//! The folder with all results of one run, under fixed names.
//!
//! A plan is named `plan.toml` only after a measured gain; the tried plans have numbers. `start.sh`
//! starts the server with the gain, a plan or asynchronous system calls. Users can therefore rely
//! on these names. A run that finds no gain, or is interrupted, first removes the files of an
//! earlier run.

use super::arguments::Arguments;
use super::search::Predicted;
use crate::failure::{Exit, Failure};
use corehop_plan::Plan;
use corehop_support::atomic_file::{Output, PUBLIC};
use std::path::{Path, PathBuf};

/// Maximum number of tried plans.
const MOST_TRIED: usize = 20;

/// The folder.
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Creates the folder, and checks that results can be written there.
    pub fn new(arguments: &Arguments) -> Result<Folder, Failure> {
        let path = arguments.output.clone();
        std::fs::create_dir_all(&path).map_err(|error| {
            Failure::new(Exit::Output, format!("{}: {error}", path.display())).remedy(format!(
                "{}; --output names another folder",
                corehop_support::atomic_file::remedy(&path, &error)
            ))
        })?;
        let folder = Folder { path };
        for file in folder.results() {
            folder.check(&file, arguments.force)?;
        }
        if arguments.trace.is_none() {
            for file in [folder.trace(), folder.log()] {
                folder.check(&file, arguments.force)?;
            }
            // The recorder itself replaces an existing trace.
            let _ = std::fs::remove_file(folder.log());
        }
        for file in folder.results() {
            let _ = std::fs::remove_file(file);
        }
        Ok(folder)
    }

    fn check(&self, file: &Path, force: bool) -> Result<(), Failure> {
        match Output::file_at(file, force) {
            Ok(_) => Ok(()),
            Err(corehop_support::atomic_file::Error::Exists { path }) => {
                let message = format!("{} exists already", path.display());
                let trace = match self.trace().exists() {
                    true => format!("; --trace {} records none", self.trace().display()),
                    false => String::new(),
                };
                Err(Failure::new(Exit::Output, message).remedy(format!(
                    "name another folder with --output, or add --force to replace what an earlier \
                     run has left there{trace}"
                )))
            }
            Err(error) => {
                let remedy = match &error {
                    corehop_support::atomic_file::Error::Write { path, source } => format!(
                        "{}; --output names another folder",
                        corehop_support::atomic_file::remedy(path, source)
                    ),
                    _ => "name another folder with --output".to_owned(),
                };
                Err(Failure::new(Exit::Output, error).remedy(remedy))
            }
        }
    }

    fn results(&self) -> Vec<PathBuf> {
        let tried = (0..MOST_TRIED).map(|index| self.tried(index));
        let named = [
            self.machine(),
            self.plan(),
            self.start(),
            self.report(),
            self.result(),
        ];
        named.into_iter().chain(tried).collect()
    }

    /// Returns the path of the recording.
    pub fn trace(&self) -> PathBuf {
        self.path.join("server.trace")
    }

    /// Returns the path of the server's output during recording.
    pub fn log(&self) -> PathBuf {
        self.path.join("server.log")
    }

    /// Returns the path of the machine, if its latencies were measured.
    pub fn machine(&self) -> PathBuf {
        self.path.join("machine.toml")
    }

    /// Returns the path of the plan with a gain.
    pub fn plan(&self) -> PathBuf {
        self.path.join("plan.toml")
    }

    /// Returns the path of the script that starts the faster server.
    pub fn start(&self) -> PathBuf {
        self.path.join("start.sh")
    }

    /// Returns the path of a tried plan; 0 is the best prediction.
    pub fn tried(&self, index: usize) -> PathBuf {
        self.path.join(format!("tried-{}.toml", index + 1))
    }

    /// Returns the path of the report.
    pub fn report(&self) -> PathBuf {
        self.path.join("report.html")
    }

    /// Returns the path of the JSON result.
    pub fn result(&self) -> PathBuf {
        self.path.join("result.json")
    }

    /// Writes the machine.
    pub fn keep_machine(&self, text: &str) -> Result<(), Failure> {
        keep(&self.machine(), text)
    }

    /// Writes the plans found.
    pub fn keep_tried<'a>(
        &self,
        plans: impl Iterator<Item = &'a Predicted>,
    ) -> Result<(), Failure> {
        let mut tried = plans.enumerate();
        tried.try_for_each(|(index, tried)| keep_plan(&self.tried(index), &tried.plan))
    }

    /// Writes the plan with a gain.
    pub fn keep_plan(&self, plan: &Plan) -> Result<(), Failure> {
        keep_plan(&self.plan(), plan)
    }

    /// Writes the script that starts the faster server.
    pub fn keep_start(&self, script: &str) -> Result<(), Failure> {
        keep(&self.start(), script)
    }

    /// Writes the result.
    pub fn keep_result(&self, text: &str) -> Result<(), Failure> {
        keep(&self.result(), text)
    }
}

fn keep_plan(path: &Path, plan: &Plan) -> Result<(), Failure> {
    keep(path, &corehop_plan::render(plan))
}

fn keep(path: &Path, text: &str) -> Result<(), Failure> {
    let output = Output::file_at(path, true)?;
    Ok(output.write(text.as_bytes(), PUBLIC)?)
}
