//! Selects the backend that moves threads at hooks, and sets its environment, equally for both
//! sides of a comparison.
//!
//! glibc registers restartable sequences for each thread unless a tunable disables them, and the
//! carrier backend refuses them (docs/reference/carrier.md). Without them, some libc calls take
//! other code paths. The original therefore gets the tunable too, so that the comparison shows hops
//! only.

use crate::machine::cpus::can_carry;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

/// Environment variable of libc's tunables.
const TUNABLES: &str = "GLIBC_TUNABLES";

/// Tunable that the carrier backend needs.
const NO_SEQUENCES: &str = "glibc.pthread.rseq=0";

/// Environment variable that selects the runtime's backend.
const BACKEND: &str = "COREHOP_BACKEND";

/// Backend that moves threads at hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The environment selects it.
    OfEnvironment,
    /// The carrier backend, regardless of the environment, with the tunable that it needs.
    Carrier,
    /// `sched_setaffinity`, regardless of the environment.
    Affinity,
}

impl Backend {
    /// Returns the backend that the environment selects, or else the fastest usable one. The
    /// runtime itself measures before it selects one, which takes longer than a round.
    pub fn here() -> Backend {
        match std::env::var_os(BACKEND) {
            Some(_) => Backend::OfEnvironment,
            None => Backend::fastest(),
        }
    }

    /// Returns the fastest backend that is usable here.
    pub fn fastest() -> Backend {
        match can_carry() {
            true => Backend::Carrier,
            false => Backend::Affinity,
        }
    }
}

/// Sets the environment of `command` for this backend.
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

/// Returns the tunables of the measurement, to start another server the same way.
pub fn tunables_here() -> String {
    let all = tunables(std::env::var_os(TUNABLES));
    all.to_string_lossy().into_owned()
}

/// Returns the user's own tunables plus the one that the carrier backend needs; the last of two
/// counts.
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
