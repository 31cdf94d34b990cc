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
const ABI: u32 = 7;

const SOURCES: [&str; 45] = [
    "core/start.c",
    "core/modules.c",
    "core/in_memory.c",
    "core/threads.c",
    "core/calls.c",
    "core/objects.c",
    "core/kth_calls.c",
    "core/control.c",
    "core/watchdog.c",
    "core/processors.c",
    "core/statistics.c",
    "core/sheet.c",
    "core/clock.c",
    "core/system.c",
    "backends/affinity.c",
    "backends/count.c",
    "backends/carrier.c",
    "backends/auto.c",
    "carrier/home.c",
    "carrier/fibers.c",
    "carrier/pool.c",
    "carrier/stalls.c",
    "carrier/run_queue.c",
    "carrier/cohort.c",
    "carrier/lost.c",
    "carrier/patience.c",
    "carrier/doze.c",
    "carrier/load.c",
    "carrier/vectors.c",
    "interpose/interposers.c",
    "interpose/credentials.c",
    "interpose/handlers.c",
    "interpose/clocks.c",
    "interpose/masked_waits.c",
    "interpose/coroutines.c",
    "interpose/terminated.c",
    "posted/post.c",
    "posted/batch.c",
    "posted/requests.c",
    "posted/waits.c",
    "posted/ring.c",
    "posted/ring_memory.c",
    "asm/enter.S",
    "asm/switch.S",
    "asm/interposers.S",
];
const INCLUDED: [&str; 13] = [
    "core/arrival.c",
    "core/runtime.h",
    "core/objects.h",
    "core/sheet.h",
    "carrier/carrier.h",
    "interpose/interposed.h",
    "posted/posted.h",
    "posted/posting.h",
    "posted/ring.h",
    "posted/ring_memory.h",
    "posted/table.h",
    "asm/offsets.h",
    "build.rs",
];
/// Whose headers any source includes.
const ROOMS: [&str; 5] = ["core", "carrier", "interpose", "posted", "asm"];

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
    compile(&["core/arrival.c"], &["-nostdlib", &needed], &arrival);
    for source in SOURCES.iter().chain(&INCLUDED) {
        println!("cargo::rerun-if-changed={source}");
    }
    println!("cargo::rustc-env=COREHOP_RUNTIME={}", runtime.display());
    println!("cargo::rustc-env=COREHOP_ARRIVAL={}", arrival.display());
    println!("cargo::rustc-env=COREHOP_NAME={name}");
    println!("cargo::rustc-env=COREHOP_ABI={ABI}");
}

/// What the C standard leaves undefined ends the process by SIGILL, which needs no library; for
/// `make test-ubsan`.
fn sanitizer() -> &'static [&'static str] {
    println!("cargo::rerun-if-env-changed=COREHOP_UBSAN");
    match std::env::var_os("COREHOP_UBSAN") {
        Some(_) => &[
            "-fsanitize=undefined",
            "-fsanitize-undefined-trap-on-error",
            "-fno-sanitize=alignment",
        ],
        None => &[],
    }
}

/// A warning is an error where the runtime is worked on, and not in release builds, which other
/// compilers make, with other warnings.
fn strictness() -> &'static [&'static str] {
    let profile = std::env::var("PROFILE").expect("cargo names the profile");
    if profile == "debug" {
        &["-Werror"]
    } else {
        &[]
    }
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
        .args(ROOMS.map(|room| format!("-I{room}")))
        .args(["-fno-tree-loop-distribute-patterns"])
        .args(sanitizer())
        .args(strictness())
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
