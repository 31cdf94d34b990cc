//! `corehop profile` of a recorded program with known accesses, line by line.

use crate::conforming;
use crate::plugin::build_plugins;
use crate::recording::{Recording, compile, program};
use corehop_traces::Trace;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const ROUNDS: u64 = 20;
const ROWS: u64 = 96;

/// Each request stores to 96 lines of one table, loads 96 words of one line of another table in an
/// inlined function, and loads a word of each of 96 lines on the heap.
const SOURCE: &str = r#"
#include <stdlib.h>
#include <unistd.h>
enum { ROUNDS = 20, ROWS = 96, PRICES = 8 };
struct row { volatile long count; char rest[56]; };
struct row stock[ROWS] __attribute__((aligned(64)));
volatile long prices[PRICES] __attribute__((aligned(64)));
static volatile long *orders;
static inline __attribute__((always_inline)) long price_of(int row) {
    return prices[row % PRICES]; // looks up
}
long serve(long round) {
    long sum = 0;
    for (int row = 0; row < ROWS; row++)
        stock[row].count = round; // counts
    for (int row = 0; row < ROWS; row++)
        sum += price_of(row); // adds up
    volatile long *order = orders;
    for (int row = 0; row < ROWS; row++)
        sum += order[row * 8]; // orders
    return sum;
}
int main(void) {
    long sum = 0;
    if (write(1, "its own\n", 8) != 8) return 2;
    orders = calloc(ROWS * 8, sizeof *orders);
    for (long round = 0; round < ROUNDS; round++) sum += serve(round);
    return sum == 1;
}
"#;

/// A fully associative L1D of sixteen lines.
const MACHINE: &str = "\
name = \"narrow\"
cores = 2
line_size_bytes = 64
memory_latency_cycles = 200
hop_cost_cycles = 10
l1i = { size_bytes = 1024, ways = 2, latency_cycles = 4 }
l1d = { size_bytes = 1024, ways = 16, latency_cycles = 4 }
l2 = { size_bytes = 16384, ways = 4, latency_cycles = 12 }
l3 = { size_bytes = 65536, ways = 4, latency_cycles = 40 }
";

fn line_of(comment: &str) -> u64 {
    let mut lines = (1..).zip(SOURCE.lines());
    lines.find(|(_, line)| line.contains(comment)).unwrap().0
}

/// Records the program with DWARF.
fn recorded() -> (Recording, Trace) {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "server", SOURCE, &["-g"]);
    std::fs::write(folder.path().join("narrow.toml"), MACHINE).unwrap();
    let marked = ["--request-at", "serve", "--", "./server"];
    let mut recording = Recording::start_in(folder, marked);
    let trace = recording.trace();
    (recording, trace)
}

fn profiled(recording: &Recording, by: &str) -> Value {
    let machine = recording.folder().join("narrow.toml");
    let machine = machine.to_str().unwrap();
    let words = [
        "profile",
        "--json",
        "--limit",
        "1000",
        "--machine",
        machine,
        "--by",
        by,
    ];
    let told = recording.told_by(&words);
    let mut told = conforming::read(&["profile"], &told);
    told["views"][0]["rows"].take()
}

fn row(rows: &Value, is_it: impl Fn(&Value) -> bool) -> &Value {
    let mut rows = rows.as_array().unwrap().iter();
    rows.find(|row| is_it(row)).expect("a row")
}

