//! Why this machine could not be measured.

use std::path::PathBuf;

/// Why there is no calibration, or no program whose hops could be timed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This process may use no CPU that is known.
    #[error("the kernel reports no CPU that this process may use")]
    NoCpu,
    /// A thread could not be kept on a CPU.
    #[error("CPU {cpu}: cannot keep a thread there: {source}")]
    Pin {
        /// The CPU.
        cpu: usize,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is no memory to walk through.
    #[error("cannot map {bytes} bytes to walk through: {source}")]
    Memory {
        /// How much was asked for.
        bytes: u64,
        /// What the system said.
        source: std::io::Error,
    },
    /// A program to be timed cannot be kept in a temporary folder.
    #[error("{path}: cannot keep a program there: {source}")]
    Folder {
        /// The folder or file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A program to be timed has not what hooks need.
    #[error("{path}: has no {what}")]
    Unpatchable {
        /// The program.
        path: PathBuf,
        /// What it lacks.
        what: String,
    },
    /// A program to be timed cannot be patched.
    #[error(transparent)]
    Patch(#[from] corehop_patcher::Error),
    /// The plan of a program to be timed cannot be written.
    #[error(transparent)]
    Plan(#[from] corehop_support::atomic_file::Error),
    /// A program to be timed does not start.
    #[error("{path}: cannot run it: {source}")]
    NotStarted {
        /// The program.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A program to be timed failed, or printed what are no numbers.
    #[error("{path} {words}: {said}")]
    Program {
        /// The program.
        path: PathBuf,
        /// Its arguments.
        words: String,
        /// What it said, or what is wrong with what it printed.
        said: String,
    },
    /// Whoever watches asked for an end.
    #[error("interrupted; nothing was written")]
    Interrupted,
}
