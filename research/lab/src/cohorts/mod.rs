//! Cohort scheduling, after Larus and Parkes ("Using cohort scheduling to enhance server
//! performance", 2002): a core runs threads that need the same code consecutively.
//!
//! [`LIBRARY`] is corehop's runtime with this order of its cores' threads, for patched programs.
//! [`SCHEDULERS`] are two schedulers of the timed replay: `hooks` equals that runtime, and `stages`
//! exists only in simulation.

mod hooks;
mod stages;
mod turn;

use corehop_simulator::timing::{self, Entry};

/// The shared object that replaces a patched program's runtime (`research/lab/runtime`).
pub const LIBRARY: &[u8] = include_bytes!(env!("COREHOP_LAB_RUNTIME"));

/// The schedulers of this experiment.
pub static SCHEDULERS: [&Entry; 2] = [&hooks::ENTRY, &stages::ENTRY];

/// Returns all schedulers for a replay: the simulator's, and these.
#[must_use]
pub fn schedulers() -> Vec<&'static Entry> {
    let known = timing::SCHEDULERS.iter().copied();
    known.chain(SCHEDULERS).collect()
}
