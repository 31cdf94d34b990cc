//! Requests inferred from system calls alone: as many as the clients sent, each with its
//! connection, in event loops, threads, and processes.

use crate::conforming::read;
use crate::recording::{Recording, compile, connect, free_port, send};
use crate::redis::{self, send_commands};
use corehop_traces::Trace;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;

/// Returns the number of requests per connection, in the order of acceptance.
fn by_connection(trace: &Trace) -> Vec<usize> {
    let mut counts = BTreeMap::new();
    for request in trace.requests() {
        *counts.entry(request.connection.unwrap()).or_insert(0) += 1;
    }
    counts.into_values().collect()
}

/// Returns what `corehop info` reports about the connections.
fn told(recording: &Recording) -> String {
    let mut info = Command::new(env!("CARGO_BIN_EXE_corehop"));
    let output = info.arg("info").arg(recording.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines();
    lines
        .find_map(|line| line.strip_prefix("connections   "))
        .unwrap()
        .to_owned()
}

#[test]
fn an_event_loop_on_one_thread_redis() {
    let port = free_port();
    let folder = tempfile::tempdir().unwrap();
    let mut recording = redis::start_in(folder, "syscalls", &[], port);
    let streams = [(); 3].map(|()| connect(&recording, port));
    for (stream, count) in streams.iter().zip([20, 30, 40]) {
        send_commands(stream, count);
    }
    redis::shut_down(&streams[0]);
    let trace = recording.trace();
    assert_eq!(by_connection(&trace), [21, 30, 40]);
    assert_eq!(
        told(&recording),
        "3, 21 / 30 / 40 requests each (least / median / most)"
    );
}

/// Records memcached with two threads: 15 commands on each of four connections, one at a time.
pub fn memcached(request_at: &str) -> Recording {
    let port = free_port();
    let number = port.to_string();
    let mut arguments = vec!["--request-at", request_at, "--", "memcached", "-u", "root"];
    arguments.extend(["-l", "127.0.0.1", "-U", "0", "-t", "2", "-p", &number]);
    let mut recording = Recording::start_in(tempfile::tempdir().unwrap(), arguments);
    let streams = [(); 4].map(|()| connect(&recording, port));
    for round in 0..15 {
        for stream in &streams {
            let command = format!("set key{round} 0 0 5\r\nvalue\r\n");
            (&mut &*stream).write_all(command.as_bytes()).unwrap();
            let mut answer = String::new();
            BufReader::new(stream).read_line(&mut answer).unwrap();
            assert_eq!(answer, "STORED\r\n");
        }
    }
    send(recording.server(), libc::SIGTERM);
    assert!(recording.finish().success(), "{}", recording.stderr());
    recording
}

#[test]
fn event_loops_on_several_threads_memcached() {
    let trace = memcached("syscalls").trace();
    assert_eq!(by_connection(&trace), [15; 4]);
    let threads: BTreeSet<u32> = trace.requests().iter().map(|r| r.thread.0).collect();
    assert_eq!(threads.len(), 2, "memcached hands connections out in turn");
}

/// Debian's memcached is stripped, so the function that marks its requests has no name.
#[test]
fn a_function_that_is_entered_once_in_every_request_begins_them_as_well() {
    let recording = memcached("syscalls");
    let mut functions = Command::new(env!("CARGO_BIN_EXE_corehop"));
    functions.arg("functions").arg(recording.path());
    let output = functions
        .args(["--json", "--top", "1000"])
        .output()
        .unwrap();
    let told = read(&["functions"], &output.stdout);
    let listed = told["functions"].as_array().unwrap();
    let sends = listed.iter().position(|of| of["sends"] == true).unwrap();
    let before = &listed[..sends];
    assert!(before.iter().all(|of| of["share"] == 1.0), "{told}");
    let hookable = |of: &&serde_json::Value| {
        let module = of["module"].as_str().unwrap();
        module.ends_with("/memcached") && of["unpatchable"].is_null()
    };
    let first = before.iter().find(hookable).unwrap();
    let trace = memcached(first["request_at"].as_str().unwrap()).trace();
    assert_eq!(by_connection(&trace), [15; 4]);
}

/// With other markers, a request has the connection from which its thread has read.
#[test]
fn requests_that_begin_at_a_function_have_connections_too() {
    let port = free_port();
    let mut recording = redis::start(&[], port);
    let streams = [(); 2].map(|()| connect(&recording, port));
    send_commands(&streams[1], 5);
    send_commands(&streams[0], 7);
    redis::shut_down(&streams[0]);
    assert_eq!(by_connection(&recording.trace()), [8, 5]);
}

/// Serves each connection in another way: by various calls that read and write, by copied
/// descriptors, by a separate process. Each answers every line with one byte.
const WAYS: &str = r#"
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
enum { WAYS = 6 };
static char bytes[64];
static long take(int way, int from) {
    struct iovec vector = {bytes, sizeof bytes};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    recv(from, bytes, sizeof bytes, MSG_PEEK);
    switch (way) {
    case 0: return read(from, bytes, sizeof bytes);
    case 1: return readv(from, &vector, 1);
    case 2: return recvmsg(from, &message, 0);
    default: return recv(from, bytes, sizeof bytes, 0);
    }
}
static void give(int way, int to) {
    struct iovec vector = {bytes, 1};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    switch (way) {
    case 0: write(to, bytes, 1); break;
    case 1: writev(to, &vector, 1); break;
    case 2: sendmsg(to, &message, 0); break;
    default: send(to, bytes, 1, 0); break;
    }
}
static void serve(int way, int connection) {
    int from = connection, to = connection;
    if (way == 3) from = dup(connection), to = fcntl(connection, F_DUPFD_CLOEXEC, 100);
    if (way == 4) to = dup2(connection, 200);
    for (long length; (length = take(way, from)) > 0;)
        if (memchr(bytes, '\n', length)) give(way, to);
    if (from != connection) close(from);
    if (to != connection) close(to);
}
int main(int count, char **arguments) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(arguments[1]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (void *)&address, sizeof address) || listen(listener, 10)) return 1;
    for (int way = 0; way < WAYS; way++) {
        int connection = accept(listener, 0, 0);
        if (way < 5) serve(way, connection);
        else if (fork() == 0) { serve(way, connection); _exit(0); }
        close(connection);
        // What is read from anything else is no request.
        int file = open("/proc/self/stat", O_RDONLY);
        read(file, bytes, sizeof bytes);
        close(file);
    }
    while (wait(0) > 0) {}
    return 0;
}
"#;

