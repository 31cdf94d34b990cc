//! Existing files at the paths of a recording stay, unless they may be replaced. A running
//! recording is never disturbed.

use crate::recording::{Recording, compile, record, send};
use corehop_traces::{Trace, partial_path};
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::Path;
use tempfile::TempDir;

/// Serves one request.
const ONCE: &str = r#"
static volatile int served;
void serve(void) { served++; }
int main(void) { serve(); return 0; }
"#;

/// Serves ten requests, and then waits.
const RESTS: &str = r#"
#include <stdio.h>
#include <unistd.h>
static volatile int served;
void serve(void) { served++; }
int main(void) { while (served < 10) serve(); puts("served"); fflush(stdout); for (;;) pause(); }
"#;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "server", ONCE, &[]);
    folder
}

/// Records to `trace` in this folder; returns the exit code and the message.
fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = record();
    command.current_dir(folder).args(["-o", "trace"]);
    command.args(arguments);
    command.args(["--request-at", "serve", "--", "./server"]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

#[track_caller]
fn refused(folder: &Path, arguments: &[&str], parts: &[&str]) {
    let (code, said) = run(folder, arguments);
    assert_eq!(code, Some(4), "{said}");
    for part in parts.iter().chain(&["remedy:"]) {
        assert!(said.contains(part), "{part:?} is not in: {said}");
    }
    assert!(!folder.join("trace").exists());
}

#[track_caller]
fn recorded(folder: &Path, arguments: &[&str]) {
    let (code, said) = run(folder, arguments);
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("cannot work"), "{said}");
    assert_eq!(
        Trace::open(&folder.join("trace")).unwrap().requests().len(),
        1
    );
    assert!(!partial_path(&folder.join("trace")).exists());
    assert!(folder.join("trace.control").symlink_metadata().is_err());
}

#[test]
fn what_a_killed_recording_left_is_kept_until_it_may_go() {
    let mut recording = Recording::of(RESTS);
    let partial = partial_path(&recording.path());
    recording.wait_for("the requests in the file", || {
        (Trace::open(&partial).ok()?.requests().len() == 10).then_some(())
    });
    send(recording.server(), libc::SIGKILL);
    recording.signal(libc::SIGKILL);
    recording.finish();
    let left = std::fs::read(&partial).unwrap();
    let folder = recording.folder();
    compile(folder, "server", ONCE, &[]);
    let said = [
        "trace.partial exists already",
        "corehop check --partial",
        "--force",
    ];
    refused(folder, &[], &said);
    assert_eq!(std::fs::read(&partial).unwrap(), left);
    // Its socket, on which nobody listens, blocks no other recording.
    let socket = folder.join("trace.control").symlink_metadata().unwrap();
    assert!(socket.file_type().is_socket());
    std::fs::rename(&partial, folder.join("kept")).unwrap();
    recorded(folder, &[]);
    std::fs::rename(folder.join("trace"), folder.join("first")).unwrap();
    std::fs::rename(folder.join("kept"), &partial).unwrap();
    recorded(folder, &["--force"]);
}

#[test]
fn a_link_at_the_partial_name_is_not_followed() {
    let folder = folder();
    let here = folder.path();
    std::fs::write(here.join("precious"), "precious").unwrap();
    symlink("precious", here.join("trace.partial")).unwrap();
    refused(here, &[], &["trace.partial exists already"]);
    recorded(here, &["--force"]);
    assert_eq!(std::fs::read(here.join("precious")).unwrap(), b"precious");
    assert!(here.join("trace").symlink_metadata().unwrap().is_file());
}

#[test]
fn a_trace_is_a_file() {
    let folder = folder();
    let here = folder.path();
    symlink("/dev/null", here.join("trace")).unwrap();
    let (code, said) = run(here, &["--force"]);
    assert_eq!(code, Some(4), "{said}");
    assert!(
        said.contains("trace is a device or pipe, but must be a file"),
        "{said}"
    );
    let link = std::fs::read_link(here.join("trace")).unwrap();
    assert_eq!(link, Path::new("/dev/null"));
}

