//! `corehop optimize` tries asynchronous system calls of a server, in addition to plans.
//!
//! No verdict here depends on the speed of this machine: the server's answers state whether its
//! calls are asynchronous, and the load prints one of two numbers accordingly. These tests need
//! `qemu-x86_64` and the symbolizer, as those of `corehop record` do.

use crate::conforming;
use crate::interrupting::interrupt;
use crate::made_once::made_once;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The calls of a thread that serves a connection, and those of the single thread of the loop.
const CALLS: &str = "recv,recvfrom,send,sendto,poll@batch";
const OF_LOOP: &str = "recv,send,epoll_wait@batch";

/// With `threads` it has one thread per connection, with `loop` one thread for all. With `ask` it
/// is a client that alternates between three connections and prints `rate`: 100, or the given
/// number if calls are asynchronous. With `end` it is a client that ends the server.
const SERVER: &str = r#"
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
static volatile long sum;
static long table[8192];
__attribute__((noinline)) void work(int by) {
    for (int i = 0; i < 8192; i += 8) sum += table[i] * by;
}
__attribute__((noinline)) int serve(int client) {
    char byte;
    if (recv(client, &byte, 1, 0) != 1) return 0;
    if (byte == 'q') exit(0);
    work(byte);
    byte = getenv("COREHOP_SYSCALLS") ? 'p' : 'o';
    return send(client, &byte, 1, 0) == 1;
}
static void *connection(void *at) {
    struct pollfd file = {.fd = (int)(long)at, .events = POLLIN};
    while (poll(&file, 1, -1) == 1 && serve(file.fd));
    close(file.fd);
    return NULL;
}
static int opened(const struct sockaddr_un *at) {
    int file = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(file, (const void *)at, sizeof *at) != 0) exit(1);
    return file;
}
static int ask(const struct sockaddr_un *at, const char *rate) {
    char byte = 'x';
    int clients[3];
    for (int i = 0; i < 3; i++) clients[i] = opened(at);
    for (int i = 0; i < 120; i++)
        if (send(clients[i % 3], "x", 1, 0) != 1 || recv(clients[i % 3], &byte, 1, 0) != 1)
            return 1;
    printf("rate %s\n", byte == 'p' ? rate : "100");
    return 0;
}
static void loop(int listener) {
    int waits = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    epoll_ctl(waits, EPOLL_CTL_ADD, listener, &event);
    while (epoll_wait(waits, &event, 1, -1) == 1) {
        if (event.data.fd != listener) {
            if (!serve(event.data.fd)) close(event.data.fd);
            continue;
        }
        event.data.fd = accept(listener, NULL, NULL);
        epoll_ctl(waits, EPOLL_CTL_ADD, event.data.fd, &event);
    }
}
int main(int count, char **words) {
    struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "socket"};
    if (count < 2) return 1;
    if (strcmp(words[1], "ask") == 0) return ask(&at, words[2]);
    if (strcmp(words[1], "end") == 0) return send(opened(&at), "q", 1, 0) != 1;
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    unlink("socket");
    bind(listener, (void *)&at, sizeof at);
    listen(listener, 8);
    if (strcmp(words[1], "loop") == 0) loop(listener);
    for (;;) {
        pthread_t thread;
        pthread_create(&thread, NULL, connection, (void *)(long)accept(listener, NULL, NULL));
        pthread_detach(thread);
    }
}
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path());
    folder
}

fn compile(folder: &Path) {
    std::fs::write(folder.join("server.c"), SERVER).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args([
        "-O1",
        "-Wl,--build-id",
        "server.c",
        "-pthread",
        "-o",
        "server",
    ]);
    let built = compiler.current_dir(folder).status().unwrap();
    assert!(built.success());
}

/// Runs `corehop optimize` for the server in `folder`; with asynchronous calls it serves at this
/// rate.
fn optimize(folder: &Path, kind: &str, rate: &str, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    run(command.arg("optimize"), folder, kind, rate, more)
}

