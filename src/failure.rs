//! The one error type of all subcommands: each ends in a [`Failure`], which `main` prints.
//!
//! The exit codes are part of the interface: scripts distinguish bad input from a machine that
//! lacks something without parsing messages. Every failure has a remedy: [`Failure::new`] returns
//! an [`Unexplained`], which becomes a failure only with advice to the user.

mod measured;

use crate::terminal::line::{Lines, line};
use std::fmt::Display;
use std::path::Path;

/// Exit codes, as `corehop --help` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// `check`, `patch --verify`, or `measure --require-gain` found a problem, `optimize` found no
    /// speedup, `screen` found that none is possible, `functions` found no function, or `diff`
    /// found a difference.
    Findings = 1,
    /// The command line is invalid.
    Usage = 2,
    /// An input (trace, plan, machine, binary) is missing, unreadable, or invalid.
    Input = 3,
    /// An output cannot be written, is not allowed at the requested path, or exists already and
    /// `--force` was not given.
    Output = 4,
    /// The request is unsafe, or the plan gains nothing, so nothing was done.
    Refused = 5,
    /// This machine lacks something: QEMU, the plugin, the symbolizer.
    Missing = 6,
    /// The started server failed, or its load did.
    Server = 7,
    /// `measure` has proven that the patched server is slower than the original.
    Slower = 8,
    /// Interrupted by Ctrl-C or SIGTERM.
    Interrupted = 130,
}

/// Why a subcommand failed: the file, the place in it, and the remedy.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    message: String,
    /// Lines printed below the message.
    below: Vec<String>,
    remedy: Option<String>,
    /// Lines printed below the remedy, such as the values to choose from.
    choices: Vec<String>,
    /// Whether the message is about "the trace", which is not named yet.
    is_of_trace: bool,
}

/// A failure that has no remedy yet.
#[must_use]
pub struct Unexplained(Failure);

impl Unexplained {
    /// Adds lines below the message.
    pub fn below(self, lines: impl IntoIterator<Item = String>) -> Unexplained {
        Unexplained(Failure {
            below: lines.into_iter().collect(),
            ..self.0
        })
    }

    /// Lets [`Failure::of_trace`] add the name of the trace.
    pub fn of_some_trace(self) -> Unexplained {
        Unexplained(Failure {
            is_of_trace: true,
            ..self.0
        })
    }

    /// Adds the remedy.
    pub fn remedy(self, remedy: impl Display) -> Failure {
        Failure {
            remedy: Some(remedy.to_string()),
            ..self.0
        }
    }

    /// For a message that contains its remedy.
    pub fn explained(self) -> Failure {
        self.0
    }
}

impl Failure {
    /// Starts a failure that prints `message` and ends the process with `exit`.
    // Deliberately returns another type: a failure is incomplete without a remedy.
    #[allow(clippy::new_ret_no_self)]
    pub fn new(exit: Exit, message: impl Display) -> Unexplained {
        Unexplained(Failure {
            exit,
            message: message.to_string(),
            below: Vec::new(),
            remedy: None,
            choices: Vec::new(),
            is_of_trace: false,
        })
    }

    /// Starts a failure whose message has several lines, such as a place in a user's file.
    pub fn in_lines(exit: Exit, message: impl Display) -> Unexplained {
        let message = message.to_string();
        let mut lines = message.lines().map(str::to_owned);
        Failure::new(exit, lines.next().unwrap_or_default()).below(lines)
    }

    /// Adds lines below the remedy.
    pub fn choices(self, lines: impl IntoIterator<Item = String>) -> Failure {
        Failure {
            choices: lines.into_iter().collect(),
            ..self
        }
    }

    /// Adds the name of the trace if the message is about a trace that it does not name.
    pub fn of_trace(self, name: &str) -> Failure {
        match self.is_of_trace {
            false => self,
            true => Failure {
                message: format!("{name}: {}", self.message),
                is_of_trace: false,
                ..self
            },
        }
    }

    /// Returns the failure to install a signal handler.
    pub fn no_signals(error: &ctrlc::Error) -> Failure {
        Failure::new(Exit::Missing, format!("cannot catch signals: {error}"))
            .remedy("a system call filter may forbid it: run corehop without the filter")
    }

    /// Returns the failure to create a temporary folder.
    pub fn no_temporary_folder(error: &std::io::Error) -> Failure {
        Failure::new(Exit::Output, format!("no temporary folder: {error}"))
            .remedy("set TMPDIR to a folder that can be written to")
    }

