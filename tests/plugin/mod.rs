//! The QEMU plugin of this checkout, as Cargo builds it for tests.
//!
//! `make test` passes its path in COREHOP_TESTED_PLUGIN: otherwise Cargo would check for changes in
//! each test's process, and wait for clippy.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Builds the plugin, if it is not up to date.
pub fn plugin() -> &'static Path {
    static PLUGIN: OnceLock<PathBuf> = OnceLock::new();
    PLUGIN.get_or_init(|| {
        if let Some(built) = std::env::var_os("COREHOP_TESTED_PLUGIN") {
            return built.into();
        }
        // Built alone, or without any test, its dependencies would have other features than in
        // `cargo test --workspace`, and would be compiled again.
        let built = Command::new("cargo")
            .args(["build", "--quiet", "--locked", "--workspace", "--lib"])
            .args(["--test", "tidy"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(built.expect("cargo runs").success());
        let command = Path::new(crate::BUILT);
        command.with_file_name("libcorehop_qemu_plugin.so")
    })
}
