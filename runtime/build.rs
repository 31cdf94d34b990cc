//! Compiles the runtime, and the library that describes other objects to it, into shared objects.
//! The crate embeds their bytes.

mod compile;

use compile::{ABI, LAYERS, LINKED, SOURCES, compile};
use std::path::Path;

fn main() {
    let output = std::env::var("OUT_DIR").expect("cargo names the output folder");
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo names the package's folder");
    let folder = Path::new(&folder);
    let runtime = Path::new(&output).join("runtime.so");
    compile(folder, &SOURCES, &LINKED, &runtime);
    // It depends on the runtime, so that the loader starts the runtime first. An empty library of
    // that name is enough to record the dependency for the linker.
    let name = format!(
        "libcorehop-runtime-{}.{}.so",
        env!("CARGO_PKG_VERSION_MAJOR"),
        env!("CARGO_PKG_VERSION_MINOR")
    );
    let empty = Path::new(&output).join("empty.so");
    let named = format!("-Wl,-soname,$ORIGIN/{name}");
    compile(
        folder,
        &[],
        &["-nostdlib", &named, "-xc", "/dev/null"],
        &empty,
    );
    let arrival = Path::new(&output).join("arrival.so");
    let needed = format!("-Wl,--no-as-needed,{}", empty.display());
    compile(
        folder,
        &["start/arrival.c"],
        &["-nostdlib", &needed],
        &arrival,
    );
    for changed in LAYERS.iter().chain(&["build.rs", "compile.rs"]) {
        println!("cargo::rerun-if-changed={changed}");
    }
    println!("cargo::rustc-env=COREHOP_RUNTIME={}", runtime.display());
    println!("cargo::rustc-env=COREHOP_ARRIVAL={}", arrival.display());
    println!("cargo::rustc-env=COREHOP_NAME={name}");
    println!("cargo::rustc-env=COREHOP_ABI={ABI}");
}
