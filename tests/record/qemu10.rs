//! The QEMU 10 of `make qemu`, and the plugin for it.
//!
//! Tests that need it are in modules named `needs_qemu10` and `needs_postgres`: if it is missing,
//! the runner counts them as skipped.

use std::path::{Path, PathBuf};
use std::process::Command;

/// QEMU 10 and its plugin.
pub struct Qemu10 {
    qemu: PathBuf,
    plugin: PathBuf,
}

impl Qemu10 {
    /// Builds the plugin. Fails with a remedy without such a QEMU.
    pub fn found() -> Qemu10 {
        let cache = std::env::var_os("XDG_CACHE_HOME").filter(|value| !value.is_empty());
        let cache = cache.map(PathBuf::from).unwrap_or_else(|| {
            let home = std::env::var_os("HOME").unwrap_or_default();
            Path::new(&home).join(".cache")
        });
        let qemu = cache.join("corehop/qemu/qemu-x86_64");
        let is_there = qemu.is_file();
        assert!(is_there, "no {}: `make qemu` builds it", qemu.display());
        let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/qemu10");
        // By its name: rustup then uses one toolchain for all crates, including those that specify
        // another.
        let built = Command::new("cargo")
            .args(["build", "--quiet", "--locked", "-p", "corehop-qemu-plugin"])
            .args(["--no-default-features", "--features", "api-v4"])
            .arg("--target-dir")
            .arg(&target)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(built.expect("cargo runs").success());
        let plugin = target.join("debug/libcorehop_qemu_plugin.so");
        Qemu10 { qemu, plugin }
    }

    /// Makes `corehop record` use it.
    pub fn used_by<'c>(&self, record: &'c mut Command) -> &'c mut Command {
        record.env("COREHOP_QEMU", &self.qemu);
        record.env("COREHOP_QEMU_PLUGIN", &self.plugin)
    }
}
