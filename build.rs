//! Builds QEMU's plugins for the command to carry, so that an installed command needs no checkout.
//!
//! Cargo installs programs and no libraries, hence this second run of Cargo. The plugin stays a
//! work of its own under its own licence: the command holds its file and hands it to QEMU, as an
//! archive would. Only release builds carry it: others lie in a checkout, with the plugin beside.

use std::path::Path;
use std::process::Command;

fn main() {
    for watched in ["build.rs", "qemu-plugin", "elision", "ring", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={watched}");
    }
    let variable = |name: &str| std::env::var(name).expect("cargo sets it");
    let folder = variable("OUT_DIR");
    for (file, environment, api) in [
        ("plugin.so", "COREHOP_CARRIED_PLUGIN", "api-v1"),
        ("plugin_v4.so", "COREHOP_CARRIED_PLUGIN_V4", "api-v4"),
    ] {
        let carried = Path::new(&folder).join(file);
        match variable("PROFILE").as_str() {
            "release" => build(&carried, &variable("CARGO"), &folder, api),
            _ => std::fs::write(&carried, []).expect("the output folder can be written to"),
        }
        println!("cargo::rustc-env={environment}={}", carried.display());
    }
}

/// In a folder of its own for each API: the one that this build uses is locked.
fn build(carried: &Path, cargo: &str, folder: &str, api: &str) {
    let target = Path::new(folder).join(api);
    let status = Command::new(cargo)
        .args(["build", "--release", "--locked", "--quiet"])
        .args(["--manifest-path", "qemu-plugin/Cargo.toml"])
        .args(["--no-default-features", "--features", api, "--target-dir"])
        .arg(&target)
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        // A panic cannot leave a callback of QEMU's anyway; without unwinding each is shorter.
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
        .status();
    assert!(
        status.as_ref().is_ok_and(|status| status.success()),
        "the QEMU plugin does not build ({status:?})"
    );
    let built = target.join("release/libcorehop_qemu_plugin.so");
    std::fs::copy(&built, carried).expect("it was just built");
}
