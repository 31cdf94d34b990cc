//! Calls of functions in other files are found, replayed, and hooked at the program's calls.

use crate::conforming::read;
use crate::going_back::{number, predicted};
use crate::recording::Recording;
use crate::redis;
use corehop_patcher::{Analysis, patch};
use corehop_plan::{Destination, Mode, Plan, PlannedFunction};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// `serve` works on its data, lets libc fill other data, opens, writes, and closes a file, and
/// continues with its own data. Each data set alone fits an L2 of 256 KiB, but both together do
/// not.
const SOURCE: &str = r#"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
static volatile char own[150 << 10];
static char others[150 << 10];
static volatile int filled;
static void work(void) {
    for (int i = 0; i < sizeof own; i += 64) own[i];
}
__attribute__((noinline, aligned(64))) void serve(void) {
    work();
    memset(others, filled, sizeof others);
    work();
    int file = open("/dev/null", O_WRONLY);
    filled += write(file, others, 1);
    close(file);
    work();
}
int main(void) {
    for (int i = 0; i < 60; i++) serve();
}
"#;

fn corehop(arguments: &[&str]) -> Value {
    let ran = Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(arguments)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    read(arguments, &ran.stdout)
}

/// Returns a plan with calls of these imported functions on core 1, and everything else on core 0.
fn plan(binary: &Path, imported: &[&str]) -> Plan {
    let analysis = Analysis::of(binary).unwrap();
    let of = |name: &&str| {
        let symbol = format!("{name}@plt");
        let mut imports = analysis.imports();
        let import = imports.find(|import| import.symbol.as_deref() == Some(&symbol));
        PlannedFunction {
            module: binary.to_str().unwrap().into(),
            build_id: analysis.build_id().unwrap().into(),
            offset: import.unwrap_or_else(|| panic!("no {symbol}")).offset,
            symbol,
            to: Destination::Core(1),
            mode: Mode::Call,
        }
    };
    Plan {
        version: corehop_plan::VERSION,
        machine: "any".into(),
        trace: "trace".into(),
        cores: 2,
        seed: 1,
        carriers_refuse: None,
        request: None,
        expected: None,
        functions: imported.iter().map(of).collect(),
    }
}

/// Returns the hops of the patched program from start to end.
fn counted(folder: &Path, plan: &Plan) -> u64 {
    let path = |name: &str| folder.join(name);
    patch(&path("server"), plan, &path("server.hop"), true).unwrap();
    let ran = Command::new(path("server.hop"))
        .env("COREHOP_BACKEND", "count")
        .env("COREHOP_STATS", path("statistics"))
        .status();
    assert!(ran.unwrap().success());
    number(&std::fs::read(path("statistics")).unwrap(), "hops")
}

#[test]
fn a_program_s_calls_of_libc_are_found_and_hop_as_often_as_the_replay_says() {
    let mut recording = Recording::of(SOURCE);
    recording.trace();
    let (trace, folder) = (recording.path(), recording.folder().to_owned());
    let trace = trace.to_str().unwrap();
    let listed = corehop(&["candidates", "--delegate", "--json", trace]);
    let listed = listed["candidates"].as_array().unwrap();
    let symbols = listed.iter().filter(|of| of["unpatchable"].is_null());
    let symbols: Vec<&str> = symbols.map(|of| of["symbol"].as_str().unwrap()).collect();
    for imported in ["memset@plt", "open@plt", "write@plt", "close@plt"] {
        assert!(symbols.contains(&imported), "{imported}: {symbols:?}");
    }
    // A split has no imports: the function after a stub does not begin there.
    let split = corehop(&["candidates", "--json", trace]);
    let of_split = split["candidates"].as_array().unwrap().iter();
    let is_import = |of: &Value| of["symbol"].as_str().unwrap().ends_with("@plt");
    assert_eq!(of_split.filter(|of| is_import(of)).count(), 0);

    let toml = folder.join("delegated.toml");
    let found = corehop(&[
        "partition",
        "--delegate",
        "1",
        "--json",
        "-o",
        toml.to_str().unwrap(),
        trace,
    ]);
    assert_eq!(found["delegated"]["functions"][0], "memset@plt");
    assert_eq!(found["hops_per_request"], 2.0);
    let found = corehop_plan::read(&toml).unwrap();
    assert_eq!(predicted(&recording, &found), 60 * 2);
    assert_eq!(counted(&folder, &found), 60 * 2);

    let files = plan(&folder.join("server"), &["open", "write", "close"]);
    assert_eq!(predicted(&recording, &files), 60 * 6);
    assert_eq!(counted(&folder, &files), 60 * 6);
}