#[test]
fn what_is_no_socket_stays_at_the_sockets_name() {
    let folder = folder();
    let here = folder.path();
    let control = here.join("trace.control");
    let said = ["trace.control exists already", "--force"];
    std::fs::write(&control, "precious").unwrap();
    refused(here, &[], &said);
    assert_eq!(std::fs::read(&control).unwrap(), b"precious");
    std::fs::remove_file(&control).unwrap();
    std::fs::write(here.join("precious"), "precious").unwrap();
    symlink("precious", &control).unwrap();
    refused(here, &[], &said);
    recorded(here, &["--force"]);
    assert_eq!(std::fs::read(here.join("precious")).unwrap(), b"precious");
}

#[test]
fn a_socket_that_is_in_use_stays_even_if_it_may_go() {
    let folder = folder();
    let here = folder.path();
    let control = here.join("trace.control");
    let live = UnixListener::bind(&control).unwrap();
    let said = ["trace is being recorded by another corehop"];
    refused(here, &[], &said);
    refused(here, &["--force"], &said);
    drop(live);
    std::fs::remove_file(&control).unwrap();
    let _other = UnixDatagram::bind(&control).unwrap();
    refused(
        here,
        &["--force"],
        &["trace.control: cannot check whether trace is being recorded"],
    );
    std::fs::remove_file(&control).unwrap();
    recorded(here, &[]);
}

#[test]
fn a_recording_that_goes_on_keeps_its_files_whatever_comes() {
    let mut recording = Recording::of(RESTS);
    let partial = partial_path(&recording.path());
    recording.wait_for("the requests in the file", || {
        (Trace::open(&partial).ok()?.requests().len() == 10).then_some(())
    });
    let folder = recording.folder();
    std::fs::write(folder.join("text"), "I  00401000,4\n").unwrap();
    refused(
        folder,
        &["--force"],
        &["is being recorded by another corehop"],
    );
    let mut import = std::process::Command::new(env!("CARGO_BIN_EXE_corehop"));
    import.args([
        "import", "--format", "lackey", "text", "-o", "trace", "--force",
    ]);
    let output = import.current_dir(folder).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    recording.signal(libc::SIGINT);
    assert_eq!(recording.finish().code(), Some(130));
    let trace = Trace::open(&recording.path()).unwrap();
    assert_eq!(trace.requests().len(), 10);
}

#[test]
fn trace_and_socket_are_their_owners_alone_whatever_the_umask() {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "server", RESTS, &[]);
    let mut open = std::process::Command::new("sh");
    let plain = record();
    open.args(["-c", "umask 0; exec \"$@\"", "sh"]);
    open.arg(plain.get_program()).args(plain.get_args());
    open.envs(
        plain
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let arguments = ["--request-at", "serve", "--", "./server"];
    let mut recording = Recording::start_as(open, folder, arguments);
    let mode_of = |name: &str| {
        let path = recording.folder().join(name);
        recording
            .wait_for(name, || path.symlink_metadata().ok())
            .mode()
            & 0o777
    };
    assert_eq!(mode_of("trace.control"), 0o600);
    assert_eq!(mode_of("trace.partial"), 0o600);
    recording.wait_for("the requests", || {
        recording.stdout().contains("served").then_some(())
    });
    recording.signal(libc::SIGINT);
    assert_eq!(recording.finish().code(), Some(130));
    assert_eq!(recording.path().metadata().unwrap().mode() & 0o777, 0o600);
}

/// A failure before the server runs leaves no files that would block the next recording.
#[test]
fn a_recording_that_does_not_begin_leaves_nothing_in_the_way() {
    let folder = folder();
    let here = folder.path();
    let (code, said) = run(here, &["--preload", "missing.so"]);
    assert_eq!(code, Some(3), "{said}");
    recorded(here, &[]);
}
