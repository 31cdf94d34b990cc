//! Servers that change while they are recorded: libraries are closed and others replace them, code
//! is generated at run time, threads and processes start and end, programs are executed.

use crate::recording::{Recording, compile};
use corehop_traces::Trace;
use std::collections::BTreeSet;
use tempfile::TempDir;

/// A folder with two libraries that differ only in the names of their functions. The loader puts
/// them at the same address if it is free.
fn folder_with_libraries() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["one", "two"] {
        let source = format!("int in_{name}(int x) {{ return x + 1; }}");
        let options = ["-shared", "-fPIC", "-Wl,-Ttext-segment=0x20000000"];
        compile(folder.path(), name, &source, &options);
    }
    folder
}

/// Returns the file and the address of each entered function whose name begins with this.
fn entered(trace: &Trace, beginning: &str) -> BTreeSet<(String, String, u64)> {
    let functions = trace.functions().iter();
    let matching = functions.filter(|function| function.symbol.starts_with(beginning));
    let place = |function: &corehop_traces::Function| {
        let module = &trace.modules()[function.module as usize];
        let file = module.path.rsplit('/').next().unwrap();
        let address = module.load_bias + function.offset;
        (function.symbol.clone(), file.to_owned(), address)
    };
    matching.map(place).collect()
}

/// Asserts that both functions ran, each in its library, at the same address.
#[track_caller]
fn assert_both_at_one_address(trace: &Trace) {
    let places = entered(trace, "in_");
    let names: Vec<(&str, &str)> = places.iter().map(|(f, m, _)| (&**f, &**m)).collect();
    assert_eq!(names, [("in_one", "one"), ("in_two", "two")]);
    let addresses: BTreeSet<u64> = places.iter().map(|place| place.2).collect();
    assert_eq!(addresses.len(), 1, "the loader has put them apart");
}

const CALLS: &str = r#"
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>
static void call(const char *file, const char *name) {
    void *library = dlopen(file, RTLD_NOW);
    int (*function)(int) = (int (*)(int))dlsym(library, name);
    if (function(1) != 2) __builtin_trap();
    dlclose(library);
}
"#;

#[test]
fn a_library_in_the_place_of_another_is_told_from_it() {
    let folder = folder_with_libraries();
    let serve = r#"
void serve(void) { call("./one", "in_one"); call("./two", "in_two"); }
int main(void) { for (int i = 0; i < 3; i++) serve(); return 0; }
"#;
    let mut recording = Recording::of_in(folder, &format!("{CALLS}{serve}"));
    assert_both_at_one_address(&recording.trace());
}

#[test]
fn processes_may_have_different_libraries_at_one_address() {
    let folder = folder_with_libraries();
    let serve = r#"
void serve(const char *file, const char *name) { call(file, name); }
int main(void) {
    // Both children are there before either loads anything.
    int gate[2];
    if (pipe(gate)) return 1;
    for (int child = 0; child < 2; child++) {
        if (fork() == 0) {
            char token;
            close(gate[1]);
            read(gate[0], &token, 1);
            for (int i = 0; i < 20; i++)
                child ? serve("./two", "in_two") : serve("./one", "in_one");
            _exit(0);
        }
    }
    close(gate[0]);
    close(gate[1]);
    while (wait(0) > 0) {}
    return 0;
}
"#;
    let mut recording = Recording::of_in(folder, &format!("{CALLS}{serve}"));
    let trace = recording.trace();
    assert_both_at_one_address(&trace);
    assert_eq!(trace.requests().len(), 40);
}

