//! However a recording ends, what was recorded is a whole trace, and no process is left.

use crate::recording::{Recording, compile, connect, free_port, is_running, send};
use crate::redis;
use corehop_traces::{EndReason, Ending, Trace};
use std::io::Write;

fn open(recording: &Recording) -> Trace {
    Trace::open(&recording.path()).unwrap()
}

#[test]
fn a_killed_server_leaves_every_request_it_had_answered() {
    let port = free_port();
    let mut recording = redis::start(&[], port);
    let stream = connect(&recording, port);
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
        let port = free_port();
        let mut recording = redis::start(&["--requests", "1000000"], port);
        let stream = connect(&recording, port);
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
    let port = free_port();
    let mut recording = redis::start(&[], port);
    connect(&recording, port);
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
void serve(void) { usleep(1000); if (write(1, "!", 1) != 1) _exit(1); }
int main(void) { signal(SIGTERM, SIG_IGN); for (;;) serve(); }
"#;
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "server", source, &[]);
    let arguments = ["--request-at", "serve", "--", "./server"];
    let mut recording = Recording::start_in(folder, arguments);
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
    let port = free_port();
    let mut recording = redis::start(&[], port);
    let stream = connect(&recording, port);
    redis::send_commands(&stream, 30);
    let server = recording.server();
    recording.signal(libc::SIGKILL);
    recording.finish();
    // More than the shared memory holds, so that it would wait if it still wrote.
    redis::send_commands(&stream, 6000);
    (&mut &stream).write_all(b"SHUTDOWN NOSAVE\r\n").unwrap();
    recording.wait_for("the server to end", || (!is_running(server)).then_some(()));
}

#[test]
fn the_last_request_need_not_be_followed_by_another() {
    let port = free_port();
    let mut recording = redis::start(&["--requests", "20"], port);
    let stream = connect(&recording, port);
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

#[test]
fn a_full_disk_ends_the_recording_with_a_message() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/full", folder.path().join("trace.partial")).unwrap();
    let source = "#include <unistd.h>\nvoid serve(void) { usleep(10); }\n\
                  int main(void) { for (;;) serve(); }";
    compile(folder.path(), "server", source, &[]);
    let arguments = [
        "--request-at",
        "serve",
        "--requests",
        "100000",
        "--",
        "./server",
    ];
    let mut recording = Recording::start_in(folder, arguments);
    assert_eq!(recording.finish().code(), Some(4));
    let said = recording.stderr();
    assert!(said.contains("No space left on device"), "{said}");
    assert!(said.contains("trace.partial"), "{said}");
    assert!(!recording.path().exists());
}

fn assert_only_logs_are_left(recording: &Recording) {
    let mut left: Vec<_> = std::fs::read_dir(recording.folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["stderr", "stdout"]);
}
