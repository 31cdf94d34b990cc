//! Whatever ends a recording, its trace is complete up to that point, and no process remains.

use crate::recording::{Recording, compile, connect, free_port, is_running, send};
use crate::redis;
use corehop_traces::{EndReason, Ending, Kind, Rule, Trace, partial_path};

fn open(recording: &Recording) -> Trace {
    Trace::open(&recording.path()).unwrap()
}

#[test]
fn a_killed_server_leaves_every_request_it_had_answered() {
    let (mut recording, stream) = redis::serving(&[]);
    redis::send_commands(&stream, 30);
    send(recording.server(), libc::SIGKILL);
    assert_eq!(recording.finish().code(), Some(7));
    let trace = open(&recording);
    assert_eq!(trace.requests().len(), 30);
    assert_eq!(redis::entries(&trace, "processCommand"), 30);
    assert_eq!(*trace.ending(), Ending::Finished(EndReason::ServerExited));
    assert!(recording.stderr().contains("the server failed: signal: 9"));
}

#[test]
fn an_interrupt_ends_recording_and_server_and_keeps_the_trace() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let (mut recording, stream) = redis::serving(&["--requests", "1000000"]);
        redis::send_commands(&stream, 30);
        let server = recording.server();
        recording.signal(signal);
        assert_eq!(recording.finish().code(), Some(130));
        assert!(!is_running(server));
        let trace = open(&recording);
        assert_eq!(trace.requests().len(), 30);
        assert_eq!(*trace.ending(), Ending::Finished(EndReason::Interrupted));
    }
}

#[test]
fn an_interrupt_before_any_request_leaves_nothing() {
    let (mut recording, _) = redis::serving(&[]);
    let server = recording.server();
    recording.signal(libc::SIGINT);
    assert_eq!(recording.finish().code(), Some(130));
    assert!(!is_running(server));
    assert_only_logs_are_left(&recording);
}

#[test]
fn a_second_interrupt_kills_a_server_that_will_not_end() {
    let source = r#"
#include <signal.h>
#include <unistd.h>
void serve(void) {
    usleep(1000); // waits: serves slowly until it is killed
    if (write(1, "!", 1) != 1) _exit(1);
}
int main(void) { signal(SIGTERM, SIG_IGN); for (;;) serve(); }
"#;
    let mut recording = Recording::of(source);
    recording.wait_for("a request", || {
        recording.stdout().contains("!!").then_some(())
    });
    let server = recording.server();
    recording.signal(libc::SIGINT);
    recording.wait_for("the trace", || recording.path().exists().then_some(()));
    assert!(is_running(server));
    recording.signal(libc::SIGINT);
    assert_eq!(recording.finish().code(), Some(130));
    assert!(!is_running(server));
    assert!(!open(&recording).requests().is_empty());
}

#[test]
fn the_server_outlives_a_killed_recorder() {
    let (mut recording, stream) = redis::serving(&[]);
    redis::send_commands(&stream, 30);
    let server = recording.server();
    recording.signal(libc::SIGKILL);
    recording.finish();
    // More than the shared memory fits, so a recorded server would wait.
    redis::send_commands(&stream, 6000);
    redis::shut_down(&stream);
    recording.wait_for("the server to end", || (!is_running(server)).then_some(()));
}

#[test]
fn the_last_request_need_not_be_followed_by_another() {
    let (mut recording, stream) = redis::serving(&["--requests", "20"]);
    redis::send_commands(&stream, 20);
    let trace = recording.trace();
    assert_eq!(trace.requests().len(), 20);
    let complete = trace.requests().iter().filter(|request| request.complete);
    assert_eq!(complete.count(), 19);
}

#[test]
fn a_server_that_exits_at_once_is_said_to() {
    let source = "#include <stdio.h>\nvoid serve(void) {}\n\
                  int main(void) { fputs(\"no configuration\\n\", stderr); return 3; }";
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "server", source, &["-rdynamic"]);
    let arguments = ["--request-at", "serve", "--", "./server"];
    let mut recording = Recording::start_in(folder, arguments);
    assert_eq!(recording.finish().code(), Some(7));
    let said = recording.stderr();
    assert!(said.starts_with("no configuration\n"), "{said}");
    assert!(
        said.contains("the server ended (exit status: 3) before any request"),
        "{said}"
    );
    assert!(said.contains("--request-at \"serve\""), "{said}");
    std::fs::remove_file(recording.folder().join("server")).unwrap();
    assert_only_logs_are_left(&recording);
}