/// `mov eax, imm32; ret`, written for each request and then unmapped.
const MADE: &str = r#"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
static void *const place = (void *)0x10000000;
void serve(int number) {
    unsigned char code[] = {0xb8, number, 0, 0, 0, 0xc3};
    int all = PROT_READ | PROT_WRITE | PROT_EXEC;
    void *page = mmap(place, 4096, all, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    memcpy(page, code, sizeof code);
    if (((int (*)(void))page)() != number) __builtin_trap();
    munmap(page, 4096);
}
int main(void) { for (int i = 1; i <= 5; i++) serve(i); return 0; }
"#;

#[test]
fn code_that_is_made_at_run_time_is_recorded_outside_all_modules() {
    let mut recording = Recording::of(MADE);
    let trace = recording.trace();
    let mut executions = trace.executions();
    let mut requests = Vec::new();
    while let Some(execution) = executions.next().unwrap() {
        let block = &trace.code_blocks()[execution.code_block as usize];
        if block.start == 0x1000_0000 {
            let sizes: Vec<u8> = block.instructions.iter().map(|i| i.size_bytes).collect();
            assert_eq!(sizes, [5, 1]);
            requests.push(execution.request.unwrap().0);
        }
    }
    assert_eq!(requests, [0, 1, 2, 3, 4]);
    let modules = trace.modules().iter();
    assert_eq!(modules.filter(|m| m.path.is_empty()).count(), 0);
}

/// Threads that serve one request each. First there is one, because work that begins while
/// everything is instrumented for it is omitted. Then there are forty, two at a time.
const THREADS: &str = r#"
#include <pthread.h>
static volatile long served;
void serve(void) { __atomic_fetch_add(&served, 1, __ATOMIC_SEQ_CST); }
static void *work(void *nothing) { serve(); return nothing; }
int main(void) {
    for (int turn = 0; turn <= 20; turn++) {
        pthread_t threads[2];
        int count = turn == 0 ? 1 : 2;
        for (int t = 0; t < count; t++) pthread_create(&threads[t], 0, work, 0);
        for (int t = 0; t < count; t++) pthread_join(threads[t], 0);
    }
    return 0;
}
"#;

#[test]
fn threads_that_come_and_go_end_their_requests() {
    let mut recording = Recording::of(THREADS);
    let trace = recording.trace();
    assert_eq!(trace.requests().len(), 41);
    assert!(trace.requests().iter().all(|request| request.complete));
    let threads: BTreeSet<u32> = trace.requests().iter().map(|r| r.thread.0).collect();
    assert_eq!(threads.len(), 41);
}

/// Starts a helper for each request; with an argument it finally executes another program.
const STARTS: &str = r#"
#include <sys/wait.h>
#include <unistd.h>
void serve(void) {
    if (fork() == 0) {
        execl("/bin/true", "true", (char *)0);
        _exit(1);
    }
    int status;
    wait(&status);
    if (status) __builtin_trap();
}
int main(int count, char **arguments) {
    for (int i = 0; i < 4; i++) serve();
    if (count > 1) execl("/bin/true", "true", (char *)0);
    return 0;
}
"#;

#[test]
fn programs_that_a_server_starts_are_recorded_too() {
    for arguments in [&["./server"][..], &["./server", "become"]] {
        let folder = tempfile::tempdir().unwrap();
        compile(folder.path(), "server", STARTS, &[]);
        let marker = ["--request-at", "serve", "--"];
        let command = marker.into_iter().chain(arguments.iter().copied());
        let mut recording = Recording::start_in(folder, command);
        let trace = recording.trace();
        assert_eq!(trace.requests().len(), 4);
        let modules = trace.modules().iter();
        let helper = std::fs::canonicalize("/bin/true").unwrap();
        let named = modules.filter(|module| std::path::Path::new(&module.path) == helper);
        assert_eq!(named.count(), 1);
        let said = recording.stderr();
        assert!(!said.contains("corehop: recording: "), "{said}");
    }
}

/// Serves requests, and then uses what QEMU implements in helpers: atomics, the x87, and XSAVE,
/// with which functions are resolved at their first call.
const GOES_ON: &str = r#"
#include <stdio.h>
#include <stdlib.h>
static volatile int served;
static long word;
void serve(void) { served++; }
int main(void) {
    for (int request = 0; request < 10; request++) serve();
    void *kept[64] = {0};
    for (int i = 0; i < 2000; i++) {
        free(kept[i % 64]);
        kept[i % 64] = malloc(64 + i);
    }
    volatile long double sum = served;
    for (int i = 0; i < 1000; i++) {
        __atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
        sum = sum / 3 + i;
    }
    printf("done %ld %d\n", word, sum > 0);
    return 0;
}
"#;

#[test]
fn a_server_goes_on_unrecorded_whatever_instructions_it_runs() {
    // QEMU 7.2 crashes once in three times without the workaround.
    for _ in 0..6 {
        let folder = tempfile::tempdir().unwrap();
        compile(folder.path(), "server", GOES_ON, &["-Wl,-z,lazy"]);
        let arguments = ["--request-at", "serve", "--requests", "3"];
        let rest = ["--keep-running", "--", "./server"];
        let mut recording = Recording::start_in(folder, arguments.into_iter().chain(rest));
        assert_eq!(recording.trace().requests().len(), 3);
        assert_eq!(
            recording.stdout(),
            "done 1000 1\n",
            "{}",
            recording.stderr()
        );
    }
}
