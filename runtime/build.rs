//! Compiles the runtime, and the library that tells it of others, into shared objects whose bytes
//! the crate then carries.
//!
//! The flags are part of the contract with the trampolines: general registers only, because vector
//! registers are not saved around a hook; initial-exec TLS, which needs no call; no lazy binding,
//! which would run the loader inside a hook; no build id or path, so that equal sources give equal
//! bytes.

use std::path::Path;

/// Version of what a patched file and the runtime expect of each other: the note, the hook table,
/// and how a trampoline calls.
const ABI: u32 = 4;

const SOURCES: [&str; 32] = [
    "start.c",
    "modules.c",
    "handed.c",
    "threads.c",
    "calls.c",
    "affinity.c",
    "count.c",
    "carrier.c",
    "home.c",
    "travellers.c",
    "crew.c",
    "stalls.c",
    "inbox.c",
    "lost.c",
    "patience.c",
    "doze.c",
    "load.c",
    "auto.c",
    "keeper.c",
    "control.c",
    "guards.c",
    "credentials.c",
    "handlers.c",
    "processors.c",
    "statistics.c",
    "sheet.c",
    "clock.c",
    "system.c",
    "vectors.c",
    "enter.S",
    "switch.S",
    "guards.S",
];
const INCLUDED: [&str; 6] = [
    "arrival.c",
    "corehop.h",
    "carrier.h",
    "guarded.h",
    "offsets.h",
    "build.rs",
];

fn main() {
    let output = std::env::var("OUT_DIR").expect("cargo names the output folder");
    let runtime = Path::new(&output).join("runtime.so");
    compile(
        &SOURCES,
        &["-Wl,--no-undefined", "-pthread", "-ldl"],
        &runtime,
    );
    // It asks for the runtime, so that the loader starts that first: a library of that name, though
    // an empty one, says so to the linker.
    let name = format!(
        "libcorehop-runtime-{}.{}.so",
        env!("CARGO_PKG_VERSION_MAJOR"),
        env!("CARGO_PKG_VERSION_MINOR")
    );
    let empty = Path::new(&output).join("empty.so");
    let named = format!("-Wl,-soname,$ORIGIN/{name}");
    compile(&[], &["-nostdlib", &named, "-xc", "/dev/null"], &empty);
    let arrival = Path::new(&output).join("arrival.so");
    let needed = format!("-Wl,--no-as-needed,{}", empty.display());
    compile(&["arrival.c"], &["-nostdlib", &needed], &arrival);
    for source in SOURCES.iter().chain(&INCLUDED) {
        println!("cargo::rerun-if-changed={source}");
    }
    println!("cargo::rustc-env=COREHOP_RUNTIME={}", runtime.display());
    println!("cargo::rustc-env=COREHOP_ARRIVAL={}", arrival.display());
    println!("cargo::rustc-env=COREHOP_NAME={name}");
    println!("cargo::rustc-env=COREHOP_ABI={ABI}");
}

fn compile(sources: &[&str], more: &[&str], object: &Path) {
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo names the package's folder");
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
        .args(["-Wl,-z,now,-z,relro,-z,noexecstack,--build-id=none"])
        .arg(format!("-DCOREHOP_ABI={ABI}"))
        .args(sources)
        .arg("-o")
        .arg(object)
        .args(more);
    let status = command.status();
    assert!(
        status.as_ref().is_ok_and(|status| status.success()),
        "the runtime does not compile ({status:?}): it needs a C compiler for x86-64 Linux"
    );
}
