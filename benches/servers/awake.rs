//! Whether CPUs are kept from halting while servers are measured.
//!
//! Where client and server wake each other for each request, how often a CPU has halted by then
//! decides the time more than anything the server does, and whoever spins in the meantime, as a
//! carrier does, seems to gain. Kept awake, neither is so.

use crate::Outcome;
use corehop_support::processes::Awake;

/// If `COREHOP_AWAKE` asks for it.
pub fn if_asked() -> Outcome<Option<Awake>> {
    match std::env::var_os("COREHOP_AWAKE") {
        Some(asked) if asked == "1" => Ok(Some(Awake::keep()?)),
        Some(_) => Err("COREHOP_AWAKE: 1, or not set".into()),
        None => Ok(None),
    }
}