/// Waits until the server has read everything that was sent.
fn until_read(recording: &Recording, stream: &TcpStream) {
    let [here, there] = [stream.local_addr(), stream.peer_addr()]
        .map(|address| format!("0100007F:{:04X}", address.unwrap().port()));
    recording.wait_for("the server to read", || {
        // Local address, remote address, state, bytes to be sent and to be read: proc_net(5).
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
        let mut rows = table
            .lines()
            .map(|row| row.split_whitespace().skip(1).collect::<Vec<_>>());
        let row = rows.find(|row| row[0] == there && row[1] == here)?;
        row[3].ends_with(":00000000").then_some(())
    });
}

#[test]
fn every_way_to_read_and_write_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "server", WAYS, &[]);
    let port = free_port();
    let number = port.to_string();
    let arguments = ["--request-at", "syscalls", "--", "./server", &number];
    let mut recording = Recording::start_in(folder, arguments);
    for way in 0..6 {
        let mut stream = connect(&recording, port);
        for _ in 0..10 + way {
            // Pieces form one request, however many reads the server needs.
            for piece in [&b"first, "[..], b"second\n"] {
                stream.write_all(piece).unwrap();
                until_read(&recording, &stream);
            }
            let mut answer = [0];
            stream.read_exact(&mut answer).unwrap();
        }
    }
    let trace = recording.trace();
    assert_eq!(by_connection(&trace), [10, 11, 12, 13, 14, 15]);
    let process =
        |request: &corehop_traces::Request| trace.threads()[request.thread.index()].process_id;
    let of_last = trace.requests().iter().filter(|r| r.connection == Some(6));
    let first = process(&trace.requests()[0]);
    assert!(of_last.map(process).all(|id| id != first));
}

const NGINX: &str = "
daemon off;
user root;
worker_processes 2;
pid nginx.pid;
error_log stderr;
events {}
http {
    access_log off;
    server {
        listen 127.0.0.1:PORT reuseport;
        location / { return 200 'hello'; }
    }
}
";

fn get(stream: &mut TcpStream) {
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"hello") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"));
}

/// The kernel distributes forty connections over the two workers. One worker gets all with a
/// probability of one in 2^39.
#[test]
fn a_master_with_two_workers_nginx() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let configuration = NGINX.replace("PORT", &port.to_string());
    std::fs::write(folder.path().join("nginx.conf"), configuration).unwrap();
    let prefix = folder.path().to_str().unwrap().to_owned();
    let server = ["nginx", "-p", &prefix, "-c", "nginx.conf"];
    let marker = ["--request-at", "syscalls", "--"];
    let mut recording = Recording::start_in(folder, marker.into_iter().chain(server));
    let mut connections = vec![connect(&recording, port)];
    // An answer shows that both workers listen.
    get(&mut connections[0]);
    get(&mut connections[0]);
    connections.extend((1..40).map(|_| connect(&recording, port)));
    for stream in &mut connections[1..] {
        get(stream);
        get(stream);
    }
    drop(connections);
    let master = recording.server();
    send(master, libc::SIGQUIT);
    let trace = recording.trace();
    assert_eq!(by_connection(&trace), [2; 40]);
    let serving = trace.requests().iter().map(|request| request.thread);
    let processes: BTreeSet<u32> = serving
        .map(|thread| trace.threads()[thread.index()].process_id)
        .collect();
    assert_eq!(processes.len(), 2);
    assert!(!processes.contains(&master));
}
