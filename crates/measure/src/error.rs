//! Why a measurement failed: the machine, the server, its load, or the load's output.
//!
//! If a program's output explains an error, the error holds the program's last lines.

use crate::server::Role;
use corehop_support::processes::NotInPath;
use corehop_support::quantity::printed;
use regex::Regex;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The observer requested the end.
    #[error("interrupted; every server was ended")]
    Interrupted,
    /// The server's program is not found.
    #[error(transparent)]
    NotInPath(#[from] NotInPath),
    /// The plan's hooks cannot be created.
    #[error(transparent)]
    Hooks(#[from] corehop_patcher::Error),
    /// There is no folder for programs' output.
    #[error("no temporary folder: {0}")]
    NoFolder(io::Error),
    /// A program's output cannot be stored.
    #[error("{path}: {source}")]
    Unwritable {
        /// The output file.
        path: PathBuf,
        /// The system error.
        source: io::Error,
    },
    /// The server's program cannot be started.
    #[error("{program}: cannot be started: {source}")]
    NotStarted {
        /// The program's file.
        program: PathBuf,
        /// The system error.
        source: io::Error,
    },
    /// Another server already uses the port and would be measured instead.
    #[error("port {port} is in use before the server is started")]
    PortTaken {
        /// The port on this machine.
        port: u16,
    },
    /// The server did not become ready.
    #[error("the server was not ready within {seconds} s")]
    NotReady {
        /// Time limit, in seconds.
        seconds: f64,
        /// The last lines that the server printed.
        said: Vec<String>,
    },
    /// The server ended before it was ready.
    #[error("the server ended before it was ready, {status}")]
    EndedUnready {
        /// Exit status.
        status: ExitStatus,
        /// The last lines that it printed.
        said: Vec<String>,
    },
    /// The server ended under load.
    #[error("the server ended, {status}")]
    Ended {
        /// Exit status.
        status: ExitStatus,
        /// The last lines that it printed.
        said: Vec<String>,
    },
    /// A program that is its own load failed.
    #[error("the program failed, {status}")]
    ProgramFailed {
        /// Exit status.
        status: ExitStatus,
        /// The last lines that it printed.
        said: Vec<String>,
    },
    /// The shell for the user's commands cannot be started.
    #[error("sh: {source}")]
    NoShell {
        /// The command's role.
        role: Role,
        /// The system error.
        source: io::Error,
    },
    /// One of the user's commands failed.
    #[error("the {role} failed, {status}")]
    LoadFailed {
        /// The command's role.
        role: Role,
        /// The command's text.
        command: String,
        /// Exit status.
        status: ExitStatus,
        /// The last lines that it printed.
        said: Vec<String>,
    },
    /// The load printed no throughput, or no latency.
    #[error("{option} {expression}: {problem}")]
    NoThroughput {
        /// The option that sets the expression.
        option: &'static str,
        /// The expression that should find the number.
        expression: Regex,
        /// Why the expression found none.
        problem: Box<NoNumber>,
        /// The last lines that the load printed.
        said: Vec<String>,
    },
    /// The kernel does not allow to observe pages.
    #[error("cannot observe the pages of the server: {0}")]
    NoPages(procfs::ProcError),
    /// The process to be screened does not exist.
    #[error("there is no process {process}")]
    NoProcess {
        /// Its process ID.
        process: u32,
    },
    /// The load ended too soon for a result.
    #[error("the load ended after {seconds:.2} s, too soon to observe pages three times")]
    TooShort {
        /// Duration of the load, in seconds.
        seconds: f64,
    },
    /// The function to be counted was never called.
    #[error("{symbol}: the function was never called")]
    NeverCalled {
        /// The function's symbol.
        symbol: String,
    },
}

/// Why an expression found no throughput.
#[derive(Debug, thiserror::Error)]
pub enum NoNumber {
    /// The expression did not match.
    #[error("the output has no match")]
    NoMatch,
    /// The match is not a positive number.
    #[error("{0:?} is not a number above 0")]
    NotPositive(String),
    /// The match may be either of two numbers.
    #[error(transparent)]
    Ambiguous(printed::NoNumber),
    /// The match is part of a longer number.
    #[error("it matches {found:?}, a part of {longer:?}")]
    Cut {
        /// The match.
        found: String,
        /// The whole number.
        longer: String,
    },
}

impl Error {
    /// Returns the last lines that a program printed; empty if no program's output explains the
    /// error.
    pub fn said(&self) -> &[String] {
        match self {
            Error::NotReady { said, .. }
            | Error::EndedUnready { said, .. }
            | Error::Ended { said, .. }
            | Error::ProgramFailed { said, .. }
            | Error::LoadFailed { said, .. }
            | Error::NoThroughput { said, .. } => said,
            _ => &[],
        }
    }
}
