//! `corehop optimize` on a real redis-server, from the recording to the verdict.
//!
//! No verdict here depends on the speed of this machine: if plans are measured, the load prints
//! prepared numbers, which determine whether a plan gains. These tests need `qemu-x86_64`,
//! `redis-server`, and the symbolizer, as those of `corehop record` do.

use crate::conforming;
use crate::figures;
use crate::interrupting::interrupt;
use crate::made_once::made_once;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const SERVER: &str = "/usr/bin/redis-server";
const LOAD: &str = "redis-cli -s socket -r 40 get key > /dev/null";

/// Returns `corehop optimize` in `folder`, for a server on a socket there. The latencies of this
/// machine are assumed, so that predictions are the same everywhere.
fn optimize(folder: &Path, arguments: &[&str]) -> Command {
    of(folder, arguments, SERVER)
}

fn of(folder: &Path, arguments: &[&str], server: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    let server = [server, "--port", "0", "--unixsocket", "socket", "--save"];
    command
        .current_dir(folder)
        .env("COREHOP_HOST", "")
        .arg("optimize")
        .args(arguments)
        .arg("--")
        .args(server)
        .arg("");
    command
}

pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns whether no server listens at the socket in `folder`.
fn is_alone(folder: &Path) -> bool {
    std::os::unix::net::UnixStream::connect(folder.join("socket")).is_err()
}