    /// Returns the failure for an output of `-o` that exists already, without `--force`.
    pub fn exists(path: &Path) -> Failure {
        Failure::new(Exit::Output, format!("{} exists already", path.display()))
            .remedy("name another file with -o, or add --force to replace it")
    }

    /// Returns all printed lines of the failure.
    pub fn lines(&self) -> Lines {
        let mut lines = Lines::new();
        line!(lines, "corehop: {}", self.message);
        for below in &self.below {
            line!(lines, "    {below}");
        }
        if let Some(remedy) = &self.remedy {
            line!(lines, "  remedy: {remedy}");
        }
        for choice in &self.choices {
            line!(lines, "    {choice}");
        }
        lines
    }

    /// Returns the exit code of the process.
    pub fn exit_code(&self) -> u8 {
        self.exit as u8
    }
}

const CORRECT_MACHINE: &str = "correct the file; docs/reference/machines.md describes its keys";

impl Display for Failure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl From<corehop_support::atomic_file::Error> for Failure {
    fn from(error: corehop_support::atomic_file::Error) -> Self {
        use corehop_support::atomic_file::Error;
        match error {
            Error::Exists { path } => Failure::exists(&path),
            Error::Unfit { .. } => Failure::new(Exit::Output, error)
                .remedy("name a regular file, a pipe, or a character device"),
            Error::NoFile { .. } => {
                Failure::new(Exit::Output, error).remedy("name a regular file with -o")
            }
            Error::Write {
                ref path,
                ref source,
            } => {
                let remedy = corehop_support::atomic_file::remedy(path, source);
                Failure::new(Exit::Output, error).remedy(remedy)
            }
        }
    }
}

impl From<corehop_support::processes::NotInPath> for Failure {
    fn from(error: corehop_support::processes::NotInPath) -> Self {
        let remedy = error.remedy();
        Failure::new(Exit::Input, error).remedy(remedy)
    }
}

impl From<corehop_symbolizer::Error> for Failure {
    fn from(error: corehop_symbolizer::Error) -> Self {
        let exit = match error.is_missing() {
            true => Exit::Missing,
            false => Exit::Input,
        };
        let remedy = error.remedy();
        Failure::new(exit, error).remedy(remedy)
    }
}

impl From<corehop_plan::Error> for Failure {
    fn from(error: corehop_plan::Error) -> Self {
        use corehop_plan::Error;
        const CORRECT: &str = "correct that line, or make the plan again with `corehop partition`";
        match error {
            Error::Read { .. } => Failure::new(Exit::Input, error)
                .remedy("name a plan that `corehop partition` wrote"),
            Error::Syntax { .. } => Failure::in_lines(Exit::Input, error).remedy(CORRECT),
            Error::Invalid { .. } => Failure::new(Exit::Input, error).remedy(CORRECT),
        }
    }
}

impl From<corehop_simulator::Error> for Failure {
    fn from(error: corehop_simulator::Error) -> Self {
        use corehop_simulator::Error;
        match error {
            Error::Trace(error) => error.into(),
            Error::MachineRead { .. } => Failure::new(Exit::Input, error)
                .remedy("name a bundled machine, `host`, or a file that can be read"),
            Error::MachineSyntax { .. } => {
                Failure::in_lines(Exit::Input, error).remedy(CORRECT_MACHINE)
            }
            Error::MachineGeometry { .. } => {
                Failure::new(Exit::Input, error).remedy(CORRECT_MACHINE)
            }
            _ => Failure::new(Exit::Input, error).explained(),
        }
    }
}

impl From<corehop_measure::calibration::Error> for Failure {
    fn from(error: corehop_measure::calibration::Error) -> Self {
        use corehop_measure::calibration::Error;
        match error {
            Error::Interrupted => Failure::new(Exit::Interrupted, error).explained(),
            Error::Patch(error) => error.into(),
            Error::Plan(error) => error.into(),
            Error::Folder { .. } => Failure::new(Exit::Output, error)
                .remedy("set TMPDIR to a folder that can be written to, and runs programs"),
            Error::NoCpu | Error::Pin { .. } => Failure::new(Exit::Missing, error)
                .remedy("widen the mask (taskset, the container's CPUs)"),
            Error::Memory { .. } => {
                Failure::new(Exit::Missing, error).remedy("stop other programs, or raise the limit")
            }
            Error::Unpatchable { .. } | Error::NotStarted { .. } | Error::Program { .. } => {
                Failure::new(Exit::Missing, error).remedy("`corehop doctor` lists what hops need")
            }
        }
    }
}

