//! A server and its load: what every file of a server implements, and nothing else differs.
//!
//! A load is driven in batches, each large enough that the client sleeps while the server works:
//! on two CPUs the two share a client that is always awake would take one of them. A server brings
//! its data itself, the same for every variant, so that all serve the same requests.

use crate::Outcome;
use crate::running::{Place, Running};
use std::path::Path;

/// What records servers, with Debian's package that has it.
pub const EMULATOR: (&str, &str) = ("/usr/bin/qemu-x86_64", "qemu-user");

/// How a server is started.
#[derive(Default)]
pub struct Launch {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// What it needs in its environment.
    pub environment: Vec<(String, String)>,
    /// Whether it refuses to run as root.
    pub refuses_root: bool,
}

/// A server with one load.
pub trait Server {
    /// By which `COREHOP_BENCH` and the table call it.
    fn name(&self) -> &'static str;
    fn load_name(&self) -> &'static str;
    /// Files without which it cannot be measured, each with Debian's package that has it.
    fn needs(&self) -> &'static [(&'static str, &'static str)];
    /// What else it lacks here, and what to do about it.
    fn lacks(&self) -> Option<String> {
        None
    }
    /// How large a phase of its load is, as a share of an L2; nothing where that cannot be chosen.
    fn size_of_l2(&self) -> Option<f64> {
        None
    }
    /// With how many connections it is measured.
    fn connections(&self) -> &[u32] {
        &[1]
    }
    /// Where its requests begin, as `corehop record --request-at` has it.
    fn request_at(&self) -> &'static str;
    /// Whether it loads code after it has started that the plan may name. `corehop run` cannot hook
    /// that, so that copies of its files are patched.
    fn has_late_modules(&self) -> bool {
        false
    }
    /// How many requests are recorded: long ones are many accesses each to search in.
    fn recorded_requests(&self) -> u64 {
        100
    }
    /// Writes what it reads into a folder of its own; how it is started there to listen on a port.
    fn lay_out(&self, place: &Place) -> Outcome<Launch>;
    /// Waits until it answers and has its data.
    fn fill(&self, running: &mut Running) -> Outcome<()>;
    /// A load on this many connections. Of a server under the recorder it is one request a batch,
    /// so that the recorder sees where each begins.
    fn connect(&self, running: &mut Running, connections: u32) -> Outcome<Box<dyn Load>>;
}

/// What a batch of requests took.
#[derive(Clone, Copy, Default)]
pub struct Answered {
    pub requests: u64,
    pub seconds: f64,
}

/// What drives a running server.
pub trait Load {
    /// Has one batch of requests answered.
    fn batch(&mut self) -> Outcome<Answered>;
}

/// What is not installed that a server, or what is to be done with it, needs, and what to do about
/// that.
pub fn missing(server: &dyn Server, more: &[(&str, &str)]) -> Option<String> {
    let mut needs = server.needs().iter().chain(more);
    match needs.find(|(file, _)| !Path::new(file).exists()) {
        Some((file, package)) => Some(format!("{file} is missing: apt-get install {package}")),
        None => server.lacks(),
    }
}
