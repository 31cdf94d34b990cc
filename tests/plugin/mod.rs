//! The QEMU plugins of this checkout, next to the command that Cargo builds for tests.
//!
//! The command takes the plugin there for the API of the QEMU that it finds, which is 7.2 on
//! Debian 12 and 10 on Debian 13, so tests record on both. Cargo builds only the plugin for the
//! older API there, because a build has one set of features.
//!
//! `make test` builds both before (scripts/suite/linted.py) and sets COREHOP_PLUGINS_BUILT:
//! otherwise Cargo would check for changes in each test's process, and wait for clippy.

use std::path::Path;
use std::process::Command;
use std::sync::Once;

/// Builds the plugins that are not up to date.
pub fn build_plugins() {
    static BUILT: Once = Once::new();
    if std::env::var_os("COREHOP_PLUGINS_BUILT").is_none() {
        BUILT.call_once(build);
    }
}

fn build() {
    // Built alone, or without any test, its dependencies would have other features than in
    // `cargo test --workspace`, and would be compiled again.
    cargo(&["--workspace", "--lib", "--test", "tidy"]);
    let target = Path::new(crate::BUILT).ancestors().nth(2).unwrap();
    let target = target.join("qemu10");
    let newer = ["--no-default-features", "--features", "api-v4"];
    let folder = ["--target-dir", target.to_str().unwrap()];
    cargo(&[&["-p", "corehop-qemu-plugin"][..], &newer, &folder].concat());
    let built = target.join("debug/libcorehop_qemu_plugin.so");
    let place = Path::new(crate::BUILT).with_file_name("libcorehop_qemu_plugin_v4.so");
    // A running QEMU keeps the file that it loaded.
    let copy = place.with_extension(std::process::id().to_string());
    std::fs::copy(built, &copy).unwrap();
    std::fs::rename(copy, place).unwrap();
}

/// By its name: rustup then uses one toolchain for all crates, including those that specify
/// another.
fn cargo(arguments: &[&str]) {
    let built = Command::new("cargo")
        .args(["build", "--quiet", "--locked"])
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(built.expect("cargo runs").success());
}