#[test]
fn a_server_that_takes_too_much_memory_is_ended() {
    let port = free_port();
    let mut recording = redis::start(&["--memory-limit", "1"], port);
    assert_eq!(recording.finish().code(), Some(7));
    let said = recording.stderr();
    assert!(said.contains("more than --memory-limit 1"), "{said}");
    assert_only_logs_are_left(&recording);
}

/// Simulates a full disk for the trace in the process that loads it first, but not in its children.
const FULL: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((constructor)) static void alone(void) { unsetenv("LD_PRELOAD"); }
ssize_t write(int file, const void *bytes, size_t count) {
    char link[64], path[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    if (readlink(link, path, sizeof path - 1) > 0 && strstr(path, "/trace.partial") != NULL) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_write, file, bytes, count);
}
"#;

#[test]
fn a_full_disk_ends_the_recording_with_a_message_and_the_server_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let full = compile(folder.path(), "full.so", FULL, &["-shared", "-fPIC"]);
    let mut recorder = crate::recording::record();
    recorder.env("LD_PRELOAD", full);
    let port = free_port();
    let mut recording = redis::start_as(recorder, folder, "processCommand", &[], port);
    let stream = connect(&recording, port);
    redis::send_commands(&stream, 30);
    wait_until_it_says_that_it_has_stopped(&recording);
    redis::send_commands(&stream, 300);
    redis::shut_down(&stream);
    assert_eq!(recording.finish().code(), Some(4));
    let said = recording.stderr();
    assert!(said.contains("No space left on device"), "{said}");
    assert!(said.contains("trace.partial"), "{said}");
    assert!(!recording.path().exists());
}

/// Sets the limit on file sizes of a running process.
fn limit_files(process: u32, bytes: u64) {
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: bytes,
    };
    let process = process.cast_signed();
    // SAFETY: the limit outlives the call, which has no old one to write.
    let set = unsafe { libc::prlimit(process, libc::RLIMIT_FSIZE, &limit, std::ptr::null_mut()) };
    assert_eq!(set, 0);
}

#[test]
fn a_limit_on_file_sizes_ends_the_recording_with_a_message_and_the_server_goes_on() {
    let (mut recording, stream) = redis::serving(&[]);
    redis::send_commands(&stream, 30);
    let partial = partial_path(&recording.path());
    recording.wait_for("the requests", || {
        (Trace::open(&partial).ok()?.requests().len() == 30).then_some(())
    });
    let written = std::fs::metadata(&partial).unwrap().len();
    limit_files(recording.id(), written + 100);
    redis::send_commands(&stream, 30);
    wait_until_it_says_that_it_has_stopped(&recording);
    // The server inherits the default action of the limit's signal: it is not ignored.
    let status = std::fs::read_to_string(format!("/proc/{}/status", recording.server())).unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = u64::from_str_radix(ignored.unwrap().trim(), 16).unwrap();
    assert_eq!(ignored >> (libc::SIGXFSZ - 1) & 1, 0);
    redis::send_commands(&stream, 300);
    redis::shut_down(&stream);
    assert_eq!(recording.finish().code(), Some(4));
    let said = recording.stderr();
    assert!(said.contains("File too large"), "{said}");
    assert!(said.contains("ulimit -f"), "{said}");
    assert_eq!(std::fs::metadata(&partial).unwrap().len(), written + 100);
    let report = corehop_traces::check(&partial).unwrap();
    let rules = report.findings.iter().map(|f| f.violation.rule);
    assert_eq!(rules.collect::<Vec<_>>(), [Rule::End]);
    assert!(Trace::open(&partial).unwrap().requests().len() >= 30);
}

