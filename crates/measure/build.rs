//! Compiles the program that times hops. The crate embeds its bytes, so a machine that is
//! calibrated needs no compiler.

use std::path::Path;

const SOURCE: &str = "programs/hop.c";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-changed=build.rs");
    let output = std::env::var("OUT_DIR").expect("cargo names the output folder");
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo names the package's folder");
    let program = Path::new(&output).join("hop");
    let compiler = cc::Build::new().cargo_metadata(false).get_compiler();
    let status = std::process::Command::new(compiler.path())
        .current_dir(folder)
        .args(["-O2", "-pthread", "-Wl,--build-id=sha1", SOURCE, "-o"])
        .arg(&program)
        .status();
    assert!(
        status.as_ref().is_ok_and(|status| status.success()),
        "{SOURCE} does not compile ({status:?}): it needs a C compiler for x86-64 Linux"
    );
    println!("cargo::rustc-env=COREHOP_HOP_PROGRAM={}", program.display());
}
