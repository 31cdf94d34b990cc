//! Builds the QEMU plugins and embeds them in the command, so that an installed command needs no
//! checkout.
//!
//! Cargo installs programs but no libraries, hence this second run of Cargo. The plugin stays a
//! separate work under its own license: the command contains its file and hands it to QEMU, as an
//! archive would. Only release builds embed it. Other builds are in a checkout, next to the plugin.
//!
//! A published package contains no other package. Its build therefore lets Cargo fetch the plugin's
//! package of the same version from the registry that it uses for all others. Rejected: a
//! dependency on the plugin, which would link a work under QEMU's license into the command.

use std::path::{Path, PathBuf};
use std::process::Command;

const IN_CHECKOUT: &str = "qemu-plugin/Cargo.toml";

fn main() {
    let watched = ["build.rs", "qemu-plugin", "crates/support", "crates/wire"];
    // Cargo treats a missing file as changed on every build.
    let watched = watched.into_iter().filter(|path| Path::new(path).exists());
    for watched in watched.chain(["Cargo.lock"]) {
        println!("cargo::rerun-if-changed={watched}");
    }
    let folder = variable("OUT_DIR");
    for (file, environment, api) in [
        ("plugin.so", "COREHOP_CARRIED_PLUGIN", "api-v1"),
        ("plugin_v4.so", "COREHOP_CARRIED_PLUGIN_V4", "api-v4"),
    ] {
        let carried = Path::new(&folder).join(file);
        match variable("PROFILE").as_str() {
            "release" => build(&carried, &Path::new(&folder).join(api), api),
            _ => std::fs::write(&carried, []).expect("the output folder can be written to"),
        }
        println!("cargo::rustc-env={environment}={}", carried.display());
    }
}

fn variable(name: &str) -> String {
    std::env::var(name).expect("cargo sets it")
}

/// Builds one plugin in a separate folder for each API, because Cargo locks the folder of the
/// running build.
fn build(carried: &Path, target: &Path, api: &str) {
    let mut cargo = Command::new(variable("CARGO"));
    // Only as a cdylib: with an rlib in addition, Cargo skips link-time optimization.
    cargo.args(["rustc", "--release", "--quiet", "--lib"]);
    cargo
        .args(["--crate-type", "cdylib", "--target-dir"])
        .arg(target);
    let built = match Path::new(IN_CHECKOUT).exists() {
        true => {
            cargo.args(["--locked", "--manifest-path", IN_CHECKOUT]);
            cargo.args(["--no-default-features", "--features", api]);
            "libcorehop_qemu_plugin.so"
        }
        false => {
            cargo
                .arg("--manifest-path")
                .arg(package_around(target, api));
            "libcarried_plugin.so"
        }
    };
    let status = cargo
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        // A panic cannot leave a callback of QEMU anyway, and without unwinding each callback is
        // shorter.
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
        .status();
    assert!(
        status.as_ref().is_ok_and(|status| status.success()),
        "the QEMU plugin does not build ({status:?})"
    );
    std::fs::copy(target.join("release").join(built), carried).expect("it was just built");
}

/// Writes a package that contains only the plugin's library, with the dependency versions of this
/// build. Returns the path of its manifest.
fn package_around(target: &Path, api: &str) -> PathBuf {
    let folder = target.join("package");
    let version = variable("CARGO_PKG_VERSION");
    let manifest = format!(
        "[package]\nname = \"carried-plugin\"\nversion = \"{version}\"\nedition = \"2024\"\n\
         license = \"GPL-2.0-or-later\"\n\n[lib]\ncrate-type = [\"cdylib\"]\npath = \"lib.rs\"\n\n\
         [dependencies.corehop-qemu-plugin]\nversion = \"={version}\"\n\
         default-features = false\nfeatures = [\"{api}\"]\n\n[workspace]\n\n\
         [profile.release]\nlto = \"thin\"\nstrip = \"debuginfo\"\n"
    );
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text);
    std::fs::create_dir_all(&folder)
        .and_then(|()| write("Cargo.toml", &manifest))
        .and_then(|()| write("lib.rs", "extern crate corehop_qemu_plugin;\n"))
        .expect("the output folder can be written to");
    // Without a Cargo.lock, Cargo selects the newest compatible versions.
    let _ = std::fs::copy("Cargo.lock", folder.join("Cargo.lock"));
    folder.join("Cargo.toml")
}