impl From<corehop_traces::Error> for Failure {
    fn from(error: corehop_traces::Error) -> Self {
        use corehop_traces::Error;
        match error {
            Error::Write {
                ref path,
                ref source,
            } => {
                let remedy = corehop_support::atomic_file::remedy(path, source);
                Failure::new(Exit::Output, error).remedy(remedy)
            }
            Error::Read { .. } => {
                Failure::new(Exit::Input, error).remedy("name a trace that `corehop record` wrote")
            }
            Error::Unrecordable { .. } => {
                Failure::new(Exit::Input, error).remedy("please report this")
            }
            _ => Failure::new(Exit::Input, error).explained(),
        }
    }
}

impl From<corehop_partitioner::attribution::Error> for Failure {
    fn from(error: corehop_partitioner::attribution::Error) -> Self {
        use corehop_partitioner::attribution::Error;
        match error {
            Error::Plan { .. } => Failure::new(Exit::Input, error).explained(),
            Error::Replay(error) => error.into(),
            Error::Neighbours(error) => error.into(),
        }
    }
}

impl From<corehop_report::Error> for Failure {
    fn from(error: corehop_report::Error) -> Self {
        use corehop_report::Error;
        match error {
            Error::Trace(error) => error.into(),
            Error::Replay(error) => error.into(),
            Error::Search(error) => error.into(),
            Error::Explanation(error) => error.into(),
            Error::Output(error) => error.into(),
            Error::NoSuchRequest { complete, .. } => {
                Failure::new(Exit::Usage, format!("--requests: {error}")).remedy(format!(
                    "the trace has {complete} complete requests, counted from 0"
                ))
            }
            Error::SearchedRequest { .. } => {
                Failure::new(Exit::Usage, format!("--requests: {error}"))
                    .remedy("add --warm-up REQUESTS, with which all requests are replayed")
            }
            Error::TooManyRequests { most, .. } => {
                Failure::new(Exit::Usage, format!("--requests: {error}"))
                    .remedy(format!("name at most {most}"))
            }
        }
    }
}

impl From<corehop_report::SweepError> for Failure {
    fn from(error: corehop_report::SweepError) -> Self {
        Failure::new(Exit::Input, format!("--sweep {error}"))
            .remedy("`corehop partition --cores 4 --sweep --json TRACE > sweep.json` writes one")
    }
}

impl From<corehop_partitioner::machine_list::Error> for Failure {
    fn from(error: corehop_partitioner::machine_list::Error) -> Self {
        use corehop_partitioner::machine_list::Error;
        match error {
            Error::Weight { .. } => {
                Failure::new(Exit::Usage, format!("--machine {error}")).explained()
            }
            Error::Machine(error) => error.into(),
        }
    }
}

impl From<corehop_partitioner::checkpoint::Error> for Failure {
    fn from(error: corehop_partitioner::checkpoint::Error) -> Self {
        use corehop_partitioner::checkpoint::Error;
        match error {
            Error::Output(corehop_support::atomic_file::Error::Write {
                ref path,
                ref source,
            }) => {
                let remedy = corehop_support::atomic_file::remedy(path, source);
                Failure::new(Exit::Output, error).remedy(remedy)
            }
            Error::Output(_) => {
                Failure::new(Exit::Output, error).remedy("name another file with --checkpoint")
            }
            Error::Read { .. } => Failure::new(Exit::Input, error)
                .remedy("name a checkpoint that can be read, or leave --checkpoint out"),
            _ => Failure::new(Exit::Input, error).explained(),
        }
    }
}

impl From<corehop_partitioner::Error> for Failure {
    fn from(error: corehop_partitioner::Error) -> Self {
        use corehop_partitioner::Error;
        match error {
            Error::Trace(error) => error.into(),
            Error::Replay(error) => error.into(),
            Error::Timed(corehop_simulator::timing::Error::Trace(error)) => error.into(),
            Error::NoRequests
            | Error::NoFunctions
            | Error::NoPointers
            | Error::TooFewRequests { .. }
            | Error::NonePatchable { .. }
            | Error::TooFewCandidates { .. } => {
                Failure::new(Exit::Input, error).of_some_trace().explained()
            }
            _ => Failure::new(Exit::Input, error).explained(),
        }
    }
}
