//! Keeps CPUs from halting while servers are measured.
//!
//! If client and server wake each other for each request, the time depends mostly on how often CPUs
//! halt. A spinning thread, such as a worker thread of the carrier backend, then seems to gain.
//! Awake CPUs avoid both effects.

use crate::Outcome;
use corehop_support::processes::Awake;

/// Keeps the CPUs awake if `COREHOP_AWAKE` requests it.
pub fn if_asked() -> Outcome<Option<Awake>> {
    match std::env::var_os("COREHOP_AWAKE") {
        Some(asked) if asked == "1" => Ok(Some(Awake::keep()?)),
        Some(_) => Err("COREHOP_AWAKE: 1, or not set".into()),
        None => Ok(None),
    }
}
