//! A server and its load: the traits that each server's file implements.
//!
//! A load is driven in batches, each large enough that the client sleeps while the server works.
//! Client and server share two CPUs, and a client that is always awake would take one of them. A
//! server creates its own data, the same for every variant, so that all serve the same requests.

use crate::Outcome;
use crate::mariadb::installed;
use crate::running::{Place, Running};

/// How a server is started.
#[derive(Default)]
pub struct Launch {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Its environment variables.
    pub environment: Vec<(String, String)>,
    /// Whether it refuses to run as root.
    pub refuses_root: bool,
}

/// A server with one load.
pub trait Server {
    /// Its name in `COREHOP_BENCH` and in the table.
    fn name(&self) -> &'static str;
    fn load_name(&self) -> &'static str;
    /// Files that it needs to be measured, each with its Debian package.
    fn needs(&self) -> &'static [(&'static str, &'static str)];
    /// Returns what else is missing here, and the remedy.
    fn lacks(&self) -> Option<String> {
        None
    }
    /// Returns the size of a phase of its load, relative to an L2; `None` if it is not adjustable.
    fn size_of_l2(&self) -> Option<f64> {
        None
    }
    /// Numbers of connections to measure it with.
    fn connections(&self) -> &[u32] {
        &[1]
    }
    /// Returns where its requests begin, in the syntax of `corehop record --request-at`.
    fn request_at(&self) -> &'static str;
    /// Whether it loads code after its start that the plan may contain. `corehop run` cannot hook
    /// that, so copies of its files are patched.
    fn has_late_modules(&self) -> bool {
        false
    }
    /// Number of recorded requests: long ones have many accesses each to search in.
    fn recorded_requests(&self) -> u64 {
        100
    }
    /// Writes its input files into its folder. Returns how to start it there to listen on a port.
    fn lay_out(&self, place: &Place) -> Outcome<Launch>;
    /// Waits until it answers, and fills it with data.
    fn fill(&self, running: &mut Running) -> Outcome<()>;
    /// Returns a load on this many connections. Under the recorder, a batch is one request, so that
    /// the recorder sees where each begins.
    fn connect(&self, running: &mut Running, connections: u32) -> Outcome<Box<dyn Load>>;
}

/// Result of a batch of requests.
#[derive(Clone, Copy, Default)]
pub struct Answered {
    pub requests: u64,
    pub seconds: f64,
}

/// Load of a running server.
pub trait Load {
    /// Sends one batch of requests and waits for the answers.
    fn batch(&mut self) -> Outcome<Answered>;
}

/// Returns which file that a server needs is not installed, and the remedy.
pub fn missing(server: &dyn Server) -> Option<String> {
    let mut needs = server.needs().iter();
    match needs.find(|(file, _)| !installed::file(file).exists()) {
        Some((file, package)) => Some(format!("{file} is missing: apt-get install {package}")),
        None => server.lacks(),
    }
}

/// Returns why a server cannot be recorded here, and the remedy.
pub fn unrecordable(server: &dyn Server) -> Option<String> {
    match corehop_recorder::tools::qemu() {
        Ok(_) => missing(server),
        Err(error) => Some(error.to_string()),
    }
}
