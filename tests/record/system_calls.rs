//! System calls in a trace: each with its result and position, with the same counts as strace
//! reports for the program.

use crate::recording::{Recording, compile};
use corehop_support::format::system_call::name;
use corehop_traces::{SystemCall, ThreadId, Trace};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// The count of each system call, by name.
pub type Counts = BTreeMap<String, u64>;

/// Returns every call of a trace.
fn calls(trace: &Trace) -> Vec<SystemCall> {
    let threads = (0..trace.threads().len()).map(ThreadId::from_index);
    let all = threads.flat_map(|thread| trace.system_calls(thread));
    all.copied().collect()
}

fn counts(calls: impl IntoIterator<Item = SystemCall>) -> Counts {
    let mut counts = Counts::new();
    for call in calls {
        *counts.entry(name(call.number).into_owned()).or_default() += 1;
    }
    counts
}

/// Returns strace's counts for a program and its children, without the call that starts it; `None`
/// without an strace that may trace.
pub fn straced(program: &Path) -> Option<Counts> {
    let log = program.with_extension("strace");
    let ran = Command::new("strace")
        .args(["-f", "-o"])
        .arg(&log)
        .arg(program)
        .current_dir(program.parent().unwrap())
        .stderr(Stdio::null())
        .status();
    if !ran.is_ok_and(|status| status.success()) {
        eprintln!("not tested: strace is missing or may not trace (Debian's package strace)");
        return None;
    }
    let mut counts = Counts::new();
    let text = std::fs::read_to_string(log).unwrap();
    for line in text.lines() {
        // A process id followed by a call, the rest of a call, a signal, or an end.
        let (_, event) = line.split_once(' ').unwrap();
        let Some((call, _)) = event.trim_start().split_once('(') else {
            continue;
        };
        if call
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            *counts.entry(call.into()).or_default() += 1;
        }
    }
    counts.remove("execve");
    Some(counts)
}

/// Each call a few times, with an error, a signal, and a call that does not return. It also counts
/// for 24 ms of a guest's time or more.
pub const ALONE: &str = r#"
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
static void handle(int number) { getppid(); }
int main(void) {
    char text[64];
    struct stat found;
    signal(SIGUSR1, handle);
    raise(SIGUSR1);
    raise(SIGUSR1);
    for (int round = 0; round < 7; round++) {
        int file = open("server", O_RDONLY);
        if (pread(file, text, 16, 4) != 16) return 1;
        if (lseek(file, 1L << 40, SEEK_SET) != 1L << 40) return 1;
        if (read(file, text, 16) != 0) return 1;
        close(file);
    }
    if (stat("nowhere", &found) == 0) return 1;
    void *memory = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 1, 1 << 20);
    munmap(memory, 1 << 20);
    free(malloc(1 << 22));
    for (volatile int counted = 0; counted < 6000000; counted++);
    return 0;
}
"#;

#[test]
fn each_system_call_of_a_program_is_counted_as_strace_counts_it() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "server", ALONE, &["-static"]);
    let expected = straced(&program);
    let arguments = ["--request-at", "_start", "--", "./server"];
    let trace = Recording::start_in(folder, arguments).trace();
    let calls = calls(&trace);
    let of = |wanted| {
        let own = calls.iter().filter(|call| call.number == wanted as i32);
        own.map(|call| call.result).collect::<Vec<_>>()
    };
    assert_eq!(of(libc::SYS_pread64), [Some(16); 7]);
    assert_eq!(of(libc::SYS_lseek), [Some(1 << 40); 7]);
    assert_eq!(of(libc::SYS_getppid).len(), 2);
    // Calls that do not return to their position.
    assert_eq!(of(libc::SYS_rt_sigreturn), [None, None]);
    assert_eq!(of(libc::SYS_exit_group), [None]);
    let refused = calls
        .iter()
        .filter(|call| call.result == Some(-i64::from(libc::ENOENT)));
    assert_eq!(refused.count(), 1);
    let unreturned = calls.iter().filter(|call| call.result.is_none());
    assert_eq!(unreturned.count(), 3);
    if let Some(expected) = expected {
        assert_eq!(counts(calls), expected);
    }
}

/// Threads and a child that call the kernel by number, and wait in it for each other. libc's calls
/// for a thread or a process depend on what QEMU lacks (clone3), so they are not compared.
const MANY: &str = r#"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static int done[2];
static void *work(void *number) {
    for (long round = 0; round < 10 * (long)number; round++) getppid();
    if (write(done[1], "x", 1) != 1) _exit(1);
    return 0;
}
void serve(void) {
    pthread_t threads[3];
    char byte;
    if (pipe(done) != 0) _exit(1);
    for (long number = 1; number <= 3; number++)
        pthread_create(&threads[number - 1], 0, work, (void *)number);
    for (int number = 0; number < 3; number++)
        if (read(done[0], &byte, 1) != 1) _exit(1);
    for (int number = 0; number < 3; number++) pthread_join(threads[number], 0);
    int child = fork();
    if (child == 0) {
        for (int round = 0; round < 5; round++) getuid();
        _exit(0);
    }
    waitpid(child, 0, 0);
    for (int round = 0; round < 4; round++) geteuid();
}
int main(void) {
    serve();
    return 0;
}
"#;

#[test]
fn system_calls_of_threads_and_children_are_counted_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "server", MANY, &[]);
    let expected = straced(&program);
    let arguments = ["--request-at", "serve", "--", "./server"];
    let trace = Recording::start_in(folder, arguments).trace();
    let mut made = counts(calls(&trace));
    made.retain(|name, _| CERTAIN.contains(&&**name));
    let certain = [1, 4, 60, 5, 2, 3, 3];
    let certain: Counts = CERTAIN
        .map(str::to_owned)
        .into_iter()
        .zip(certain)
        .collect();
    assert_eq!(made, certain);
    let threads = (0..trace.threads().len()).map(ThreadId::from_index);
    let ended = threads.filter(|&thread| {
        let last = trace.system_calls(thread).last();
        last.is_some_and(|call| name(call.number) == "exit" && call.result.is_none())
    });
    assert_eq!(ended.count(), 3);
    if let Some(mut expected) = expected {
        expected.retain(|name, _| CERTAIN.contains(&&**name));
        // The loader reads libc.
        *expected.get_mut("read").unwrap() -= 1;
        assert_eq!(made, expected);
    }
}

/// The calls that the program makes directly.
const CERTAIN: [&str; 7] = [
    "pipe2",
    "geteuid",
    "getppid",
    "getuid",
    "exit_group",
    "read",
    "exit",
];
