//! Servers with several processes, and code loaded during recording.

use crate::recording::{Recording, compile};
use std::collections::BTreeSet;

/// Forks four workers, two before the first request and two after it.
const FORKS: &str = r#"
#include <sys/wait.h>
#include <unistd.h>
static volatile int served;
void serve(void) { served++; }
static void worker(int requests) {
    if (fork() == 0) {
        for (int i = 0; i < requests; i++) serve();
        _exit(0);
    }
}
int main(void) {
    worker(10);
    worker(20);
    serve();
    worker(30);
    worker(40);
    while (wait(0) > 0) {}
    serve();
    return 0;
}
"#;

#[test]
fn each_process_writes_its_own_requests() {
    let mut recording = Recording::of(FORKS);
    let trace = recording.trace();
    let threads = trace.threads();
    let mut counts: Vec<usize> = (0..threads.len())
        .map(|thread| {
            trace
                .requests()
                .iter()
                .filter(|r| r.thread.index() == thread)
                .count()
        })
        .collect();
    counts.sort_unstable();
    assert_eq!(counts, [2, 10, 20, 30, 40]);
    let processes: BTreeSet<u32> = threads.iter().map(|thread| thread.process_id).collect();
    assert_eq!(processes.len(), 5);
}

const LIBRARY: &str = "int in_the_library(int x) { return x + 1; }";
const LOADS: &str = r#"
#include <dlfcn.h>
void serve(void) {
    void *library = dlopen("./lib,rary.so", RTLD_NOW);
    int (*function)(int) = (int (*)(int))dlsym(library, "in_the_library");
    if (function(1) != 2) __builtin_trap();
}
int main(void) {
    for (int i = 0; i < 3; i++) serve();
    return 0;
}
"#;

#[test]
fn a_library_opened_while_recording_is_a_module() {
    let folder = tempfile::tempdir().unwrap();
    let library = compile(folder.path(), "lib,rary.so", LIBRARY, &["-shared", "-fPIC"]);
    let library = library.canonicalize().unwrap();
    let mut recording = Recording::of_in(folder, LOADS);
    let trace = recording.trace();
    let modules = trace.modules();
    let module = modules
        .iter()
        .position(|m| m.path == library.to_str().unwrap());
    let module = module.expect("the library is a module");
    assert_eq!(modules[module].build_id.len(), 40);
    let function = trace
        .functions()
        .iter()
        .find(|f| f.symbol == "in_the_library");
    assert_eq!(function.expect("it was entered").module as usize, module);
}

#[test]
fn a_program_without_build_id_is_recorded_and_offers_no_entry() {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "server", FORKS, &["-Wl,--build-id=none"]);
    let arguments = ["--request-at", "serve", "--", "./server"];
    let mut recording = Recording::start_in(folder, arguments);
    let trace = recording.trace();
    let mut own = trace.functions().iter().filter(|f| f.symbol == "serve");
    let reason = own.next().unwrap().unpatchable.as_deref().unwrap();
    assert!(reason.contains("no build id"), "{reason}");
}

#[test]
fn a_request_may_begin_in_a_library() {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "lib,rary.so", LIBRARY, &["-shared", "-fPIC"]);
    compile(folder.path(), "server", LOADS, &[]);
    let arguments = [
        "--request-at",
        "./lib,rary.so:in_the_library",
        "--",
        "./server",
    ];
    let mut recording = Recording::start_in(folder, arguments);
    assert_eq!(recording.trace().requests().len(), 3);
}
