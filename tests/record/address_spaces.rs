//! The memory that the processes of a recorded server share, and the memory of each alone.

use crate::conforming::read;
use crate::recording::{Recording, compile};
use corehop_traces::{Kind, Owner, Trace};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Each request stores one byte, in `serve`. The argument selects the actions of the two children.
const SERVER: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>
#define PAGE 4096
static volatile char in_data[PAGE];
void serve(volatile char *byte) { *byte = 1; }
static char *map(int flags, int file) {
    return mmap(0, PAGE, PROT_READ | PROT_WRITE, flags, file, 0);
}
int main(void) {
    volatile char *on_heap = malloc(PAGE);
    char *segment = map(MAP_SHARED | MAP_ANONYMOUS, -1);
    int named = open("shared.bytes", O_RDWR | O_CREAT, 0600);
    if (ftruncate(named, PAGE) != 0) return 1;
    int of_system = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600);
    for (int child = 0; child < 2; child++) {
        if (fork() != 0) continue;
        volatile char on_stack;
        serve(in_data);
        serve(on_heap);
        serve(&on_stack);
        serve(map(MAP_PRIVATE | MAP_ANONYMOUS, -1));
        serve(segment);
        /* At another address in each child, and at one where something else was before. */
        if (child == 1) map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
        char *file = map(MAP_SHARED, named);
        serve(file);
        serve(shmat(of_system, 0, 0));
        serve(map(MAP_PRIVATE, named));
        mmap(file, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        serve(file);
        _exit(0);
    }
    while (wait(0) > 0) {}
    shmctl(of_system, IPC_RMID, 0);
    serve(in_data);
    return 0;
}
"#;

/// Returns, by thread, the addresses at which its requests stored one byte.
fn stores(trace: &Trace) -> Vec<Vec<u64>> {
    let serves = |block: u32| {
        let entered = trace.entered_functions()[block as usize];
        entered.is_some_and(|function| trace.functions()[function.index()].symbol == "serve")
    };
    let mut stores = vec![Vec::new(); trace.threads().len()];
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        if !serves(execution.code_block) {
            continue;
        }
        let accesses = execution.accesses.iter();
        let own = accesses.filter(|access| (access.kind, access.size_bytes) == (Kind::Store, 1));
        stores[execution.thread.index()].extend(own.map(|access| access.address));
    }
    stores
}

/// Returns the threads of the two children.
fn children(stores: &[Vec<u64>]) -> [usize; 2] {
    let counts: Vec<usize> = stores.iter().map(Vec::len).collect();
    let children = (0..stores.len()).filter(|&thread| counts[thread] == 9);
    let children: Vec<usize> = children.collect();
    children
        .try_into()
        .unwrap_or_else(|_| panic!("stores: {counts:?}"))
}

/// Returns the lines that each thread fetched.
fn fetches(trace: &Trace) -> Vec<BTreeSet<u64>> {
    let mut lines = vec![BTreeSet::new(); trace.threads().len()];
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        let accesses = execution.accesses.iter();
        let fetched = accesses.filter(|access| access.kind == Kind::Fetch);
        lines[execution.thread.index()].extend(fetched.map(|access| access.address / 64));
    }
    lines
}

#[test]
fn private_memory_of_forked_processes_is_told_apart_and_shared_memory_is_one() {
    let mut recording = Recording::of(SERVER);
    let trace = recording.trace();
    assert!(!trace.lacks_address_spaces());
    let stores = stores(&trace);
    let [one, other] = children(&stores);
    let (first, second) = (&stores[one], &stores[other]);
    let same: Vec<bool> = first.iter().zip(second).map(|(a, b)| a == b).collect();
    // In order: the program's data, the heap, the stack, and new memory; the segment, the file, and
    // the system's segment; a private mapping and a mapping over the file.
    let shared = [false, false, false, false, true, true, true, false, false];
    assert_eq!(same, shared);
    for (place, shared) in shared.into_iter().enumerate() {
        let owners = [first, second].map(|child| trace.owner(child[place]).0);
        let is_object = |owner: &Owner| matches!(owner, Owner::Object(_));
        assert_eq!(
            owners.map(|owner| is_object(&owner)),
            [shared; 2],
            "{place}"
        );
    }
    let name = |address| match trace.owner(address).0 {
        Owner::Object(object) => trace.shared_objects()[object as usize].clone(),
        _ => String::new(),
    };
    assert!(
        name(first[5]).ends_with("/shared.bytes"),
        "{}",
        name(first[5])
    );
    let parent = (0..3).find(|thread| ![one, other].contains(thread));
    let parent = &stores[parent.unwrap()];
    assert_ne!(parent[0], first[0]);
    assert_eq!(trace.owner(parent[0]).1, trace.owner(first[0]).1);
}

