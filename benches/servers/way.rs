//! The ways to run a server: recorded, or natively in one of several variants, on some CPUs.

use corehop_support::topology::allowed;
use std::path::Path;

/// How a server runs, compared with the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    Original,
    /// The original once more: its difference is chance.
    Again,
    Auto,
    Carrier,
    Affinity,
    Count,
    /// The original, on one CPU.
    OneCore,
    /// The original, with each connection's thread pinned to one CPU.
    Pinned,
}

impl Variant {
    pub fn name(self) -> &'static str {
        match self {
            Variant::Original => "original",
            Variant::Again => "again",
            Variant::Auto => "auto",
            Variant::Carrier => "carrier",
            Variant::Affinity => "affinity",
            Variant::Count => "count",
            Variant::OneCore => "one-core",
            Variant::Pinned => "pinned",
        }
    }

    /// Whether its functions are hooked.
    pub fn is_hooked(self) -> bool {
        use Variant::{Again, OneCore, Original, Pinned};
        !matches!(self, Original | Again | OneCore | Pinned)
    }
}

/// How to run a server.
pub enum Way<'a> {
    /// Paused until `corehop control start`.
    Recorded {
        trace: &'a Path,
        request_at: &'a str,
        requests: u64,
        memory_limit_mib: &'a str,
    },
    Hopping {
        variant: Variant,
        plan: &'a Path,
        /// The CPUs of the server; none for all of this process.
        cpus: &'a [usize],
    },
}

impl Way<'_> {
    /// Returns the CPUs of the server.
    pub fn cpus(&self) -> Vec<usize> {
        let mut cpus = match self {
            Way::Hopping { cpus, .. } if !cpus.is_empty() => cpus.to_vec(),
            _ => allowed(),
        };
        if let Way::Hopping { variant, .. } = self
            && *variant == Variant::OneCore
        {
            cpus.truncate(1);
        }
        cpus
    }
}
