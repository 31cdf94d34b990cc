//! Failures on a recorded machine: the message contains the machine's last lines, the exit code is
//! the documented one, recorded requests are in a trace, and no QEMU remains.

use super::assert_guest;
use crate::recording::{Recording, compile, is_running, record, send};
use corehop_traces::{EndReason, Ending, Trace, partial_path};
use tempfile::TempDir;

/// Serves eight requests, unless it must end early or wait, and then acts by its argument.
const SERVER: &str = r#"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
static char page[4096];
__attribute__((noinline)) void serve(int zeros) {
    if (read(zeros, page, sizeof page) != sizeof page) _exit(3);
}
static void listens(void) {
    struct sockaddr_un address = {AF_UNIX, "/tmp/socket"};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listener, (void *)&address, sizeof address) || listen(listener, 8)) _exit(4);
}
int main(int count, char **arguments) {
    const char *what = arguments[1];
    int zeros = open("/dev/zero", O_RDONLY);
    if (!strcmp(what, "early")) return 9;
    if (!strcmp(what, "wait")) for (;;) pause();
    for (int number = 0; number < 8; number++) serve(zeros);
    if (!strcmp(what, "fail")) return write(2, "no more of this\n", 16) == 16 ? 5 : 6;
    if (!strcmp(what, "panic")) return write(open("/proc/sysrq-trigger", O_WRONLY), "c", 1) == 1;
    if (!strcmp(what, "eat")) for (;;) memset(malloc(1 << 20), 1, 1 << 20);
    if (!strcmp(what, "listen")) listens();
    if (!strcmp(what, "serve")) for (;;) serve(zeros);
    for (;;) pause();
}
"#;

/// A folder with the server.
fn folder() -> TempDir {
    assert_guest(&[]);
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "server", SERVER, &["-static"]);
    folder
}

fn start(folder: TempDir, more: &[&str], does: &str) -> Recording {
    let arguments = ["--system", "--request-at", "serve"].iter().chain(more);
    Recording::start_in(folder, arguments.chain(&["--", "./server", does]).copied())
}

/// Asserts the exit code of a recording, its messages, and the requests in its trace; 0 means no
/// trace.
#[track_caller]
fn assert_ends(mut recording: Recording, code: i32, parts: &[&str], requests: usize) {
    let exit = recording.finish().code();
    let said = recording.stderr();
    assert_eq!(exit, Some(code), "{said}");
    for part in parts {
        assert!(said.contains(part), "{part:?} is not in: {said}");
    }
    assert!(
        said.contains("remedy:") && !said.contains("signal 15"),
        "{said}"
    );
    let partial = partial_path(&recording.path());
    assert!(!partial.exists());
    match requests {
        0 => assert!(!recording.path().exists()),
        requests => {
            let trace = Trace::open(&recording.path()).unwrap();
            assert_eq!((trace.requests().len(), trace.complete()), (requests, true));
        }
    }
}

