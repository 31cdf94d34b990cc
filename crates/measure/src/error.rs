//! Why a measurement failed: the machine, the server, its load, or what the load prints.
//!
//! What a program had printed last comes with the error that it explains.

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
    /// The observer asked for the end.
    #[error("interrupted; every server was ended")]
    Interrupted,
    /// The server's program is not found.
    #[error(transparent)]
    NotInPath(#[from] NotInPath),
    /// The plan's hooks cannot be made.
    #[error(transparent)]
    Hooks(#[from] corehop_patcher::Error),
    /// There is no place for what programs print.
    #[error("no temporary folder: {0}")]
    NoFolder(io::Error),
    /// What a program prints cannot be kept.
    #[error("{path}: {source}")]
    Unwritable {
        /// The file for it.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The server's program cannot be started.
    #[error("{program}: cannot be started: {source}")]
    NotStarted {
        /// The file.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another server would be measured.
    #[error("port {port} is in use before the server is started")]
    PortTaken {
        /// The port of the machine itself.
        port: u16,
    },
    /// The server did not become ready.
    #[error("the server was not ready within {seconds} s")]
    NotReady {
        /// How long it was waited for.
        seconds: f64,
        /// What the server printed last.
        said: Vec<String>,
    },
    /// The server ended while it was waited for.
    #[error("the server ended before it was ready, {status}")]
    EndedUnready {
        /// How it ended.
        status: ExitStatus,
        /// What it printed last.
        said: Vec<String>,
    },
    /// The server ended under load.
    #[error("the server ended, {status}")]
    Ended {
        /// How it ended.
        status: ExitStatus,
        /// What it printed last.
        said: Vec<String>,
    },
    /// A program that is its own load failed.
    #[error("the program failed, {status}")]
    ProgramFailed {
        /// How it ended.
        status: ExitStatus,
        /// What it printed last.
        said: Vec<String>,
    },
    /// The shell that the user's commands need cannot be started.
    #[error("sh: {source}")]
    NoShell {
        /// Which command it was for.
        role: Role,
        /// What the system said.
        source: io::Error,
    },
    /// A command of the user's failed.
    #[error("the {role} failed, {status}")]
    LoadFailed {
        /// Which one.
        role: Role,
        /// Its text.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// What it printed last.
        said: Vec<String>,
    },
    /// The load printed no throughput, or no latency.
    #[error("{option} {expression}: {problem}")]
    NoThroughput {
        /// The option that has the expression.
        option: &'static str,
        /// What was to find it.
        expression: Regex,
        /// Why that found none.
        problem: Box<NoNumber>,
        /// What the load printed last.
        said: Vec<String>,
    },
    /// The kernel does not let pages be looked at.
    #[error("cannot observe the pages of the server: {0}")]
    NoPages(procfs::ProcError),
    /// The process to be screened is not there.
    #[error("there is no process {process}")]
    NoProcess {
        /// Its number.
        process: u32,
    },
    /// The load was over before anything could be told.
    #[error("the load ended after {seconds:.2} s, too soon to observe pages three times")]
    TooShort {
        /// How long it took.
        seconds: f64,
    },
    /// The function whose calls are counted was never called.
    #[error("{symbol}: the function was never called")]
    NeverCalled {
        /// The function.
        symbol: String,
    },
}

/// Why an expression found no throughput.
#[derive(Debug, thiserror::Error)]
pub enum NoNumber {
    /// It did not match.
    #[error("the output has no match")]
    NoMatch,
    /// What it matched is no throughput.
    #[error("{0:?} is not a number above 0")]
    NotPositive(String),
    /// What it matched may be either of two numbers.
    #[error(transparent)]
    Ambiguous(printed::NoNumber),
    /// It matched a part of a number.
    #[error("it matches {found:?}, a part of {longer:?}")]
    Cut {
        /// The part.
        found: String,
        /// The number.
        longer: String,
    },
}

impl Error {
    /// What a program had printed last, a line each; empty where no program's words explain it.
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