/// Two workers alternate. Each has 160 KiB of private memory at the same addresses.
const TURNS: &str = r#"
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define BYTES (160 << 10)
static int turns[2][2];
void serve(volatile char *own) {
    for (int i = 0; i < BYTES; i += 64) own[i]++;
}
static void work(int worker, char *own) {
    char turn;
    memset(own, 1, BYTES);
    for (int i = 0; i < 20; i++) {
        if (read(turns[worker][0], &turn, 1) != 1) return;
        serve(own);
        if (write(turns[1 - worker][1], &turn, 1) != 1) return;
    }
}
int main(void) {
    char *own = aligned_alloc(4096, BYTES);
    if (pipe(turns[0]) != 0 || pipe(turns[1]) != 0) return 1;
    if (write(turns[0][1], "x", 1) != 1) return 1;
    for (int worker = 0; worker < 2; worker++) {
        if (fork() != 0) continue;
        work(worker, own);
        _exit(0);
    }
    while (wait(0) > 0) {}
    return 0;
}
"#;

/// Returns the L2 misses of a replay: all, and those for coherence.
fn l2_misses(trace: &Path, baseline: &str) -> [u64; 2] {
    let mut replay = Command::new(env!("CARGO_BIN_EXE_corehop"));
    replay.arg("replay").arg(trace).arg("--json");
    replay.args(["--machine", "xeon-e5-2620-v4", "--baseline", baseline]);
    let output = replay.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let replay = read(&["replay"], &output.stdout);
    let l2 = &replay["counters"]["l2"];
    ["misses", "coherence_misses"].map(|key| l2[key].as_u64().unwrap())
}

#[test]
fn forked_processes_evict_each_others_lines_on_one_core_and_not_on_a_core_each() {
    const LINES: u64 = (160 << 10) / 64;
    let mut recording = Recording::of(TURNS);
    recording.trace();
    // Together they exceed the L2 of 256 KiB, but each one alone fits.
    let [together, _] = l2_misses(&recording.path(), "one-core");
    assert!(together > 40 * LINES, "{together}");
    let [apart, coherence] = l2_misses(&recording.path(), "thread-per-core");
    assert!(apart < 4 * LINES, "{apart}");
    assert!(coherence < 100, "{coherence}");
}

/// Both pages are written before the fork. Each child reads both and writes the second.
const READS: &str = r#"
#include <unistd.h>
#define PAGE 4096
static volatile char pages[3 * PAGE];
void serve(volatile char *byte) { (void)*byte; }
int main(void) {
    volatile char *first = pages + PAGE - (unsigned long)pages % PAGE, *second = first + PAGE;
    *first = *second = 1;
    for (int child = 0; child < 2; child++) {
        if (fork() != 0) continue;
        *second = 2;
        for (int times = 0; times < 2; times++) {
            serve(first);
            serve(second);
        }
        for (;;) pause();
    }
    for (;;) pause();
}
"#;

#[test]
fn a_page_that_nobody_has_written_since_the_fork_is_shared() {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "server", READS, &[]);
    let arguments = ["--request-at", "serve", "--requests", "8", "--", "./server"];
    let mut recording = Recording::start_in(folder, arguments);
    let trace = recording.trace();
    let mut owners = vec![Vec::new(); trace.threads().len()];
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        let accesses = execution.accesses.iter();
        let own = accesses.filter(|access| (access.kind, access.size_bytes) == (Kind::Load, 1));
        let own = own.map(|access| trace.owner(access.address).0);
        owners[execution.thread.index()].extend(own);
    }
    assert_eq!(owners.len(), 2);
    for owners in &owners {
        let is_object = |owner: &Owner| matches!(owner, Owner::Object(_));
        let shared: Vec<bool> = owners.iter().take(2).map(is_object).collect();
        assert_eq!(shared, [true, false]);
    }
    assert_eq!(owners[0][0], owners[1][0]);
    assert_ne!(owners[0][1], owners[1][1]);
}

#[test]
fn forked_processes_run_the_same_code() {
    let mut recording = Recording::of(SERVER);
    let trace = recording.trace();
    let fetches = fetches(&trace);
    let [first, second] = children(&stores(&trace)).map(|thread| &fetches[thread]);
    let common = first.intersection(second).count();
    assert!(common * 10 > first.len() * 9, "{common} of {}", first.len());
}