#[test]
fn what_a_machine_needs_and_is_not_there_is_told_before_one_starts() {
    let folder = folder();
    let here = folder.path().to_owned();
    std::fs::write(here.join("large"), vec![1; 50 << 20]).unwrap();
    let run = |more: &[&str], code: i32, part: &str| {
        let mut command = record();
        let mut command = command.current_dir(&here).args(["-o", "trace", "--system"]);
        command = command.args(["--request-at", "serve"]).args(more);
        command = command.env(
            "COREHOP_GUEST_KERNEL",
            match code {
                6 => "/no/such/kernel".into(),
                _ => system_kernel(),
            },
        );
        let output = command.args(["--", "./server", "early"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(part) && said.contains("remedy:"), "{said}");
        assert!(!here.join("trace").exists() && !here.join("trace.partial").exists());
    };
    run(&["--rootfs", "none"], 3, "the guest: none: No such file");
    run(&["--copy", "none"], 3, "the guest: none: No such file");
    let small = ["--guest-memory", "128", "--copy", "large"];
    run(&small, 3, "too many for 128 MiB of memory");
    run(
        &[],
        6,
        "COREHOP_GUEST_KERNEL: /no/such/kernel is not a file",
    );
}

fn system_kernel() -> std::ffi::OsString {
    corehop_recorder::system::parts().unwrap().kernel.into()
}

#[test]
fn a_server_that_fails_is_told_with_its_own_last_lines() {
    let folder = folder();
    let parts = ["the server failed: exit status: 5", "no more of this"];
    assert_ends(start(folder, &[], "fail"), 7, &parts, 8);
}

#[test]
fn a_server_that_ends_before_any_request_leaves_no_trace() {
    let folder = folder();
    let parts = ["the server ended (exit status: 9) before any request"];
    assert_ends(start(folder, &[], "early"), 7, &parts, 0);
}

#[test]
fn a_kernel_that_gives_up_says_why() {
    let folder = folder();
    let parts = [
        "the guest ended before its server or load did",
        "Kernel panic - not syncing: sysrq triggered crash",
    ];
    assert_ends(start(folder, &[], "panic"), 7, &parts, 8);
}

#[test]
fn a_server_that_wants_more_than_the_machines_memory_is_killed_there() {
    let folder = folder();
    let parts = [
        "the server failed: exit status: 137",
        "Out of memory: Killed process",
    ];
    assert_ends(
        start(folder, &["--guest-memory", "128"], "eat"),
        7,
        &parts,
        8,
    );
}

#[test]
fn a_machine_that_takes_more_memory_than_it_may_is_ended() {
    let folder = folder();
    let parts = ["more than --memory-limit 120", "--guest-memory"];
    assert_ends(
        start(folder, &["--memory-limit", "120"], "serve"),
        7,
        &parts,
        0,
    );
}

#[test]
fn a_load_that_fails_ends_the_recording() {
    let folder = folder();
    let parts = [
        "the load failed: exit status: 127",
        "no-such-client: not found",
    ];
    let load = ["--load", "no-such-client --all"];
    assert_ends(start(folder, &load, "listen"), 7, &parts, 8);
}

#[test]
fn a_server_that_never_listens_has_its_load_all_the_same() {
    let folder = folder();
    let parts = ["the load failed: exit status: 4"];
    assert_ends(start(folder, &["--load", "exit 4"], "wait"), 7, &parts, 0);
}

#[test]
fn an_interrupt_ends_the_machine_while_it_starts() {
    let folder = folder();
    // Even if the interrupt is late, no request precedes it.
    let recording = start(folder, &[], "wait");
    let qemu = recording.server();
    recording.signal(libc::SIGINT);
    assert_ends(recording, 130, &["interrupted before any request"], 0);
    assert!(!is_running(qemu));
}

/// Returns a recording that has written something, and its QEMU.
fn that_records(folder: TempDir) -> (Recording, u32) {
    let recording = start(folder, &[], "serve");
    let qemu = recording.server();
    let partial = partial_path(&recording.path());
    recording.wait_for("a hundred requests", || {
        let trace = Trace::open(&partial).ok()?;
        (trace.requests().len() > 100).then_some(())
    });
    (recording, qemu)
}

#[test]
fn an_interrupt_while_it_records_keeps_what_was_recorded() {
    let folder = folder();
    let (mut recording, qemu) = that_records(folder);
    recording.signal(libc::SIGTERM);
    assert_eq!(recording.finish().code(), Some(130));
    assert!(!is_running(qemu));
    let trace = Trace::open(&recording.path()).unwrap();
    assert!(trace.requests().len() > 100);
    assert_eq!(*trace.ending(), Ending::Finished(EndReason::Interrupted));
}

#[test]
fn a_killed_recorder_takes_the_machine_along_and_leaves_what_was_recorded() {
    let folder = folder();
    let (mut recording, qemu) = that_records(folder);
    recording.signal(libc::SIGKILL);
    recording.finish();
    recording.wait_for("QEMU to end", || (!is_running(qemu)).then_some(()));
    let trace = Trace::open(&partial_path(&recording.path())).unwrap();
    assert!(trace.requests().len() > 100 && !trace.complete());
}

#[test]
fn a_killed_machine_is_told_and_leaves_what_was_recorded() {
    let folder = folder();
    let (mut recording, qemu) = that_records(folder);
    send(qemu, libc::SIGKILL);
    assert_eq!(recording.finish().code(), Some(7));
    assert!(
        recording
            .stderr()
            .contains("the guest ended before its server")
    );
    assert!(Trace::open(&recording.path()).unwrap().requests().len() > 100);
}
