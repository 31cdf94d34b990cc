//! What to record, and how.

use crate::plugin::CarriedPlugins;
use corehop_support::quantity::size::Size;
use std::path::PathBuf;

/// What else is on the machine that is recorded.
#[derive(Clone, Debug)]
pub struct SystemOptions {
    /// What puts the server under load, a command for a shell.
    pub load: Option<String>,
    /// Files and whole folders that the machine has at the same paths.
    pub copied: Vec<PathBuf>,
    /// A folder that is the machine's root, but for what is put there for the commands.
    pub rootfs: Option<PathBuf>,
    /// The machine's processors, 1 to 16.
    pub cpus: u32,
    /// The machine's memory, in MiB.
    pub memory_mib: u64,
}

/// What to record, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to write the trace.
    pub output: PathBuf,
    /// Where a request begins, as the user names it (docs/guide/requests.md).
    pub request_at: String,
    /// How many requests to record; without it, all until the server ends.
    pub requests: Option<u64>,
    /// Choose them by chance among so many.
    pub of: Option<u64>,
    /// What the choice follows from.
    pub seed: u64,
    /// Record nothing until somebody starts it.
    pub paused: bool,
    /// The resident memory that server and recorder may take together.
    pub memory_limit: Size,
    /// Compression level of zstd.
    pub compression_level: i32,
    /// Leave out what follows from other accesses while recording; the trace has it all the same.
    pub elision: bool,
    /// A library that the server is to load first.
    pub preload: Option<PathBuf>,
    /// Let the server run on when enough requests are recorded.
    pub keep_running: bool,
    /// Replace the trace where it exists.
    pub force: bool,
    /// Where the server's messages go, if not where this process's own go. The server then ends
    /// with this process.
    pub log: Option<PathBuf>,
    /// The server and its arguments; at least the server.
    pub command: Vec<String>,
    /// Record a whole machine, on which the server runs.
    pub system: Option<SystemOptions>,
    /// The plugins that this program carries.
    pub plugins: CarriedPlugins,
}
