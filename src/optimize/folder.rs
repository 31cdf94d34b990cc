//! The folder that all results of one run are in, under names that never change.
//!
//! A plan has the name of a good plan, `plan.toml`, only once it was measured to pay; what was
//! tried has numbers. `start.sh` starts the server with what pays, plan or posted system calls. So
//! whoever finds these names may use them, and a run that finds no gain, or is interrupted, first
//! takes away those of an earlier one.

use super::arguments::Arguments;
use super::search::Predicted;
use crate::failure::{Exit, Failure};
use corehop_plan::Plan;
use corehop_support::atomic_file::{Output, PUBLIC};
use std::path::{Path, PathBuf};

/// Most plans that are tried.
const MOST_TRIED: usize = 20;

/// The folder.
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes the folder, and sees that the results can be kept there.
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
            // The recorder gives way to what has the trace's name itself.
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
        let named = [self.plan(), self.start(), self.report(), self.result()];
        named.into_iter().chain(tried).collect()
    }

    /// The recording.
    pub fn trace(&self) -> PathBuf {
        self.path.join("server.trace")
    }

    /// What the server printed while it was recorded.
    pub fn log(&self) -> PathBuf {
        self.path.join("server.log")
    }

    /// A plan that pays.
    pub fn plan(&self) -> PathBuf {
        self.path.join("plan.toml")
    }

    /// What starts the server with what pays.
    pub fn start(&self) -> PathBuf {
        self.path.join("start.sh")
    }

    /// One of those tried, from 0 on, the best predicted first.
    pub fn tried(&self, index: usize) -> PathBuf {
        self.path.join(format!("tried-{}.toml", index + 1))
    }

    /// The page.
    pub fn report(&self) -> PathBuf {
        self.path.join("report.html")
    }

    /// The result for programs.
    pub fn result(&self) -> PathBuf {
        self.path.join("result.json")
    }

    /// Keeps the plans found.
    pub fn keep_tried<'a>(
        &self,
        plans: impl Iterator<Item = &'a Predicted>,
    ) -> Result<(), Failure> {
        let mut tried = plans.enumerate();
        tried.try_for_each(|(index, tried)| keep_plan(&self.tried(index), &tried.plan))
    }

    /// Keeps the plan that pays.
    pub fn keep_plan(&self, plan: &Plan) -> Result<(), Failure> {
        keep_plan(&self.plan(), plan)
    }

    /// Keeps what starts the server with what pays.
    pub fn keep_start(&self, script: &str) -> Result<(), Failure> {
        keep(&self.start(), script)
    }

    /// Keeps the result.
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
