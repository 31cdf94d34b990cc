//! The environment in which carriers move threads, the same for both sides of a comparison.
//!
//! glibc registers restartable sequences for each thread unless a tunable says not to, and then
//! carriers refuse (docs/reference/carrier.md). Without them some calls of libc take other ways, so
//! the original gets the tunable too: what is compared is hops, and nothing else.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

/// What libc's tunables are read from.
const TUNABLES: &str = "GLIBC_TUNABLES";

/// What carriers need of it.
const NO_SEQUENCES: &str = "glibc.pthread.rseq=0";

/// Has threads moved by carriers where hooks are, and libc leave out what carriers refuse.
pub(crate) fn for_carriers(command: &mut Command) {
    command.env(TUNABLES, tunables(std::env::var_os(TUNABLES)));
    command.env("COREHOP_BACKEND", "carrier");
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
