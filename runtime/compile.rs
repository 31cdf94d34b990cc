//! Compiles the files of the runtime into a shared object: for this crate, and for experiments that
//! replace some files with their own.
//!
//! The flags are part of the contract with the trampolines. They allow general registers only,
//! because a hook does not save vector registers. They select initial-exec TLS, which needs no
//! call. They forbid lazy binding, which would run the loader inside a hook. They leave out build
//! id and path, so that equal sources give equal bytes.

use std::path::Path;

/// Version of the contract between a patched file and the runtime: the note, the hook table, and
/// how a trampoline calls.
pub const ABI: u32 = 7;

/// Linked in this order: the file that marks the end of the runtime's code comes last.
pub const SOURCES: [&str; 67] = [
    "system/system.c",
    "system/clock.c",
    "system/settings.c",
    "system/filter.c",
    "system/originals.c",
    "system/bare.c",
    "system/output_file.c",
    "system/switch.S",
    "threads/program.c",
    "threads/threads.c",
    "threads/processors.c",
    "threads/watchdog.c",
    "hooks/backend.c",
    "hooks/count.c",
    "hooks/calls.c",
    "hooks/objects.c",
    "hooks/kth_calls.c",
    "hooks/hooks.c",
    "hooks/elsewhere.c",
    "hooks/enter.S",
    "hooks/modules.c",
    "hooks/opening.c",
    "run_queues/cores.c",
    "run_queues/run_queue.c",
    "run_queues/order.c",
    "run_queues/spin_policy.c",
    "run_queues/mwait.c",
    "run_queues/ring.c",
    "run_queues/ring_memory.c",
    "run_queues/waiting.c",
    "carrier/affinity.c",
    "carrier/carrier.c",
    "carrier/fibers.c",
    "carrier/home.c",
    "carrier/interrupted.c",
    "carrier/load.c",
    "carrier/run_delay.c",
    "carrier/cpu_offline.c",
    "carrier/pool.c",
    "carrier/stalls.c",
    "carrier/stay.c",
    "carrier/vectors.c",
    "posted/post.c",
    "posted/batch.c",
    "posted/park.c",
    "posted/requests.c",
    "posted/waits.c",
    "decisions/backends.c",
    "decisions/auto.c",
    "decisions/statistics.c",
    "decisions/control.c",
    "decisions/forks.c",
    "decisions/rest.c",
    "decisions/watch.c",
    "interpose/interposers.c",
    "interpose/interposers.S",
    "interpose/credentials.c",
    "interpose/places.c",
    "interpose/by_number.c",
    "interpose/handlers.c",
    "interpose/clocks.c",
    "interpose/masked_waits.c",
    "interpose/coroutines.c",
    "interpose/terminated.c",
    "start/start.c",
    "start/in_memory.c",
    "system/end.S",
];
/// The layers (docs/internals/architecture.md), whose headers any higher one includes.
pub const LAYERS: [&str; 9] = [
    "system",
    "threads",
    "hooks",
    "run_queues",
    "carrier",
    "posted",
    "decisions",
    "interpose",
    "start",
];

/// Linker options for [`SOURCES`].
pub const LINKED: [&str; 3] = ["-Wl,--no-undefined", "-pthread", "-ldl"];

/// Flags for `make test-ubsan`: undefined behavior ends the process by SIGILL, which needs no
/// library.
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

/// Warnings are errors during development. They are not in release builds, where other compilers
/// may report other warnings.
fn strictness() -> &'static [&'static str] {
    let profile = std::env::var("PROFILE").expect("cargo names the profile");
    if profile == "debug" {
        &["-Werror"]
    } else {
        &[]
    }
}

/// Makes a shared object of these files. `folder` is the runtime's, to which names are relative.
pub fn compile(folder: &Path, sources: &[&str], more: &[&str], object: &Path) {
    let compiler = cc::Build::new().cargo_metadata(false).get_compiler();
    let mut command = std::process::Command::new(compiler.path());
    command
        .current_dir(folder)
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
        .args(LAYERS.map(|layer| format!("-I{layer}")))
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
