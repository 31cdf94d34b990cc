//! A server under measurement: whether it is ready, its load, and the hops that it reports.
//!
//! The load is the user's own command, because only the user knows what the server does. A separate
//! command fills the server with data, which no figure should include. Rejected: one command for
//! both, whose time would mostly be that of filling.

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
    /// Shell command of the load. Without it, the run of the server is the load, and it must exit.
    pub load: Option<String>,
    /// Shell command that fills each started server with data; runs once, when the server is ready.
    pub prepare: Option<String>,
    /// When the server is ready.
    pub ready: Ready,
    /// Number of loads on each server before the measured one. Without a load, the number of runs
    /// of each side before the rounds.
    pub warm_up: u32,
    /// Finds the throughput in the output, see [`expression`].
    pub throughput: Option<Regex>,
    /// Finds the latency in the output, in any unit. Less is better; it does not influence
    /// decisions.
    pub latency: Option<Regex>,
}