fn run(command: &mut Command, folder: &Path, kind: &str, rate: &str, more: &[&str]) -> Output {
    let load = format!("./server ask {rate}");
    command
        .current_dir(folder)
        .env("COREHOP_HOST", "")
        .args(["--requests", "30", "--max-rounds", "2", "--warm-up", "0"])
        .args(["--load", &load, "--throughput", "rate ([0-9]+)"])
        .args(more)
        .args(["--", "./server", kind]);
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn figures(output: &Output) -> Value {
    assert!(!output.stdout.is_empty(), "{}", said(output));
    conforming::read(&["optimize"], &output.stdout)
}

/// Returns a recording of the server with a thread for each connection, made once.
fn trace() -> String {
    let folder = made_once("optimize_posted", |folder| {
        compile(folder);
        let none = ["--system-calls", "none", "--json"];
        let output = optimize(folder, "threads", "1", &none);
        let figures = figures(&output);
        assert_eq!(figures["system_calls_untried"], "--system-calls is none");
        let tried = figures["tried"].as_array().unwrap();
        assert!(
            tried.iter().all(|of| of["system_calls"].is_null()),
            "{figures}"
        );
    });
    let trace = folder.join("corehop-optimize/server.trace");
    trace.to_str().unwrap().to_owned()
}

#[test]
fn a_server_with_a_thread_for_each_connection_is_tried_with_its_calls_from_recording_to_start() {
    let folder = folder();
    let output = optimize(folder.path(), "threads", "160", &["--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let figures = figures(&output);
    assert_eq!(figures["system_calls"], CALLS);
    for key in ["plan", "report", "why_not", "system_calls_untried"] {
        assert_eq!(figures[key], Value::Null, "{key}");
    }
    let tried = figures["tried"].as_array().unwrap();
    let best = figures["best"].as_u64().unwrap() as usize;
    assert_eq!(best, tried.len() - 1, "{figures}");
    assert_eq!(tried[best]["system_calls"], CALLS);
    assert!(
        (figures["ratio"].as_f64().unwrap() - 1.6).abs() < 1e-9,
        "{figures}"
    );
    let posted = &figures["hops"]["system_calls"]["posted"];
    assert!(posted.as_u64().is_some_and(|calls| calls > 0), "{figures}");
    let command = format!("corehop run --system-calls {CALLS} -- ./server threads");
    assert_eq!(figures["command"], *command);
    assert_eq!(figures["start"], "corehop-optimize/start.sh");
    let left = folder.path().join("corehop-optimize");
    for (name, is_there) in [
        ("start.sh", true),
        ("plan.toml", false),
        ("report.html", false),
    ] {
        assert_eq!(left.join(name).exists(), is_there, "{name}");
    }
    let kept = std::fs::read(left.join("result.json")).unwrap();
    assert_eq!(conforming::read(&["optimize"], kept), figures);
    posts_calls(folder.path(), &["sh", "corehop-optimize/start.sh"]);
    posts_calls(folder.path(), &["sh", "-c", &format!("exec {command}")]);
}

/// Starts the server with these words, sends requests, and asserts that calls were asynchronous.
fn posts_calls(folder: &Path, words: &[&str]) {
    let own = Path::new(env!("CARGO_BIN_EXE_corehop")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let _ = std::fs::remove_file(folder.join("socket"));
    let mut server = Command::new(words[0])
        .current_dir(folder)
        .args(&words[1..])
        .env("PATH", format!("{}:{path}", own.display()))
        .env("COREHOP_STATS", "stats.json")
        .spawn()
        .unwrap();
    let client = |what: &[&str]| {
        let mut client = Command::new("./server");
        let client = client.args(what).current_dir(folder).stdout(Stdio::null());
        client.status().unwrap().success()
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while !client(&["ask", "1"]) {
        assert!(Instant::now() < deadline, "it does not answer");
        std::thread::sleep(Duration::from_millis(10)); // waits: between looks
    }
    assert!(client(&["end"]));
    assert!(server.wait().unwrap().success());
    let told: Value =
        serde_json::from_slice(&std::fs::read(folder.join("stats.json")).unwrap()).unwrap();
    let calls = told["system_calls"]["calls"].as_array().unwrap();
    let posted: u64 = calls
        .iter()
        .filter_map(|call| call["posted"].as_u64())
        .sum();
    assert!(posted > 0, "{told}");
}

/// Leaves out the line that machines with neighbors have.
fn without_neighbors(told: &str) -> String {
    let lines = told.split_inclusive('\n');
    let is_kept = |line: &&str| !line.starts_with("caution     in ");
    lines.filter(is_kept).collect()
}

#[test]
fn people_are_told_the_calls_and_the_command_and_by_which_figure_they_do_not_pay() {
    let folder = folder();
    let output = optimize(folder.path(), "threads", "160", &["--trace", &trace()]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let told = without_neighbors(&String::from_utf8_lossy(&output.stdout));
    let head = "./server: 1.600 (1.600 to 1.600, 95 % confidence) times as fast with \
                asynchronous system calls\n\nmeasured    2 rounds in turn, ";
    assert!(told.starts_with(head), "{told}");
    let tail = format!(
        " synchronous ones\ncalls       {CALLS}\n\nStart the server with \
         corehop-optimize/start.sh, or with:\n\n    corehop run --system-calls {CALLS} -- ./server \
         threads\n"
    );
    assert!(told.ends_with(&tail), "{told}");

    // A run without a gain removes the files of an earlier run.
    let more = ["--trace", &trace(), "--force"];
    let output = optimize(folder.path(), "threads", "90", &more);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let figure = format!("system calls ({CALLS}) measured ");
    assert!(said(&output).contains(&figure), "{}", said(&output));
    assert!(!folder.path().join("corehop-optimize/start.sh").exists());
}

#[test]
fn posted_calls_that_were_lucky_in_two_rounds_lose_the_race_against_a_steady_plan() {
    let folder = folder();
    let load = "rate=$(./server ask 160 | cut -d ' ' -f 2); if [ $rate = 160 ]; then echo >> \
                posted; [ $(wc -l < posted) -le 2 ] || rate=100; fi; echo rate $rate";
    let output = Command::new(env!("CARGO_BIN_EXE_corehop"))
        .current_dir(folder.path())
        .env("COREHOP_HOST", "")
        .args([
            "optimize",
            "--trace",
            &trace(),
            "--ignore-verdict",
            "--json",
        ])
        .args(["--warm-up", "0", "--load", load])
        .args(["--throughput", "rate ([0-9]+)", "--", "./server", "threads"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let figures = figures(&output);
    let tried = figures["tried"].as_array().unwrap();
    let best = figures["best"].as_u64().unwrap() as usize;
    assert_eq!(tried[best]["system_calls"], Value::Null, "{figures}");
    assert_eq!(figures["chosen_by"], "lower-end", "{figures}");
    let posted = &tried.last().unwrap()["raced"];
    assert!(posted["ratio"].as_f64().unwrap() > 1.1, "{figures}");
    assert_eq!(figures["ratio"], 1.0);
}

#[test]
fn one_thread_for_all_connections_is_tried_only_when_it_is_asked_for() {
    let folder = folder();
    let output = optimize(folder.path(), "loop", "160", &[]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let why = "; asynchronous system calls were not tried: one thread serves all connections, for \
               which no measurement showed a gain (--system-calls CALLS@batch tries it)\n";
    assert!(said(&output).contains(why), "{}", said(&output));
    let trace = folder.path().join("corehop-optimize/server.trace");
    let trace = trace.to_str().unwrap().to_owned();
    let more = [
        "--trace",
        &trace,
        "--system-calls",
        OF_LOOP,
        "--json",
        "--force",
    ];
    let output = optimize(folder.path(), "loop", "160", &more);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let figures = figures(&output);
    assert_eq!(figures["system_calls"], OF_LOOP);
    assert_eq!(figures["system_calls_untried"], Value::Null);
}

#[test]
fn calls_that_cannot_be_posted_are_refused_before_anything_is_recorded() {
    let folder = folder();
    for (calls, why) in [
        (
            "open@batch",
            "'open' cannot be made there; supported calls: read, ",
        ),
        ("recv,,send@batch", "'' cannot be made there"),
        (
            "recv@somewhere",
            "'somewhere' is not a target: use a core up to 63, yield, batch",
        ),
        ("recv", "missing @TARGET, e.g. recv,send,poll@batch"),
    ] {
        let more = ["--system-calls", calls];
        let output = optimize(folder.path(), "threads", "160", &more);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains(why), "{}", said(&output));
        assert!(!folder.path().join("corehop-optimize").exists());
    }
}

#[test]
fn on_one_cpu_calls_are_all_that_is_tried() {
    let folder = folder();
    let alone = |more: &[&str]| {
        let mut command = Command::new("taskset");
        command.args(["-c", &allowed(), env!("CARGO_BIN_EXE_corehop"), "optimize"]);
        run(&mut command, folder.path(), "threads", "160", more)
    };
    let output = alone(&["--trace", &trace(), "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let figures = figures(&output);
    assert_eq!(figures["tried"].as_array().unwrap().len(), 1, "{figures}");
    assert_eq!(figures["system_calls"], CALLS);
    let output = alone(&["--trace", &trace(), "--system-calls", "none", "--force"]);
    assert_eq!(output.status.code(), Some(6), "{}", said(&output));
    let why = "there is one physical core to run on, and none to hop to; asynchronous system \
               calls: --system-calls is none";
    assert!(said(&output).contains(why), "{}", said(&output));
}

/// Returns the first CPU that this process may use.
fn allowed() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mut lines = status.lines();
    let list = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let first = list.unwrap().trim().split([',', '-']).next();
    first.unwrap().to_owned()
}

#[test]
fn after_an_interrupt_of_the_measurement_the_recording_is_left_and_nothing_to_start() {
    let folder = folder();
    let left = folder.path().join("corehop-optimize");
    std::fs::create_dir(&left).unwrap();
    std::fs::write(left.join("start.sh"), "of an earlier run").unwrap();
    let log = std::fs::File::create(folder.path().join("log")).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_corehop"))
        .current_dir(folder.path())
        .env("COREHOP_HOST", "")
        .args(["optimize", "--force", "--trace", &trace()])
        .args(["--load", "./server ask 1 > load; exec sleep 1000"])
        .args(["--", "./server", "threads"])
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap();
    interrupt(&mut child, || folder.path().join("load").exists());
    let code = child.wait().unwrap().code();
    let said = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert_eq!(code, Some(130), "{said}");
    assert!(
        said.contains(&format!("the trace is {}", trace())),
        "{said}"
    );
    assert!(PathBuf::from(trace()).exists());
    assert!(!left.join("start.sh").exists() && !left.join("result.json").exists());
}
