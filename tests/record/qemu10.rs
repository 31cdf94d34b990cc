//! The QEMU 10 of `make qemu`.
//!
//! Tests that need it are in modules named `needs_qemu10` and `needs_postgres`: if it is missing,
//! the runner counts them as skipped.

use crate::plugin::build_plugins;
use corehop_recorder::tools::built_qemu;
use std::path::PathBuf;
use std::process::Command;

/// QEMU 10.
pub struct Qemu10(PathBuf);

impl Qemu10 {
    /// Builds its plugin. Fails with a remedy without such a QEMU.
    pub fn found() -> Qemu10 {
        let qemu = built_qemu();
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