#[test]
fn a_limit_on_file_sizes_below_the_shared_memory_is_refused_before_the_server_starts() {
    let folder = tempfile::tempdir().unwrap();
    let mut record = crate::recording::record();
    record.args(["-o", "trace", "--request-at", "syscalls", "--", "/bin/true"]);
    let mut limited = std::process::Command::new("sh");
    limited
        .args(["-c", "ulimit -f 2000; exec \"$@\"", "sh"])
        .arg(record.get_program())
        .args(record.get_args())
        .envs(
            record
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(folder.path());
    let output = limited.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{said}");
    assert!(
        said.contains("cannot size the shared recording memory"),
        "{said}"
    );
    assert!(said.contains("ulimit -f"), "{said}");
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

/// Serves 300 requests, reports this, and then waits.
const RESTS: &str = r#"
#include <stdio.h>
#include <unistd.h>
static volatile int served;
void serve(void) { served++; }
int main(void) {
    for (int request = 0; request < 300; request++) serve();
    puts("served");
    fflush(stdout);
    for (;;) pause();
}
"#;

#[test]
fn killing_both_loses_nothing_that_was_recorded_some_time_before() {
    let mut recording = Recording::of(RESTS);
    let partial = partial_path(&recording.path());
    recording.wait_for("all requests in the file", || {
        let trace = Trace::open(&partial).ok()?;
        (trace.requests().len() == 300).then_some(())
    });
    send(recording.server(), libc::SIGKILL);
    recording.signal(libc::SIGKILL);
    recording.finish();
    let report = corehop_traces::check(&partial).unwrap();
    let rules = report.findings.iter().map(|f| f.violation.rule);
    assert_eq!(rules.collect::<Vec<_>>(), [Rule::End]);
    let mut check = std::process::Command::new(env!("CARGO_BIN_EXE_corehop"));
    let checked = check.args(["check", "--partial"]).arg(&partial).output();
    assert_eq!(checked.unwrap().status.code(), Some(0));
    let trace = Trace::open(&partial).unwrap();
    let complete = trace.requests().iter().filter(|request| request.complete);
    assert_eq!((trace.requests().len(), complete.count()), (300, 299));
    assert!(matches!(trace.ending(), Ending::Cut { .. }));
}

/// Stores far more than the shared memory fits, then reports this.
const STORES: &str = r#"
#include <stdio.h>
#include <unistd.h>
enum { REQUESTS = 600, CELLS = 5000 };
static volatile long cells[CELLS];
void serve(void) { for (int cell = 0; cell < CELLS; cell++) cells[cell] = cell; }
int main(void) {
    printf("%p\n", (void *)cells);
    fflush(stdout);
    for (int request = 0; request < REQUESTS; request++) serve();
    puts("done");
    fflush(stdout);
    return 0;
}
"#;

/// Returns how often a process's first thread has slept.
fn naps_of(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/task/{process}/status")).unwrap();
    let mut lines = status.lines();
    let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    count.unwrap().trim().parse().unwrap()
}

#[test]
fn a_recorder_that_falls_behind_holds_the_server_up_and_loses_nothing() {
    let mut recording = Recording::of(STORES);
    let said = recording.wait_for("the server", || {
        let said = recording.stdout();
        said.ends_with('\n').then_some(said)
    });
    recording.signal(libc::SIGSTOP);
    let server = recording.server();
    let before = naps_of(server);
    // A thread that computes sleeps only while it waits for the recorder.
    recording.wait_for("the server to wait", || {
        (naps_of(server) > before + 1000).then_some(())
    });
    assert!(!recording.stdout().contains("done"));
    recording.signal(libc::SIGCONT);
    let trace = recording.trace();
    assert_eq!(trace.requests().len(), 600);
    let cells = u64::from_str_radix(&said.trim()[2..], 16).unwrap();
    let mut stores = vec![0; 5000];
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        for access in execution.accesses.iter().filter(|a| a.kind == Kind::Store) {
            let place = access.address.wrapping_sub(cells) / 8;
            if let Some(count) = stores.get_mut(place as usize) {
                *count += 1;
            }
        }
    }
    assert!(stores.iter().all(|&count| count == 600));
}

/// Never serves a request.
const SLEEPS: &str = "
#include <poll.h>
void serve(void) {}
int main(int count, char **arguments) { for (;;) poll(0, 0, 20); }
";

#[test]
fn a_recording_that_waits_in_vain_says_what_it_has_seen() {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "server", SLEEPS, &[]);
    let arguments = ["--request-at", "syscalls", "--", "./server"];
    let recording = Recording::start_in(folder, arguments);
    let said = recording.wait_for("the message", || {
        let said = recording.stderr();
        said.contains("no request has begun for 10 s")
            .then_some(said)
    });
    assert!(said.contains("no connection was accepted"), "{said}");
    assert!(said.contains("system calls: poll "), "{said}");
    assert!(said.contains("--request-at NAME"), "{said}");
}

fn assert_only_logs_are_left(recording: &Recording) {
    let mut left: Vec<_> = std::fs::read_dir(recording.folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["stderr", "stdout"]);
}

fn wait_until_it_says_that_it_has_stopped(recording: &Recording) {
    recording.wait_for("the message", || {
        let said = recording.stderr();
        said.contains("recording has stopped, and the server continues")
            .then_some(())
    });
}
