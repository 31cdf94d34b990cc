//! Compiles the runtime, with some files replaced by those of the experiments.

#[path = "../../runtime/compile.rs"]
mod compile;

use compile::{LAYERS, LINKED, SOURCES, compile};
use std::path::Path;

/// A file of the runtime, and its replacement, relative to the runtime's folder.
const REPLACED: (&str, &str) = ("run_queues/order.c", "../research/lab/runtime/cohort.c");

fn main() {
    let here = std::env::var("CARGO_MANIFEST_DIR").expect("cargo names the package's folder");
    let output = std::env::var("OUT_DIR").expect("cargo names the output folder");
    let folder = Path::new(&here).join("../../runtime");
    let library = Path::new(&output).join("runtime.so");
    let (own, other) = REPLACED;
    let sources = SOURCES.map(|source| if source == own { other } else { source });
    compile(&folder, &sources, &LINKED, &library);
    for changed in LAYERS.iter().chain(&["compile.rs"]) {
        println!("cargo::rerun-if-changed={}", folder.join(changed).display());
    }
    for changed in ["runtime", "build.rs"] {
        println!("cargo::rerun-if-changed={changed}");
    }
    println!("cargo::rustc-env=COREHOP_LAB_RUNTIME={}", library.display());
}