/// Commands on missing keys, so that each round does the same.
const COMMANDS: [(&str, &str); 4] = [
    ("EXISTS nothing", ":0"),
    ("TYPE nothing", "+none"),
    ("LLEN nothing", ":0"),
    ("DEL nothing", ":0"),
];
const REQUESTS: usize = 80;

fn commands(count: usize) -> impl Iterator<Item = (String, String)> {
    let all = COMMANDS.iter().cycle().take(count);
    all.map(|(command, answer)| ((*command).into(), (*answer).into()))
}

/// A patched redis in a folder, ended on drop.
struct Redis(std::process::Child);

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the hops of redis from its start until it has answered this number of commands and ends.
fn counted_of_redis(folder: &Path, program: &Path, count: usize) -> u64 {
    let (socket, statistics) = (folder.join("socket"), folder.join("statistics"));
    let _ = std::fs::remove_file(&socket);
    let redis = Command::new(program)
        // Its timer ticks rarely, because slow runs count more ticks.
        .args(["--port", "0", "--save", "", "--hz", "1", "--unixsocket"])
        .arg(&socket)
        .current_dir(folder)
        .env("COREHOP_BACKEND", "count")
        .env("COREHOP_STATS", &statistics)
        .stdout(Stdio::null())
        .spawn();
    let mut redis = Redis(redis.unwrap());
    let mut connected = UnixStream::connect(&socket);
    while connected.is_err() {
        assert_eq!(redis.0.try_wait().unwrap(), None);
        std::thread::sleep(Duration::from_millis(5)); // waits: between looks
        connected = UnixStream::connect(&socket);
    }
    let mut connection = BufReader::new(connected.unwrap());
    for (command, expected) in commands(count) {
        write!(connection.get_mut(), "{command}\r\n").unwrap();
        let mut answer = String::new();
        connection.read_line(&mut answer).unwrap();
        assert_eq!(answer.trim_end(), expected);
    }
    let id = redis.0.id().to_string();
    let told = Command::new("kill").args(["-TERM", &id]).status();
    assert!(told.unwrap().success() && redis.0.wait().unwrap().success());
    number(&std::fs::read(statistics).unwrap(), "hops")
}

#[test]
fn a_patched_redis_hops_for_delegated_calls_as_often_as_the_replay_says() {
    let (mut recording, stream) = redis::serving(&["--requests", "80"]);
    redis::ask(&stream, commands(REQUESTS));
    redis::ask_the_last(&stream, "EXISTS nothing", ":0");
    // Between requests, redis's timer may tick, more often on a slow machine.
    let ticks = redis::entries(&recording.trace(), "serverCron");
    let trace = recording.path();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { folder.path().join(name) };
    let toml = path("delegated.toml");
    let found = corehop(&[
        "partition",
        "--delegate",
        "2",
        "--json",
        "--ignore-verdict",
        "-o",
        toml.to_str().unwrap(),
        trace.to_str().unwrap(),
    ]);
    let found_calls = found["delegated"]["functions"].as_array().unwrap().len();
    assert!((1..=2).contains(&found_calls), "{found}");
    let server = std::fs::canonicalize("/usr/bin/redis-server").unwrap();
    // No tick writes an answer. A tick may call some functions of the found plan, at most ten
    // times.
    let slack = 2 * 10 * (ticks + 1);
    let found = corehop_plan::read(&toml).unwrap();
    for (plan, slack) in [(plan(&server, &["write"]), 0), (found, slack)] {
        let symbols: Vec<&str> = plan.functions.iter().map(|of| &*of.symbol).collect();
        patch(&server, &plan, &path("redis.hop"), true).unwrap();
        // Both runs include the work before the first command and after the last answer.
        let few = counted_of_redis(folder.path(), &path("redis.hop"), 4);
        let many = counted_of_redis(folder.path(), &path("redis.hop"), 4 + REQUESTS);
        let (counted, predicted) = (many - few, predicted(&recording, &plan));
        let said = format!("{symbols:?}: {counted} hops counted, {predicted} predicted");
        assert!(counted.abs_diff(predicted) <= slack, "{said}");
    }
}
