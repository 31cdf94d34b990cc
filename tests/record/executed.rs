//! Servers that another program starts, that execute another program, or that daemonize: recorded
//! and ended.

use crate::recording::{Recording, compile, connect, free_port, is_running, record, send};
use crate::redis;
use corehop_traces::{EndReason, Ending, Trace};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Returns the processes under QEMU in a folder of the test, or below.
fn running_in(folder: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_in = |process: &u32| {
        let link = |name: &str| std::fs::read_link(format!("/proc/{process}/{name}"));
        let qemu = link("exe").is_ok_and(|exe| exe.to_string_lossy().contains("qemu"));
        qemu && is_running(*process) && link("cwd").is_ok_and(|cwd| cwd.starts_with(folder))
    };
    numbers.filter(is_in).collect()
}

fn assert_nothing_runs_in(recording: &Recording) {
    let folder = recording.folder().canonicalize().unwrap();
    assert_eq!(running_in(&folder), Vec::<u32>::new());
}

fn is_module(trace: &Trace, name: &str) -> bool {
    let modules = trace.modules().iter();
    let mut names = modules.filter_map(|module| Path::new(&module.path).file_name());
    names.any(|found| found == name)
}

/// Returns the command of a shell that executes redis.
fn redis_command(port: u16) -> String {
    format!("redis-server --save '' --appendonly no --bind 127.0.0.1 --port {port}")
}

fn assert_redis_is_recorded(mut recording: Recording, port: u16) {
    let stream = connect(&recording, port);
    redis::send_commands(&stream, 30);
    redis::shut_down(&stream);
    let trace = recording.trace();
    assert_eq!(trace.requests().len(), 31);
    assert_eq!(redis::entries(&trace, "processCommand"), 31);
    // Its functions are in a program that exists when hooks are installed.
    let server = std::fs::canonicalize("/usr/bin/redis-server").unwrap();
    let analysis = corehop_patcher::Analysis::of(&server).unwrap();
    let functions = trace.functions().iter();
    let own = functions.filter(|f| {
        let module = &trace.modules()[f.module as usize];
        Path::new(&module.path) == server
    });
    let mut count = 0;
    for function in own {
        assert_eq!(
            function.unpatchable,
            analysis.unsafe_reason(function.offset)
        );
        count += 1;
    }
    assert!(count > 50, "{count}");
    assert_nothing_runs_in(&recording);
}

#[test]
fn a_shell_that_becomes_the_server() {
    let port = free_port();
    let command = format!("cd . && exec {}", redis_command(port));
    let arguments = [
        "--request-at",
        "redis-server:processCommand",
        "--",
        "sh",
        "-c",
    ];
    let arguments = arguments.into_iter().chain([&*command]);
    let recording = Recording::start_in(tempfile::tempdir().unwrap(), arguments);
    assert_redis_is_recorded(recording, port);
}

#[test]
fn a_script_that_starts_the_server_and_waits_for_it() {
    let port = free_port();
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("start");
    let text = format!(
        "#!/bin/sh -e\n[ \"$1\" = serve ]\n{} &\nwait\n",
        redis_command(port)
    );
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let marker = "redis-server:processCommand";
    let arguments = ["--request-at", marker, "--", "./start", "serve"];
    assert_redis_is_recorded(Recording::start_in(folder, arguments), port);
}

/// Answers each line with a byte. After five, it executes itself again by its name, and keeps its
/// connection. Finally the test ends it.
const BECOMES: &str = r#"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
extern char **environ;
int main(int count, char **arguments) {
    int connection = count > 2 ? atoi(arguments[2]) : -1;
    if (connection < 0) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(arguments[1]))};
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        if (bind(listener, (void *)&address, sizeof address) || listen(listener, 10)) return 1;
        connection = accept(listener, 0, 0);
        close(listener);
    } else if (strcmp(arguments[0], "renamed") || !getenv("LD_LIBRARY_PATH")) {
        return 3;
    }
    char line[64];
    for (int i = 0; i < 5; i++) {
        long length = read(connection, line, sizeof line);
        if (length <= 0) return 0;
        if (write(connection, line, 1) != 1) return 4;
    }
    char number[16];
    snprintf(number, sizeof number, "%d", connection);
    setenv("LD_LIBRARY_PATH", "/nowhere", 1);
    if (execl("./none", "none", (char *)0) != -1) return 5;
    execl("/proc/self/exe", "renamed", arguments[1], number, (char *)0);
    return 6;
}
"#;

#[test]
fn a_server_that_becomes_itself_anew_keeps_its_connection() {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "server", BECOMES, &[]);
    let port = free_port();
    let number = port.to_string();
    let arguments = ["--request-at", "syscalls", "--", "./server", &number];
    let mut recording = Recording::start_in(folder, arguments);
    let mut stream = connect(&recording, port);
    for _ in 0..17 {
        stream.write_all(b"line\n").unwrap();
        stream.read_exact(&mut [0]).unwrap();
    }
    drop(stream);
    let trace = recording.trace();
    assert_eq!(trace.requests().len(), 17);
    let first = trace.requests()[0].connection;
    assert!(first.is_some() && trace.requests().iter().all(|r| r.connection == first));
    let threads = trace.threads().iter();
    let processes: BTreeSet<u32> = threads.map(|thread| thread.process_id).collect();
    assert_eq!(processes.len(), 1, "one process all along");
    assert_eq!(trace.threads().len(), 4, "and a program after the other");
}

