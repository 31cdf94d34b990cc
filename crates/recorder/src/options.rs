//! The parameters of a recording.

use crate::allocator::Allocator;
use crate::plugin::CarriedPlugins;
use corehop_support::quantity::size::Size;
use std::path::PathBuf;

/// The parameters of a guest.
#[derive(Clone, Debug)]
pub struct SystemOptions {
    /// Shell command that generates the load.
    pub load: Option<String>,
    /// Files and whole folders that the guest gets at the same paths.
    pub copied: Vec<PathBuf>,
    /// A folder used as the guest's root; files for the commands are added.
    pub rootfs: Option<PathBuf>,
    /// Number of the guest's processors, 1 to 16.
    pub cpus: u32,
    /// The guest's memory, in MiB.
    pub memory_mib: u64,
}

/// The parameters of a recording.
#[derive(Clone, Debug)]
pub struct Options {
    /// Path of the trace.
    pub output: PathBuf,
    /// The request marker in the user's form (docs/guide/requests.md).
    pub request_at: String,
    /// Number of requests to record; if `None`, all until the server ends.
    pub requests: Option<u64>,
    /// Sample them at random from this many.
    pub of: Option<u64>,
    /// Seed of the sample.
    pub seed: u64,
    /// Record nothing until a client starts the recording.
    pub paused: bool,
    /// Limit of the resident memory of server and recorder together.
    pub memory_limit: Size,
    /// Compression level of zstd.
    pub compression_level: i32,
    /// Omit accesses that follow from others while recording; the trace contains them anyway.
    pub elision: bool,
    /// Further allocator functions.
    pub allocators: Vec<Allocator>,
    /// A library that the server loads first.
    pub preload: Option<PathBuf>,
    /// Let the server continue when enough requests are recorded.
    pub keep_running: bool,
    /// Replace an existing trace.
    pub force: bool,
    /// Log file for the server's output, if it does not go to this process's own output. The server
    /// then ends with this process.
    pub log: Option<PathBuf>,
    /// The server and its arguments; at least the server.
    pub command: Vec<String>,
    /// Record a whole machine that runs the server.
    pub system: Option<SystemOptions>,
    /// The plugins embedded in this program.
    pub plugins: CarriedPlugins,
}

impl Options {
    /// Returns the parameters of a recording of the first requests, or of all, with the defaults of
    /// all other parameters.
    #[must_use]
    pub fn of_first(
        requests: Option<u64>,
        (output, request_at): (PathBuf, String),
        command: Vec<String>,
        memory_limit: Size,
        plugins: CarriedPlugins,
    ) -> Options {
        Options {
            output,
            request_at,
            requests,
            of: None,
            seed: 1,
            paused: false,
            memory_limit,
            compression_level: 1,
            elision: true,
            allocators: Vec::new(),
            preload: None,
            keep_running: false,
            force: false,
            log: None,
            command,
            system: None,
            plugins,
        }
    }
}
