//! The QEMU 10 of `make qemu`.
//!
//! Tests that need it are in modules named `needs_qemu10` and `needs_postgres`: if it is missing,
//! the runner counts them as skipped.

use crate::plugin::build_plugins;
use std::path::{Path, PathBuf};
use std::process::Command;

/// QEMU 10.
pub struct Qemu10(PathBuf);

impl Qemu10 {
    /// Builds its plugin. Fails with a remedy without such a QEMU.
    pub fn found() -> Qemu10 {
        let cache = std::env::var_os("XDG_CACHE_HOME").filter(|value| !value.is_empty());
        let cache = cache.map(PathBuf::from).unwrap_or_else(|| {
            let home = std::env::var_os("HOME").unwrap_or_default();
            Path::new(&home).join(".cache")
        });
        let qemu = cache.join("corehop/qemu/qemu-x86_64");
        let is_there = qemu.is_file();
        assert!(is_there, "no {}: `make qemu` builds it", qemu.display());
        build_plugins();
        Qemu10(qemu)
    }

    /// Makes `corehop record` use it.
    pub fn used_by<'c>(&self, record: &'c mut Command) -> &'c mut Command {
        record.env("COREHOP_QEMU", &self.0)
    }
}