#[test]
fn a_recorded_programs_lines_and_variables_have_their_accesses() {
    let (recording, trace) = recorded();
    assert_eq!(trace.requests().len() as u64, ROUNDS);
    let count = |row: &Value, key: &str| row["cost"][key].as_u64().unwrap();

    let lines = profiled(&recording, "line");
    let at = |line: u64| {
        let end = format!("<stdin>:{line}");
        move |row: &Value| row["name"].as_str().unwrap().ends_with(&end)
    };
    let stores = row(&lines, at(line_of("// counts")));
    assert_eq!(count(stores, "stores"), ROUNDS * ROWS);
    assert_eq!(count(stores, "loads"), 0);
    let loads = row(&lines, at(line_of("// looks up")));
    assert_eq!(count(loads, "loads"), ROUNDS * ROWS);
    let functions = loads["frames"].as_array().unwrap().iter();
    let functions: Vec<_> = functions.map(|frame| frame["function"].as_str()).collect();
    assert_eq!(functions, [Some("price_of"), Some("serve")]);
    assert_eq!(loads["frames"][1]["line"], line_of("// adds up"));

    let objects = profiled(&recording, "object");
    let named = |name: &'static str| move |row: &Value| row["name"] == name;
    let stock = row(&objects, named("stock"));
    assert_eq!(stock["kind"], "global");
    assert_eq!(count(stock, "stores"), ROUNDS * ROWS);
    // The first request accesses each line for the first time. Then 16 lines are too few for a
    // cycle of 96.
    let l1d = &stock["cost"]["l1d"];
    let causes = ["cold", "capacity", "conflict"].map(|cause| l1d[cause].as_u64().unwrap());
    assert_eq!(causes, [ROWS, (ROUNDS - 1) * ROWS, 0]);
    let prices = row(&objects, named("prices"));
    assert_eq!(count(prices, "loads"), ROUNDS * ROWS);
    assert_eq!(prices["cost"]["l1d"]["cold"], 1);
    let called = format!("calloc by main <stdin>:{}", line_of("calloc("));
    let orders = row(&objects, |row| {
        let name = row["name"].as_str().unwrap();
        name.starts_with("calloc by main ") && name.ends_with(&called[15..])
    });
    assert_eq!(orders["kind"], "allocated");
    assert_eq!(orders["made"]["objects"], 1);
    assert_eq!(orders["made"]["bytes"], ROWS * 64);
    assert_eq!(count(orders, "loads"), ROUNDS * ROWS);
    // At least the return address of each request.
    let stack = row(&objects, |row| row["kind"] == "stack");
    assert!(count(stack, "loads") >= ROUNDS, "{stack}");

    let functions = profiled(&recording, "function");
    let serve = row(&functions, named("serve"));
    assert_eq!(serve["cost"]["stores"].as_u64(), Some(ROUNDS * ROWS));
}

/// Returns a table, which ends with the sentence about unnamed accesses.
fn table(recording: &Recording, by: &str) -> String {
    recording.told_by(&["profile", "--by", by, "--limit", "3"])
}

#[test]
fn without_dwarf_or_symbols_it_says_so_and_names_instructions_and_sections() {
    let (recording, _) = recorded();
    let program = recording.folder().join("server");
    assert!(table(&recording, "line").contains("<stdin>:"));
    strip(&program, "--strip-debug");
    let told = table(&recording, "line");
    assert!(told.contains("  serve+0x"), "{told}");
    // The libraries may have debug files.
    assert!(told.contains(" are in code without line numbers"), "{told}");
    assert!(!told.contains("<stdin>"), "{told}");
    assert!(table(&recording, "object").contains("  stock of server\n"));
    strip(&program, "--strip-all");
    let told = table(&recording, "object");
    assert!(
        told.contains("  .bss of server without a symbol\n"),
        "{told}"
    );
}

#[test]
fn a_server_is_recorded_and_profiled_by_one_command() {
    build_plugins();
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "server", SOURCE, &["-g"]);
    let told = |words: &[&str]| {
        let mut command = Command::new(program());
        let command = command.arg("profile").args(words);
        let command = command.current_dir(folder.path());
        command.env("COREHOP_PROGRESS", "never").output().unwrap()
    };
    let recording = ["--request-at", "serve", "--record", "5"];
    let first = told(
        &[
            &["new.trace", "--json"],
            &recording[..],
            &["--", "./server"],
        ]
        .concat(),
    );
    assert!(first.status.success(), "{first:?}");
    let again = told(&["new.trace", "--json"]);
    let texts = [&first, &again].map(|told| String::from_utf8_lossy(&told.stdout));
    assert_eq!(texts[0], texts[1]);
    let read: Value = serde_json::from_str(&texts[0]).unwrap();
    assert_eq!(read["requests"], 5);
    // The trace is never replaced, and nothing is recorded without a place for it.
    let there = told(&[&["new.trace"], &recording[..], &["--", "./server"]].concat());
    assert_eq!(there.status.code(), Some(4), "{there:?}");
    for words in [
        &["--request-at", "serve", "--", "./server"][..],
        &["other.trace", "--", "./server"],
        &["new.trace", "--record", "5"],
    ] {
        assert_eq!(told(words).status.code(), Some(2), "{words:?}");
    }
    assert!(!folder.path().join("other.trace").exists());
}

fn strip(program: &Path, option: &str) {
    let status = Command::new("strip").arg(option).arg(program).status();
    assert!(status.unwrap().success());
}

#[test]
fn a_symbolizer_that_does_not_work_is_named() {
    let (recording, _) = recorded();
    let mut command = Command::new(program());
    command.env("COREHOP_SYMBOLIZER", "/none/corehop-symbolizer");
    command
        .args(["profile", "--by", "line"])
        .arg(recording.path());
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let warning = "corehop: warning: cannot run the symbolizer /none/corehop-symbolizer: ";
    assert!(said.starts_with(warning), "{said}");
}
