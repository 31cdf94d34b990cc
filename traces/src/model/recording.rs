//! Data of a recording: its header, its options, and its result.

use crate::model::limits::MAX_EXECUTIONS;
use std::path::{Path, PathBuf};

/// Data known when a recording begins; unknown fields are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Program that made the trace, and its version.
    pub created_by: String,
    /// The recorded command and its arguments.
    pub command: Vec<String>,
    /// Where a request begins, as the user specified it.
    pub request_at: String,
    /// Version of the QEMU that ran the command.
    pub qemu_version: String,
    /// Architecture of the recorded program: `x86_64`.
    pub architecture: String,
    /// Each process has its own address space, and the trace contains what they share. Otherwise
    /// equal addresses are the same memory in all processes.
    pub has_address_spaces: bool,
}

/// Options for writing a trace.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// zstd level, 1 (fast) to 22 (small).
    pub compression_level: i32,
    /// Executions of one thread in one chunk, at most 2^20. Larger chunks compress better. Smaller
    /// ones survive a kill earlier and take less memory to read.
    pub executions_per_chunk: usize,
}

impl Default for WriterOptions {
    fn default() -> Self {
        WriterOptions {
            compression_level: 3,
            executions_per_chunk: MAX_EXECUTIONS,
        }
    }
}

/// A note that the user added while recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// How many requests the server had begun by then, recorded or not.
    pub requests: u64,
    /// The user's text.
    pub text: String,
}

/// Why a recording ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The requested number of requests has ended.
    RequestsReached,
    /// The server exited.
    ServerExited,
    /// The user stopped the recording.
    Interrupted,
    /// An error occurred; the text describes it.
    Failed(String),
}

/// Size and totals of a finished trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Size of the file in bytes.
    pub size_bytes: u64,
    /// Executions of code blocks.
    pub executions: u64,
    /// Fetches, loads and stores.
    pub accesses: u64,
    /// Requests, complete or not.
    pub requests: u64,
}

/// Returns the path of the file that a trace is written to until it is finished: `<path>.partial`.
pub fn partial_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}
