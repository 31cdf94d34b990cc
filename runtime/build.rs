//! Compiles the runtime into a shared object, whose bytes the crate then carries.
//!
//! The flags are part of the contract with the trampolines: general registers only, because vector
//! registers are not saved around a hook; initial-exec TLS, which needs no call; no lazy binding,
//! which would run the loader inside a hook; no build id or path, so that equal sources give equal
//! bytes.

use std::path::Path;

/// Version of what a patched file and the runtime expect of each other: the note, the hook table,
/// and how a trampoline calls.
const ABI: u32 = 3;

const SOURCES: [&str; 23] = [
    "start.c",
    "threads.c",
    "calls.c",
    "affinity.c",
    "count.c",
    "carrier.c",
    "home.c",
    "travellers.c",
    "crew.c",
    "inbox.c",
    "keeper.c",
    "control.c",
    "guards.c",
    "credentials.c",
    "handlers.c",
    "processors.c",
    "statistics.c",
    "clock.c",
    "system.c",
    "vectors.c",
    "enter.S",
    "switch.S",
    "guards.S",
];
const INCLUDED: [&str; 5] = [
    "corehop.h",
    "carrier.h",
    "guarded.h",
    "offsets.h",
    "build.rs",
];

fn main() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo names the package's folder");
    let output = std::env::var("OUT_DIR").expect("cargo names the output folder");
    let object = Path::new(&output).join("runtime.so");
    let compiler = cc::Build::new().cargo_metadata(false).get_compiler();
    let mut command = std::process::Command::new(compiler.path());
    command
        .current_dir(&folder)
        .args([
            "-std=gnu11",
            "-O2",
            "-Wall",
            "-Wextra",
            "-shared",
            "-fPIC",
            "-s",
        ])
        .args([
            "-mgeneral-regs-only",
            "-ftls-model=initial-exec",
            "-fno-plt",
        ])
        .args([
            "-fvisibility=hidden",
            "-fno-stack-protector",
            "-fcf-protection=branch",
        ])
        .args(["-fno-tree-loop-distribute-patterns"])
        .args(["-Wl,-z,now,-z,relro,-z,noexecstack,--build-id=none,--no-undefined"])
        .arg(format!("-DCOREHOP_ABI={ABI}"))
        .args(SOURCES)
        .arg("-o")
        .arg(&object)
        .args(["-pthread", "-ldl"]);
    for source in SOURCES.iter().chain(&INCLUDED) {
        println!("cargo::rerun-if-changed={source}");
    }
    println!("cargo::rustc-env=COREHOP_RUNTIME={}", object.display());
    println!("cargo::rustc-env=COREHOP_ABI={ABI}");
    let status = command.status();
    assert!(
        status.as_ref().is_ok_and(|status| status.success()),
        "the runtime does not compile ({status:?}): it needs a C compiler for x86-64 Linux"
    );
}