/// Returns a recording of the server under `LOAD`, made once.
fn trace() -> PathBuf {
    let folder = made_once("optimize", |folder| {
        let arguments = ["--load", LOAD, "--requests", "12", "--json"];
        let output = optimize(folder, &arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        let figures = figures::of("optimize", &output);
        assert_eq!(figures["gain"], false);
        for key in ["plan", "report", "command", "ratio", "interval"] {
            assert_eq!(figures[key], Value::Null, "{key}");
        }
        assert_eq!(figures["carriers"], serde_json::json!([]));
        let causes = &figures["causes"];
        assert_eq!(causes["requests"], 6, "the first half warms up");
        let reasons = causes["causes"].as_array().unwrap().iter();
        let misses: Vec<_> = reasons
            .map(|of| of["l2_misses"].as_u64().unwrap())
            .collect();
        assert!(misses.is_sorted_by(|one, next| one >= next), "{causes}");
        assert!(misses.iter().sum::<u64>() <= causes["l2_misses"].as_u64().unwrap());
        let tried = figures["tried"].as_array().unwrap();
        assert!(!tried.is_empty() && tried[0]["raced"].is_null());
        assert!(
            said(&output).contains("no speedup found: the best of "),
            "{}",
            said(&output)
        );
        assert!(is_alone(folder));
        let left = folder.join("corehop-optimize");
        for name in ["server.trace", "server.log", "report.html", "tried-1.toml"] {
            assert!(left.join(name).exists(), "{name}");
        }
        assert!(!left.join("plan.toml").exists());
        let kept: Value =
            serde_json::from_slice(&std::fs::read(left.join("result.json")).unwrap()).unwrap();
        assert_eq!(kept, figures);
    });
    folder.join("corehop-optimize/server.trace")
}

mod needs_two_cpus {
    use super::{folder, said};
    use std::process::Command;

    #[test]
    fn a_static_program_is_refused_before_it_is_recorded() {
        let folder = folder();
        std::fs::write(
            folder.path().join("still.c"),
            "int main(void) { return 0; }",
        )
        .unwrap();
        for flag in ["-static", "-static-pie"] {
            let mut compiler = Command::new("cc");
            compiler.args([flag, "still.c", "-o", "still"]);
            let built = compiler.current_dir(folder.path()).status().unwrap();
            assert!(built.success(), "{flag}");
            let output = Command::new(env!("CARGO_BIN_EXE_corehop"))
                .args(["optimize", "--load", "true", "--", "./still"])
                .current_dir(folder.path())
                .output()
                .unwrap();
            let said = said(&output);
            // On one CPU, the lack of cores is reported first (exit code 6).
            assert_eq!(output.status.code(), Some(5), "{said}");
            let remedy = "link it dynamically, to glibc (without -static and -static-pie)\n";
            assert!(said.ends_with(remedy), "{said}");
            assert!(!folder.path().join("corehop-optimize").exists());
        }
    }
}

/// Returns a load that reaches the server and prints the next of these numbers at each run.
fn recorded(folder: &Path, numbers: &str) -> String {
    std::fs::write(folder.join("numbers"), numbers.replace(' ', "\n")).unwrap();
    format!("{LOAD}; echo >> calls; echo \"rate $(sed -n \"$(wc -l < calls)p\" numbers)\"")
}

/// Measures plans with these numbers.
pub fn measure(folder: &Path, numbers: &str, more: &[&str]) -> Output {
    let load = recorded(folder, numbers);
    let trace = trace();
    let trace = trace.to_str().unwrap();
    let mut arguments = vec!["--load", &load, "--trace", trace, "--ignore-verdict"];
    arguments.extend(["--throughput", "rate ([0-9]+)", "--warm-up", "0"]);
    arguments.extend(more);
    optimize(folder, &arguments).output().unwrap()
}

#[test]
fn latencies_are_measured_unless_the_machine_is_calibrated() {
    let folder = folder();
    let trace = trace();
    let calibrated = folder.path().join("host.toml");
    let run = |more: &[&str]| {
        let arguments = ["--load", LOAD, "--trace", trace.to_str().unwrap()];
        let mut command = optimize(folder.path(), &[&arguments, more].concat());
        let output = command.env("COREHOP_HOST", &calibrated).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        said(&output)
    };
    let left = folder.path().join("corehop-optimize/machine.toml");
    let measured = "corehop: machine host: latencies measured: L2 ";
    let told = run(&[]);
    assert!(told.contains(measured), "{told}");
    assert!(
        told.contains(" cycles, corehop-optimize/machine.toml\n"),
        "{told}"
    );
    let text = std::fs::read_to_string(&left).unwrap();
    assert!(
        text.starts_with("# This machine, measured by `corehop optimize`"),
        "{text}"
    );
    let assumed = text
        .lines()
        .filter(|line| line.ends_with("# assumed: it was not measured"));
    assert!(assumed.count() >= 3, "{text}");
    std::fs::copy(&left, &calibrated).unwrap();
    let told = run(&["--force"]);
    assert!(
        told.contains("corehop: machine host: as measured, "),
        "{told}"
    );
    assert!(!told.contains(measured), "{told}");
    assert!(!left.exists());
    // Without a folder for a calibration there is none.
    let trace = trace.to_str().unwrap();
    let mut command = optimize(
        folder.path(),
        &["--load", LOAD, "--trace", trace, "--force"],
    );
    for variable in ["COREHOP_HOST", "XDG_CONFIG_HOME", "HOME"] {
        command.env_remove(variable);
    }
    let told = said(&command.output().unwrap());
    assert!(told.contains(measured), "{told}");
}

#[test]
fn a_load_that_fits_every_cache_is_said_not_to_pay_before_anything_is_measured() {
    assert!(trace().exists());
}

#[test]
fn a_plan_that_pays_is_kept_with_its_report_and_the_command_that_uses_it() {
    let folder = folder();
    // Original and patched, then patched and original.
    let numbers = "100 150 151 100 101 150 150 100 100 152 151 101";
    let output = measure(folder.path(), numbers, &["--plans", "1", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let figures = figures::of("optimize", &output);
    assert_eq!(figures["gain"], true);
    let ratio = figures["ratio"].as_f64().unwrap();
    assert!((1.49..1.52).contains(&ratio), "{figures}");
    let [low, high] = [0, 1].map(|end| figures["interval"][end].as_f64().unwrap());
    assert!(1.0 < low && low < ratio && ratio < high);
    // The first check is enough for one plan.
    assert_eq!(figures["original"].as_array().unwrap().len(), 6);
    assert_eq!(figures["answer"], "gain");
    assert_eq!(figures["smallest_gain_percent"], 5.0);
    let told = said(&output);
    for line in [
        "round 5 of at most 20: split of ",
        "rounds differ by ",
        ": to prove a gain of 1.05 takes about 6 rounds, ",
    ] {
        assert!(told.contains(line), "{told}");
    }
    let last = told.lines().find(|line| line.starts_with("round 6 of"));
    assert!(last.unwrap().ends_with(", settled"), "{told}");
    assert!(figures["hops"]["hops"].as_u64().unwrap() > 0);
    assert_eq!(figures["plan"], "corehop-optimize/plan.toml");
    assert_eq!(figures["report"], "corehop-optimize/report.html");
    let command = figures["command"].as_str().unwrap();
    let expected = "corehop run --plan corehop-optimize/plan.toml -- /usr/bin/redis-server \
                    --port 0 --unixsocket socket --save ''";
    assert!(command.ends_with(expected), "{command}");
    let left = folder.path().join("corehop-optimize");
    let plan = std::fs::read(left.join("plan.toml")).unwrap();
    assert_eq!(plan, std::fs::read(left.join("tried-1.toml")).unwrap());
    assert!(left.join("report.html").exists());
    assert!(is_alone(folder.path()));
    assert!(!left.join("server.trace").exists(), "nothing was recorded");

    let again = measure(folder.path(), numbers, &["--plans", "1"]);
    assert_eq!(again.status.code(), Some(4), "{}", said(&again));
    assert!(said(&again).contains("plan.toml exists already"));
    assert_eq!(std::fs::read(left.join("plan.toml")).unwrap(), plan);

    // A run without a gain removes the plan of the earlier run.
    std::fs::remove_file(folder.path().join("calls")).unwrap();
    let slower = measure(
        folder.path(),
        "100 50 52 100",
        &["--plans", "1", "--force", "--max-rounds", "2"],
    );
    assert_eq!(slower.status.code(), Some(1), "{}", said(&slower));
    let expected = "no speedup found: the best of 1 plan measured 0.510 (";
    assert!(said(&slower).contains(expected), "{}", said(&slower));
    assert!(!left.join("plan.toml").exists());
    are_profiled(&String::from_utf8(slower.stdout).unwrap(), folder.path());
}

/// Checks that these causes of misses are those that `corehop profile` counts.
fn are_profiled(causes: &str, folder: &Path) {
    // A second thread of the server can start late enough to be recorded, too.
    let threads = corehop_traces::Trace::open(&trace())
        .unwrap()
        .threads()
        .len();
    let host = corehop_simulator::Machine::named_or_path("host").unwrap();
    let cores = match threads.min(host.cores as usize) {
        1 => String::from("1 core"),
        more => format!("{more} cores"),
    };
    let expected = format!("L2 misses on {cores} of host: ");
    assert!(causes.starts_with(&expected), "{causes}");
    let mut all = causes
        .lines()
        .filter_map(|line| line.strip_prefix("To see all: corehop "));
    let all = all.next().unwrap();
    let profiled = Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(all.split(' '))
        .args(["--warm-up", "6", "--json"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert_eq!(profiled.status.code(), Some(0), "{}", said(&profiled));
    let profile = figures::of("profile", &profiled);
    let misses = profile["total"]["l2"]["misses"].as_f64().unwrap();
    let requests = profile["requests"].as_f64().unwrap();
    let per_request = format!("host: {:.1} a request", misses / requests);
    assert!(causes.contains(&per_request), "{causes}");
}

#[test]
fn a_plan_that_gains_nothing_ends_at_the_first_look_that_shows_it() {
    let folder = folder();
    // After the first check, a gain of 3 % is possible; after the second it is not.
    let numbers = "100 100 104 100 100 98 103 100 100 99 102 100 100 98 100 100";
    let more = ["--plans", "1", "--json", "--smallest-gain", "3.5"];
    let output = measure(folder.path(), numbers, &more);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let figures = figures::of("optimize", &output);
    assert_eq!(figures["answer"], "no-gain", "{figures}");
    assert_eq!(figures["original"].as_array().unwrap().len(), 8);
    assert!(
        figures["interval"][1].as_f64().unwrap() < 1.035,
        "{figures}"
    );
    assert!(figures["measuring_seconds"].as_f64().unwrap() > 0.0);
    assert!(
        said(&output).contains("keep the original server"),
        "{}",
        said(&output)
    );
}

#[test]
fn rounds_that_differ_too_much_leave_the_question_open() {
    let folder = folder();
    let numbers = "100 130 100 120 100 140 150 100 100 80 170 100";
    let more = ["--plans", "1", "--json", "--max-rounds", "6"];
    let output = measure(folder.path(), numbers, &more);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let figures = figures::of("optimize", &output);
    assert_eq!(figures["answer"], "open", "{figures}");
    assert!(said(&output).contains("or raise --max-rounds"));
}

/// A server that ends on its own: its requests walk one of four tables each. Two tables fit an L2.
const TABLES: &str = r#"
#include <stdio.h>
enum { TABLES = 4, LINES = 300 };
static struct table { long cells[LINES * 8]; } tables[TABLES];
static volatile long sum;
__attribute__((noinline, noclone)) long visit(struct table *table) {
    long all = 0;
    for (int line = 0; line < LINES; line++) all += table->cells[line * 8];
    return all;
}
__attribute__((noinline, noclone)) void serve(int number) {
    sum += visit(&tables[(number * 7 + number / 5) % TABLES]);
}
int main(void) {
    for (int number = 0; number < 200; number++) serve(number);
    puts("done");
    return 0;
}
"#;

const SMALL: &str = "\
name = \"small\"
cores = 2
line_size_bytes = 64
memory_latency_cycles = 200
hop_cost_cycles = 1000
l1i = { size_bytes = 8192, ways = 8, latency_cycles = 4 }
l1d = { size_bytes = 8192, ways = 8, latency_cycles = 4 }
l2 = { size_bytes = 65536, ways = 16, latency_cycles = 12 }
";

#[test]
fn functions_that_go_by_an_argument_are_tried_too() {
    let folder = folder();
    std::fs::write(folder.path().join("tables.c"), TABLES).unwrap();
    std::fs::write(folder.path().join("small.toml"), SMALL).unwrap();
    let compiled = Command::new("cc")
        .args(["-O1", "-Wl,--build-id", "tables.c", "-o", "tables"])
        .current_dir(folder.path())
        .status();
    assert!(compiled.unwrap().success());
    let output = Command::new(env!("CARGO_BIN_EXE_corehop"))
        .current_dir(folder.path())
        .args(["optimize", "--request-at", "serve", "--requests", "60"])
        .args(["--machine", "small.toml", "--plans", "1", "--max-rounds"])
        .args(["2", "--json", "--", "./tables"])
        .output()
        .unwrap();
    // Whether it gains depends on this machine.
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1)), "{}", said(&output));
    let figures = figures::of("optimize", &output);
    let [tried] = &figures["tried"].as_array().unwrap()[..] else {
        panic!("{figures}");
    };
    assert_eq!(tried["functions"][0]["symbol"], "visit", "{figures}");
    assert_eq!(tried["functions"][0]["by"], "argument 1", "{figures}");
    let ratio = tried["predicted"]["l2_misses_ratio"].as_f64().unwrap();
    assert!(ratio < 0.5, "{figures}");
    assert_eq!(figures["original"].as_array().unwrap().len(), 2);
    assert!(figures["hops"]["hops"].as_u64().unwrap() > 0, "{figures}");
}

#[test]
fn what_fills_the_server_is_neither_recorded_nor_measured() {
    let folder = folder();
    // Only a server with loaded data returns the value that the load expects.
    let load = "test \"$(redis-cli -s socket get key)\" = value";
    let mut arguments = vec!["--load", load, "--requests", "2", "--record-within", "60"];
    arguments.extend(["--prepare", "redis-cli -s socket set key value > /dev/null"]);
    let output = optimize(folder.path(), &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let trace = folder.path().join("corehop-optimize/server.trace");
    let info = Command::new(env!("CARGO_BIN_EXE_corehop"))
        .arg("info")
        .arg("--json")
        .arg(trace)
        .output()
        .unwrap();
    let info = conforming::read(&["info"], &info.stdout);
    assert_eq!(info["complete_requests"], 2, "{info}");
    let first = info["request_numbers"][0].as_u64().unwrap();
    assert!(first > 1, "requests before it were seen and not recorded");
}

#[test]
fn every_way_not_to_begin_or_to_go_on_has_its_exit_code_and_remedy() {
    let folder = folder();
    let failed = |arguments: &[&str], code: i32, word: &str| {
        let mut all = vec!["--force", "--requests", "2"];
        all.extend(arguments);
        let output = optimize(folder.path(), &all).output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(word) && said.contains("remedy: "), "{said}");
        assert!(is_alone(folder.path()));
    };
    failed(&["--load", "echo no >&2; exit 9"], 7, "    no\n");
    failed(
        &["--load", LOAD, "--prepare", "echo bad; exit 3"],
        7,
        "the preparation failed, exit status: 3:\n    bad\n",
    );
    failed(&["--load", "true"], 7, "the server began no request");
    failed(
        &["--load", "sleep 100", "--record-within", "1"],
        7,
        "within 1 s",
    );
    failed(&["--load", LOAD, "--trace", "nowhere"], 3, "nowhere");
    failed(&["--load", LOAD, "--request-at", "nowhere"], 3, "nowhere");
    std::fs::write(folder.path().join("file"), "").unwrap();
    failed(&["--load", LOAD, "--output", "file"], 4, "--output");
    std::fs::create_dir_all(folder.path().join("taken/server.trace")).unwrap();
    failed(&["--load", LOAD, "--output", "taken"], 4, "--output");
    let mut missing = of(
        folder.path(),
        &["--load", LOAD, "-o", "m"],
        "no-such-server",
    );
    assert_eq!(missing.output().unwrap().status.code(), Some(3));
    let ends = ["--load", LOAD, "--force", "--ready", "false"];
    let mut ends = of(folder.path(), &ends, "/bin/true");
    assert_eq!(ends.output().unwrap().status.code(), Some(7));
    let code = |arguments: &[&str]| {
        let output = optimize(folder.path(), arguments).output().unwrap();
        output.status.code()
    };
    assert_eq!(code(&["--machine", "nowhere"]), Some(3));
    assert_eq!(code(&["--prepare", "true"]), Some(2), "no load");
    assert_eq!(code(&["--within", "0"]), Some(2));
    assert_eq!(code(&["--smallest-gain", "0"]), Some(2));
    assert_eq!(code(&["--cores", "1"]), Some(2));
}

#[test]
fn after_an_interrupt_neither_server_nor_load_is_left_and_the_recording_is() {
    let load = "redis-cli -s socket -r 3 get key > /dev/null; echo $$ > load; exec sleep 1000";
    let trace = trace();
    let trace = trace.to_str().unwrap();
    let recording = ["--load", load];
    let measuring = ["--load", load, "--trace", trace, "--ignore-verdict"];
    for arguments in [&recording[..], &measuring[..]] {
        let folder = folder();
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let mut command = optimize(folder.path(), arguments);
        let mut child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let number = || std::fs::read_to_string(folder.path().join("load")).unwrap_or_default();
        interrupt(&mut child, || number().ends_with('\n'));
        let code = child.wait().unwrap().code();
        let said = std::fs::read_to_string(folder.path().join("log")).unwrap();
        assert_eq!(code, Some(130), "{said}");
        let load = Path::new("/proc").join(number().trim());
        assert!(!load.exists(), "{said}");
        assert!(is_alone(folder.path()));
        let recorded = folder.path().join("corehop-optimize/server.trace");
        let (left, kept) = match arguments.len() {
            2 => (recorded.clone(), "what was recorded is in "),
            _ => (PathBuf::from(trace), "the trace is "),
        };
        assert!(left.exists() && said.contains(kept), "{said}");
        assert_eq!(recorded.exists(), arguments.len() == 2);
    }
}