const LIGHTTPD: &str = r#"
server.document-root = "FOLDER"
server.bind = "127.0.0.1"
server.port = PORT
server.pid-file = "FOLDER/pid"
mimetype.assign = ( ".txt" => "text/plain" )
"#;

fn get(stream: &mut TcpStream) {
    stream
        .write_all(b"GET /hello.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"hello") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
}

/// Starts a lighttpd that daemonizes itself, and returns a connection that it has served.
fn lighttpd(arguments: &[&str]) -> (Recording, TcpStream, u32) {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let configuration = LIGHTTPD
        .replace("FOLDER", folder.path().to_str().unwrap())
        .replace("PORT", &port.to_string());
    std::fs::write(folder.path().join("conf"), configuration).unwrap();
    std::fs::write(folder.path().join("hello.txt"), "hello").unwrap();
    let command = ["--", "/usr/sbin/lighttpd", "-f", "conf"];
    let all = ["--request-at", "syscalls"]
        .iter()
        .chain(arguments)
        .chain(&command);
    let recording = Recording::start_in(folder, all.copied());
    let mut stream = connect(&recording, port);
    get(&mut stream);
    let pid = recording.wait_for("the number of the process", || {
        let text = std::fs::read_to_string(recording.folder().join("pid")).ok()?;
        text.trim().parse().ok()
    });
    (recording, stream, pid)
}

#[test]
fn a_server_in_the_background_is_recorded_until_it_ends() {
    let (mut recording, mut stream, pid) = lighttpd(&[]);
    for _ in 0..9 {
        get(&mut stream);
    }
    assert!(!recording.path().exists(), "the recording goes on");
    send(pid, libc::SIGTERM);
    let trace = recording.trace();
    assert_eq!(trace.requests().len(), 10);
    assert_eq!(*trace.ending(), Ending::Finished(EndReason::ServerExited));
    assert!(is_module(&trace, "lighttpd"));
    assert!(!is_running(pid));
}

#[test]
fn a_server_in_the_background_ends_with_the_recording() {
    for interrupted in [true, false] {
        let (mut recording, mut stream, pid) = match interrupted {
            true => lighttpd(&[]),
            false => lighttpd(&["--requests", "5"]),
        };
        for _ in 0..5 {
            get(&mut stream);
        }
        if interrupted {
            recording.signal(libc::SIGINT);
        }
        let code = recording.finish().code();
        assert_eq!(
            code,
            Some(if interrupted { 130 } else { 0 }),
            "{}",
            recording.stderr()
        );
        let trace = Trace::open(&recording.path()).unwrap();
        assert_eq!(trace.requests().len(), if interrupted { 6 } else { 5 });
        assert!(!is_running(pid));
        assert_nothing_runs_in(&recording);
    }
}

/// Two workers, each in a separate session, one of which ignores SIGTERM. Each has started a
/// program that sleeps. The first process ends.
const WORKERS: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile int served;
void serve(void) { served++; }
int main(void) {
    for (int worker = 0; worker < 2; worker++) {
        if (fork()) continue;
        setsid();
        if (worker) signal(SIGTERM, SIG_IGN);
        if (fork() == 0) {
            execlp("sleep", "sleep", "1000", (char *)0);
            _exit(1);
        }
        for (int i = 0;; i++) {
            serve();
            usleep(1000); // waits: serves slowly until it is killed
            if (i != 2) continue;
            printf("worker\n");
            fflush(stdout);
        }
    }
    return 0;
}
"#;

#[test]
fn workers_that_nothing_holds_together_all_end() {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "server", WORKERS, &[]);
    let arguments = ["--request-at", "serve", "--", "./server"];
    let mut recording = Recording::start_as(record(), folder, arguments);
    let here = recording.folder().canonicalize().unwrap();
    recording.wait_for("two workers and two sleepers", || {
        let workers = recording.stdout().matches("worker").count();
        (workers == 2 && running_in(&here).len() == 4).then_some(())
    });
    let server = recording.id();
    recording.signal(libc::SIGINT);
    recording.wait_for("the trace", || recording.path().exists().then_some(()));
    // The worker that ignores SIGTERM is killed after a second.
    recording.signal(libc::SIGINT);
    assert_eq!(recording.finish().code(), Some(130));
    assert!(!is_running(server));
    assert_nothing_runs_in(&recording);
    let trace = Trace::open(&recording.path()).unwrap();
    assert!(trace.threads().len() >= 2);
    assert!(!trace.requests().is_empty());
}
