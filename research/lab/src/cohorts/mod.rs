//! Cohort scheduling, after Larus and Parkes ("Using cohort scheduling to enhance server
//! performance", 2002): a core runs threads that want the same code one after the other.
//!
//! [`LIBRARY`] is corehop's runtime with such an order of its cores' threads, for patched programs.
//! [`SCHEDULERS`] are two schedulers of the timed replay: `hooks` does what that runtime does, and
//! `stages` what nobody does yet.

mod hooks;
mod stages;
mod turn;

use corehop_simulator::timing::{self, Entry};

/// The shared object, for the place of a patched program's runtime (`research/lab/runtime`).
pub const LIBRARY: &[u8] = include_bytes!(env!("COREHOP_LAB_RUNTIME"));

/// The schedulers of this experiment.
pub static SCHEDULERS: [&Entry; 2] = [&hooks::ENTRY, &stages::ENTRY];

/// All that a replay may be asked for: the simulator's, and these.
#[must_use]
pub fn schedulers() -> Vec<&'static Entry> {
    let known = timing::SCHEDULERS.iter().copied();
    known.chain(SCHEDULERS).collect()
}
