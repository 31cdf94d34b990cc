//! A server recorded with the operating system, in a virtual machine.
//!
//! These tests need `qemu-system-x86_64`, a kernel, and a static busybox, which `scripts/setup.sh
//! test` installs. If they are missing, the runner counts the tests as skipped. For a new kernel,
//! the first test also queries the kernel for the addresses of its functions.

mod both_ways;
mod cpus;
mod failures;
mod servers;

use crate::recording::{Recording, compile};
use crate::system_calls::{ALONE, Counts, straced};
use corehop_recorder::{system, tools};
use corehop_simulator::detail::{Reason, Visits};
use corehop_traces::{Access, Index, Kind, Page, Trace, physical_address};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tempfile::TempDir;

/// Eight requests, in each of which the server and then the kernel write 64 lines.
const SERVER: &str = r#"
#include <fcntl.h>
#include <unistd.h>
static char page[4096] __attribute__((aligned(4096)));
__attribute__((noinline)) void serve(int zeros) {
    for (int place = 0; place < 4096; place += 64) page[place]++;
    if (read(zeros, page, sizeof page) != sizeof page) _exit(3);
}
int main(void) {
    int zeros = open("/dev/zero", O_RDONLY);
    for (int number = 0; number < 8; number++) serve(zeros);
    return 0;
}
"#;

/// Two processes that serve alternately: each loads from a shared page and from a private one after
/// the fork, and stores to both. The pages are 0x10000 and 0x20000.
const TWO_PROCESSES: &str = r#"
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static char *at(unsigned long address, int sharing) {
    int how = sharing | MAP_ANONYMOUS | MAP_FIXED;
    char *page = mmap((void *)address, 4096, PROT_READ | PROT_WRITE, how, -1, 0);
    *page = 1;
    return page;
}
__attribute__((noinline)) void serve(volatile char *shared, volatile char *own) {
    for (int place = 0; place < 4096; place += 64) shared[place]++;
    for (int place = 0; place < 4096; place += 64) own[place]++;
}
int main(void) {
    char *shared = at(0x10000000, MAP_SHARED), *own = at(0x20000000, MAP_PRIVATE);
    serve(shared, own);
    int child = fork();
    for (int number = 0; number < 3; number++) serve(shared, own);
    if (child > 0 && waitpid(child, 0, 0) != child) return 1;
    return 0;
}
"#;

/// Returns a folder with the server, linked statically.
fn prepared() -> TempDir {
    prepared_of(SERVER)
}

/// Returns a folder with another program.
fn prepared_of(source: &str) -> TempDir {
    assert_guest(&[]);
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "server", source, &["-static", "-O1"]);
    folder
}

/// Fails with a remedy if no machine can be recorded, or if one of these programs, each with its
/// package, is missing.
fn assert_guest(programs: &[(&str, &str)]) {
    if let Err(error) = tools::system_qemu() {
        panic!("{error}; remedy: {}", error.remedy());
    }
    if let Err(error) = system::parts() {
        panic!("{error}; remedy: {}", error.remedy());
    }
    for (program, package) in programs {
        let is_there = Path::new(program).is_file();
        assert!(is_there, "no {program} (apt-get install {package})");
    }
}

const OPTIONS: [&str; 3] = ["--system", "--request-at", "serve"];

fn start(folder: TempDir, more: &[&str], server: &[&str]) -> Recording {
    let arguments = OPTIONS.iter().chain(more).chain(&["--"]).chain(server);
    Recording::start_in(folder, arguments.copied())
}

/// Returns all accesses in order.
fn accesses(trace: &Trace) -> Vec<Access> {
    let mut executions = trace.executions();
    let mut accesses = Vec::new();
    while let Some(execution) = executions.next().unwrap() {
        if execution.request.is_some() {
            accesses.extend_from_slice(execution.accesses);
        }
    }
    accesses
}

/// Returns the lines of the server's page that were stored to, by the server or by the kernel.
fn stored_lines(trace: &Trace, by_kernel: bool) -> BTreeSet<u64> {
    let page = page_of(trace);
    let stores = accesses(trace)
        .into_iter()
        .filter(|access| access.kind == Kind::Store && access.is_kernels() == by_kernel);
    let lines = stores.flat_map(|access| access.lines());
    lines.filter(|line| line / 64 == page).collect()
}

/// Returns the page with the most stores of the server's own.
fn page_of(trace: &Trace) -> u64 {
    let mut counts = BTreeMap::new();
    for access in accesses(trace) {
        if access.kind == Kind::Store && !access.is_kernels() {
            *counts.entry(access.address / 4096).or_insert(0) += 1;
        }
    }
    let most = counts.into_iter().max_by_key(|&(_, count)| count);
    most.expect("the server stores").0
}

fn entries(trace: &Trace, name: &str) -> usize {
    let mut executions = trace.executions();
    let mut entries = 0;
    while let Some(execution) = executions.next().unwrap() {
        let entered = execution
            .entry
            .map(|function| &trace.functions()[function.index()]);
        entries += usize::from(entered.is_some_and(|function| function.name == name));
    }
    entries
}

