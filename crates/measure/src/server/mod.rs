//! A server that is measured: whether it is ready, what loads it, what it tells of its hops.
//!
//! The load is the user's own command, because nobody else knows what the server is for. What fills
//! it with data is another, which no figure is to show. Rejected: one command for both, whose time
//! would be mostly that of filling.

pub(crate) mod environment;
pub(crate) mod load;
pub(crate) mod orders;
pub mod printed;
mod ready;
mod role;
pub(crate) mod started;

pub use environment::{Backend, tunables_here};
pub use load::{BadExpression, expression, run};
pub use orders::Hops;
pub use ready::{Ready, Sign};
pub use role::Role;

pub(crate) use ready::processes_of;

use regex::Regex;

/// How a server is put under load.
#[derive(Clone, Debug)]
pub struct UnderLoad {
    /// The load, as a shell command; without it the server must end by itself and is the load.
    pub load: Option<String>,
    /// What fills each server that was started with data, as a shell command: run once, when the
    /// server is ready.
    pub prepare: Option<String>,
    /// When that is.
    pub ready: Ready,
    /// Loads on each server before the one that counts; without a load, runs of each side before
    /// the rounds.
    pub warm_up: u32,
    /// What finds throughput in the output, see [`expression`].
    pub throughput: Option<Regex>,
    /// What finds latency there, in whichever unit; less is better, and it decides nothing.
    pub latency: Option<Regex>,
}
