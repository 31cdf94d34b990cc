//! The QEMU that `make qemu` builds, and the plugin for it, where they are there.
//!
//! A test that finds none says that it is skipped; `make test-qemu10` sets COREHOP_INSIST, with
//! which it fails instead.

use std::path::{Path, PathBuf};
use std::process::Command;

/// QEMU 10 and its plugin.
pub struct Qemu10 {
    qemu: PathBuf,
    plugin: PathBuf,
}

impl Qemu10 {
    /// Builds the plugin, if there is such a QEMU; else what is missing.
    pub fn find() -> Result<Qemu10, String> {
        let cache = std::env::var_os("XDG_CACHE_HOME").filter(|value| !value.is_empty());
        let cache = cache.map(PathBuf::from).unwrap_or_else(|| {
            let home = std::env::var_os("HOME").unwrap_or_default();
            Path::new(&home).join(".cache")
        });
        let qemu = cache.join("corehop/qemu/qemu-x86_64");
        if !qemu.is_file() {
            return Err(format!("no {}, which `make qemu` builds", qemu.display()));
        }
        let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/qemu10");
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--locked", "-p", "corehop-qemu-plugin"])
            .args(["--no-default-features", "--features", "api-v4"])
            .arg("--target-dir")
            .arg(&target)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(built.expect("cargo runs").success());
        let plugin = target.join("debug/libcorehop_qemu_plugin.so");
        Ok(Qemu10 { qemu, plugin })
    }

    /// Has `corehop record` use it.
    pub fn used_by<'c>(&self, record: &'c mut Command) -> &'c mut Command {
        record.env("COREHOP_QEMU", &self.qemu);
        record.env("COREHOP_QEMU_PLUGIN", &self.plugin)
    }
}

/// What was found, or `None` after saying that the test of `what` is skipped.
pub fn or_skip<T>(what: &str, found: Result<T, String>) -> Option<T> {
    let missing = match found {
        Ok(found) => return Some(found),
        Err(missing) => missing,
    };
    let insist = std::env::var_os("COREHOP_INSIST").is_some();
    assert!(!insist, "{missing}");
    // Past the test's own output, which is kept back where it passes.
    let line = format!("skipped: {what} under QEMU 10: {missing}\n");
    let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
    None
}