#[test]
fn a_machine_is_recorded_with_its_kernel_and_names_the_functions_of_both() {
    let folder = prepared();
    let mut recording = start(folder, &[], &["./server"]);
    let trace = recording.trace();
    let complete = trace.requests().iter().filter(|request| request.complete);
    assert_eq!(complete.count(), 8);
    assert_eq!((trace.process_count(), trace.threads().len()), (1, 1));
    let entered = ["serve", "__x64_sys_read", "read_zero"].map(|name| entries(&trace, name));
    assert_eq!(entered, [8, 8, 8]);
    let kernel = trace
        .modules()
        .iter()
        .filter(|module| module.path == "[kernel]");
    assert_eq!(kernel.count(), 1);
    // The kernel's stores for the server use the server's addresses.
    let own = stored_lines(&trace, false);
    assert_eq!((own.len(), stored_lines(&trace, true)), (64, own));
}

/// Returns the physical page of this page in each process, first and last.
fn frames_of(trace: &Trace, number: u64) -> BTreeMap<u32, (u64, u64)> {
    let mut frames = BTreeMap::new();
    for page in trace.pages().iter().filter(|page| page.number == number) {
        let known = frames.entry(page.process_id);
        known.or_insert((page.frame, page.frame)).1 = page.frame;
    }
    frames
}

#[test]
fn two_processes_on_a_machine_have_what_they_share_in_one_physical_page() {
    let folder = prepared_of(TWO_PROCESSES);
    let mut recording = start(folder, &[], &["./server"]);
    let mut trace = recording.trace();
    trace.index_by(Index::Physical);
    let complete = trace.requests().iter().filter(|request| request.complete);
    assert_eq!((complete.count(), trace.process_count()), (7, 2));
    let all = accesses(&trace);
    let unknown = all
        .iter()
        .filter(|access| physical_address(access.address).is_none());
    // Device accesses: the kernel programs the processor's timer and interrupt controller.
    assert!(
        unknown
            .clone()
            .all(|access| access.is_kernels() && access.kind != Kind::Fetch)
    );
    assert!(unknown.count() * 1000 < all.len());
    let [shared, own] = [0x10000, 0x20000].map(|number| frames_of(&trace, number));
    let shared: Vec<_> = shared.into_values().collect();
    let [(first, last), other] = shared[..] else {
        panic!("{shared:x?}")
    };
    assert_eq!((first, other), (last, (first, last)));
    // The process that stored first after the fork continued in a copy, from that store on.
    let own: Vec<_> = own.into_values().collect();
    let [(first, last), (other_first, other_last)] = own[..] else {
        panic!("{own:x?}")
    };
    assert_eq!(first, other_first);
    assert_ne!(last, other_last);
    let moved = |page: &&Page| page.since > 0 && page.number == 0x20000;
    assert_eq!(trace.pages().iter().filter(moved).count(), 1);
}

#[test]
fn the_kernel_is_entered_as_often_for_each_system_call_as_strace_counts() {
    let folder = prepared_of(ALONE);
    let expected = straced(&folder.path().join("server"));
    let arguments = ["--system", "--request-at", "_start", "--", "./server"];
    let mut recording = Recording::start_in(folder, arguments);
    let trace = recording.trace();
    let (mut visits, mut executions) = (Visits::of(&trace), trace.executions());
    while let Some(execution) = executions.next().unwrap() {
        visits.execution(&execution);
    }
    let (mut calls, mut faults, mut ticks) = (Counts::new(), 0, 0);
    for visit in visits.all() {
        match visit.reason {
            Reason::SystemCall => *calls.entry(visit.name.clone()).or_default() += 1,
            Reason::Exception => faults += u64::from(visit.name == "page_fault"),
            Reason::Interrupt => ticks += u64::from(visit.name == "common_interrupt"),
            Reason::Idle | Reason::Other => panic!("{visit:?}"),
        }
    }
    // The program stores to each of 256 new pages.
    assert!(faults >= 256, "{faults} page faults");
    // It counts for at least 24 million instructions, each a nanosecond of the guest's timer, whose
    // period is at most 10 ms.
    assert!(ticks >= 2, "{ticks} interrupts of the timer");
    assert_eq!((calls["pread64"], calls["getppid"]), (7, 2));
    // The machine has no random numbers yet, so libc reads the clock instead. Outside the machine
    // it would do so without the kernel.
    calls.remove("clock_gettime");
    if let Some(expected) = expected {
        assert_eq!(calls, expected);
    }
}

#[test]
fn what_only_a_process_can_do_is_refused_on_a_machine() {
    let folder = prepared();
    let arguments = ["--system", "--request-at", "syscalls", "--", "./server"];
    let mut recording = Recording::start_in(folder, arguments);
    assert_eq!(recording.finish().code(), Some(2));
    let said = recording.stderr();
    assert!(
        said.contains("--request-at syscalls cannot be combined with --system"),
        "{said}"
    );
    assert!(!recording.path().exists());
}
