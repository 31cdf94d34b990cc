//! Why a calibration failed.

use std::path::PathBuf;

/// Why there is no calibration, or no program to time hops with.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel reports no CPU that this process may use.
    #[error("the kernel reports no CPU that this process may use")]
    NoCpu,
    /// A thread could not be kept on a CPU.
    #[error("CPU {cpu}: cannot keep a thread there: {source}")]
    Pin {
        /// The CPU.
        cpu: usize,
        /// The system error.
        source: std::io::Error,
    },
    /// There is no memory to walk through.
    #[error("cannot map {bytes} bytes to walk through: {source}")]
    Memory {
        /// Requested size, in bytes.
        bytes: u64,
        /// The system error.
        source: std::io::Error,
    },
    /// A program to be timed cannot be written to a temporary folder.
    #[error("{path}: cannot keep a program there: {source}")]
    Folder {
        /// The folder or file.
        path: PathBuf,
        /// The system error.
        source: std::io::Error,
    },
    /// A program to be timed lacks something that hooks need.
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
    /// A program to be timed cannot be started.
    #[error("{path}: cannot run it: {source}")]
    NotStarted {
        /// The program.
        path: PathBuf,
        /// The system error.
        source: std::io::Error,
    },
    /// A program to be timed failed, or its output is not numeric.
    #[error("{path} {words}: {said}")]
    Program {
        /// The program.
        path: PathBuf,
        /// Its arguments.
        words: String,
        /// Its output, or what is wrong with it.
        said: String,
    },
    /// The observer requested the end.
    #[error("interrupted; nothing was written")]
    Interrupted,
}
