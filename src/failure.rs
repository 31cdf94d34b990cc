//! One way to fail: every subcommand ends in a [`Failure`], and only `main` prints it.
//!
//! The exit codes are part of the interface: scripts tell bad input from a machine that lacks
//! something without reading messages.

use std::fmt::Display;
use std::process::ExitCode;

/// Exit codes, as `corehop --help` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// `check` or `patch --verify` looked and found something wrong.
    Findings = 1,
    /// The command line asks for something that makes no sense.
    Usage = 2,
    /// An input (trace, plan, machine, binary) is missing, unreadable or not what it should be.
    Input = 3,
    /// An output cannot be written, or exists and `--force` was not given.
    Output = 4,
    /// What was asked for would not be safe, or the plan would not pay, so nothing was done.
    Refused = 5,
    /// Something this machine lacks: QEMU, the plugin, the symbolizer.
    Missing = 6,
    /// The server that was started failed.
    Server = 7,
    /// Interrupted by Ctrl-C or SIGTERM.
    Interrupted = 130,
}

/// Why a subcommand failed: the file and place, and what to do about it.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    message: String,
    remedy: Option<String>,
}

impl Failure {
    /// A failure that ends the process with `exit` and says `message`.
    pub fn new(exit: Exit, message: impl Display) -> Self {
        Failure {
            exit,
            message: message.to_string(),
            remedy: None,
        }
    }

    /// Adds what the user can do about it.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Display) -> Self {
        self.remedy = Some(remedy.to_string());
        self
    }

    /// Prints the failure to standard error and gives its exit code.
    pub fn report(&self) -> ExitCode {
        eprintln!("corehop: {}", self.message);
        if let Some(remedy) = &self.remedy {
            eprintln!("  remedy: {remedy}");
        }
        ExitCode::from(self.exit as u8)
    }
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl From<corehop_plans::Error> for Failure {
    fn from(error: corehop_plans::Error) -> Self {
        let exit = match error {
            corehop_plans::Error::Write { .. } => Exit::Output,
            _ => Exit::Input,
        };
        Failure::new(exit, error)
    }
}

impl From<corehop_simulator::Error> for Failure {
    fn from(error: corehop_simulator::Error) -> Self {
        Failure::new(Exit::Input, error)
    }
}

impl From<corehop_traces::Error> for Failure {
    fn from(error: corehop_traces::Error) -> Self {
        let exit = match error {
            corehop_traces::Error::Write { .. } => Exit::Output,
            _ => Exit::Input,
        };
        Failure::new(exit, error)
    }
}

impl From<corehop_partitioner::checkpoint::Error> for Failure {
    fn from(error: corehop_partitioner::checkpoint::Error) -> Self {
        let exit = match error {
            corehop_partitioner::checkpoint::Error::Write { .. } => Exit::Output,
            _ => Exit::Input,
        };
        Failure::new(exit, error)
    }
}

impl From<corehop_partitioner::Error> for Failure {
    fn from(error: corehop_partitioner::Error) -> Self {
        Failure::new(Exit::Input, error)
    }
}
