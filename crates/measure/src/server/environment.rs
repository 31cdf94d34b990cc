//! What moves threads at hooks, and the environment for that, the same for both sides of a
//! comparison.
//!
//! glibc registers restartable sequences for each thread unless a tunable says not to, and then
//! carriers refuse (docs/reference/carrier.md). Without them some calls of libc take other ways, so
//! the original gets the tunable too: what is compared is hops, and nothing else.

use crate::machine::cpus::can_carry;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

/// What libc's tunables are read from.
const TUNABLES: &str = "GLIBC_TUNABLES";

/// What carriers need of it.
const NO_SEQUENCES: &str = "glibc.pthread.rseq=0";

/// What the patched program's runtime reads.
const BACKEND: &str = "COREHOP_BACKEND";

/// What moves threads at hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// What the environment names.
    OfEnvironment,
    /// Carriers, whatever the environment says; libc leaves out what they refuse.
    Carrier,
    /// `sched_setaffinity`, whatever the environment says.
    Affinity,
}

impl Backend {
    /// What the environment names, or else the faster one of those that can be used here. Not what
    /// the runtime itself would do: it measures first, which takes longer than a round.
    pub fn here() -> Backend {
        match std::env::var_os(BACKEND) {
            Some(_) => Backend::OfEnvironment,
            None => Backend::fastest(),
        }
    }

    /// The faster one of those that can be used here.
    pub fn fastest() -> Backend {
        match can_carry() {
            true => Backend::Carrier,
            false => Backend::Affinity,
        }
    }
}

/// Gives a program the environment in which the backend moves its threads.
pub(crate) fn prepare(command: &mut Command, backend: Backend) {
    match backend {
        Backend::OfEnvironment => {}
        Backend::Affinity => {
            command.env(BACKEND, "affinity");
        }
        Backend::Carrier => {
            command.env(TUNABLES, tunables(std::env::var_os(TUNABLES)));
            command.env(BACKEND, "carrier");
        }
    }
}

/// The tunables that were measured with, for whoever is to start a server alike.
pub fn tunables_here() -> String {
    let all = tunables(std::env::var_os(TUNABLES));
    all.to_string_lossy().into_owned()
}

/// The user's own tunables, and what carriers need; of two the last counts.
fn tunables(own: Option<OsString>) -> OsString {
    let needed = Some(NO_SEQUENCES.as_bytes());
    match own {
        Some(own) if own.as_bytes().split(|&byte| byte == b':').next_back() == needed => own,
        Some(mut own) if !own.is_empty() => {
            own.push(":");
            own.push(NO_SEQUENCES);
            own
        }
        _ => NO_SEQUENCES.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_own_tunables_stay() {
        let given = |own: Option<&str>| tunables(own.map(OsString::from));
        assert_eq!(given(None), "glibc.pthread.rseq=0");
        assert_eq!(given(Some("")), "glibc.pthread.rseq=0");
        assert_eq!(given(Some(NO_SEQUENCES)), NO_SEQUENCES);
        assert_eq!(
            given(Some("glibc.malloc.check=1")),
            "glibc.malloc.check=1:glibc.pthread.rseq=0"
        );
        let both = "glibc.malloc.check=1:glibc.pthread.rseq=0";
        assert_eq!(given(Some(both)), both);
    }
}
