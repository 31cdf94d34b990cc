//! What a recording is told when it begins, and says when it ends.

use crate::model::limits::MAX_EXECUTIONS;
use std::path::{Path, PathBuf};

/// What is known when a recording begins; empty where something is not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Program that made the trace, and its version.
    pub created_by: String,
    /// The recorded command and its arguments.
    pub command: Vec<String>,
    /// Where a request begins, as the user named it.
    pub request_at: String,
    /// Version of the QEMU that ran the command.
    pub qemu_version: String,
    /// Architecture of the recorded program: `x86_64`.
    pub architecture: String,
    /// Each process has an address space of its own, and the trace says what they share. Otherwise
    /// equal addresses are the same memory, whatever process uses them.
    pub has_address_spaces: bool,
}

/// How a trace is written.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// zstd level, 1 (fast) to 22 (small).
    pub compression_level: i32,
    /// Executions of one thread in one chunk, at most 2^20. More compress better; fewer survive a
    /// kill earlier and take less memory to read.
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

/// What the user noted while recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Requests that the server had begun by then, recorded or not.
    pub requests: u64,
    /// The user's words.
    pub text: String,
}

/// Why a recording ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// As many requests have ended as were asked for.
    RequestsReached,
    /// The server ended by itself.
    ServerExited,
    /// The user stopped the recording.
    Interrupted,
    /// Something went wrong; the text says what.
    Failed(String),
}

/// What a finished trace holds.
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

/// The file that a trace is written to until it is finished: `<path>.partial`.
pub fn partial_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}
