//! Servers that daemonize: `corehop measure` and `corehop optimize` find them, wait for them, and
//! end them.

use crate::conforming;
use crate::interrupting::interrupt;
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const CALLS: &str = "read,write@batch";

/// A server that forks twice with setsid in between, closes its standard files, and starts a worker
/// with a new session. A stubborn worker ignores SIGTERM. Each writes its process id into a file.
/// As a client, the program sends one request to the server.
const SERVER: &str = r#"
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
static void note(const char *name) {
    FILE *file = fopen(name, "w");
    fprintf(file, "%d\n", getpid());
    fclose(file);
}
int main(int count, char **words) {
    struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "socket"};
    int socket_here = socket(AF_UNIX, SOCK_STREAM, 0);
    char byte = 'x';
    if (count != 2) return 1;
    if (strcmp(words[1], "ask") == 0) {
        if (connect(socket_here, (struct sockaddr *)&at, sizeof at) != 0) return 1;
        return write(socket_here, &byte, 1) != 1 || read(socket_here, &byte, 1) != 1;
    }
    if (fork()) return 0;
    setsid();
    if (fork()) return 0;
    for (int file = 0; file < 3; file++) close(file);
    if (fork() == 0) {
        setsid();
        if (strcmp(words[1], "stubborn") == 0) signal(SIGTERM, SIG_IGN);
        note("worker.pid");
        for (;;) pause();
    }
    note("server.pid");
    unlink("socket");
    bind(socket_here, (struct sockaddr *)&at, sizeof at);
    listen(socket_here, 8);
    for (;;) {
        int client = accept(socket_here, NULL, NULL);
        if (read(client, &byte, 1) == 1 && write(client, &byte, 1) != 1) return 2;
        close(client);
    }
}
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("server.c"), SERVER).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "server.c", "-o", "server"]);
    let built = compiler.current_dir(folder.path()).status().unwrap();
    assert!(built.success());
    folder
}

fn corehop(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    command.current_dir(folder).env("COREHOP_HOST", "");
    command.args(arguments);
    command
}

/// Returns `corehop measure` for the small server.
fn measure(folder: &Path, load: &str, kind: &str) -> Command {
    let arguments = ["measure", "--system-calls", CALLS, "--rounds", "2"];
    let mut command = corehop(folder, &arguments);
    command.args(["--load", load, "--json", "--", "./server", kind]);
    command
}

/// Returns a redis-server in the background, on a socket in `folder`.
fn redis(folder: &Path) -> [String; 11] {
    let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let words = ["/usr/bin/redis-server", "--port", "0", "--unixsocket"].map(String::from);
    let [program, port, none, socket] = words;
    let [save, nothing, background, yes] = ["--save", "", "--daemonize", "yes"].map(String::from);
    let (path, pid, file) = (at("socket"), "--pidfile".into(), at("pid"));
    [
        program, port, none, socket, path, save, nothing, background, yes, pid, file,
    ]
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns whether there is a verdict; after two rounds it may be "slower".
fn has_measured(output: &Output) -> bool {
    matches!(output.status.code(), Some(0 | 8))
}

/// Waits until no process with an id in one of these files runs.
fn assert_gone(folder: &Path, names: &[&str]) {
    let deadline = Instant::now() + Duration::from_secs(60);
    for name in names {
        let number = std::fs::read_to_string(folder.join(name)).unwrap();
        // An ended process may still be a zombie until its parent reads its status.
        let status = Path::new("/proc").join(number.trim()).join("status");
        while let Ok(told) = std::fs::read_to_string(&status)
            && !told.contains("\nState:\tZ")
        {
            assert!(Instant::now() < deadline, "{name} goes on: {told}");
            std::thread::sleep(Duration::from_millis(10)); // waits: between looks
        }
    }
}

#[test]
fn calls_of_redis_in_the_background_are_counted_and_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let load = "redis-cli -s socket -r 200 ping > /dev/null; cp pid ended";
    let arguments = ["measure", "--system-calls", CALLS, "--rounds", "2"];
    let mut command = corehop(folder.path(), &arguments);
    command.args(["--load", load, "--json", "--"]);
    let output = command.args(redis(folder.path())).output().unwrap();
    assert!(has_measured(&output), "{}", said(&output));
    let figures = conforming::read(&["measure"], &output.stdout);
    let calls = &figures["hops"]["system_calls"];
    let counted = ["posted", "declined"].map(|key| calls[key].as_u64().unwrap());
    assert!(counted.iter().sum::<u64>() >= 2 * 200 * 2, "{figures}");
    assert_gone(folder.path(), &["ended"]);
}

#[test]
fn redis_in_the_background_is_recorded_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    // The server has written its id before it answers. The recording also ends the load.
    let load = "redis-cli -s socket ping && cp pid ended; redis-cli -s socket -r 40 get key";
    let arguments = ["optimize", "--requests", "12", "--load", load, "--json"];
    let mut command = corehop(folder.path(), &arguments);
    command.arg("--").args(redis(folder.path()));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(
        said(&output).contains("no speedup found"),
        "{}",
        said(&output)
    );
    let figures = conforming::read(&["optimize"], &output.stdout);
    assert_eq!(figures["gain"], false);
    assert_gone(folder.path(), &["ended"]);
}

#[test]
fn after_a_failure_nothing_is_left() {
    let folder = folder();
    let output = measure(folder.path(), "exit 9", "plain").output().unwrap();
    assert_eq!(output.status.code(), Some(7), "{}", said(&output));
    assert_gone(folder.path(), &["server.pid", "worker.pid"]);
}

#[test]
fn after_an_interrupt_and_a_kill_nothing_is_left() {
    let begin = |folder: &Path| -> Child {
        let mut command = measure(
            folder,
            "echo $$ > load.pid; ./server ask && touch begun && exec sleep 1000",
            "stubborn",
        );
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    for is_killed in [false, true] {
        let folder = folder();
        let mut child = begin(folder.path());
        interrupt(&mut child, || folder.path().join("begun").exists());
        if is_killed {
            kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
        }
        let code = child.wait().unwrap().code();
        assert!(is_killed || code == Some(130), "{code:?}");
        assert_gone(folder.path(), &["server.pid", "worker.pid", "load.pid"]);
    }
}

#[test]
fn what_the_load_leaves_in_the_background_is_not_the_servers() {
    let folder = folder();
    let load = "./server ask; [ -e stays ] || { setsid sleep 1000 & echo $! > stays; }";
    let output = measure(folder.path(), load, "plain").output().unwrap();
    assert!(has_measured(&output), "{}", said(&output));
    assert_gone(folder.path(), &["server.pid", "worker.pid"]);
    let stays = std::fs::read_to_string(folder.path().join("stays")).unwrap();
    let stays = Pid::from_raw(stays.trim().parse().unwrap()).unwrap();
    kill_process(stays, Signal::KILL).expect("the load's own goes on");
}
