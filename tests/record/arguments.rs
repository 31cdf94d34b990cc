//! The trace contains arguments of functions, and objects are derived from them.

use crate::conforming::read;
use crate::recording::Recording;
use corehop_traces::{Arguments, EnteredCall};
use serde_json::{Value, json};
use std::process::Command;

/// Each request uses one of four tables, in an order that does not repeat soon. `visit` has its
/// table in argument 2 and walks all of it. `late` passes its argument to a callee before it is
/// used, `computed` never uses it as an address, and `pinned` always has the same one. `name` is
/// called with a string that each request creates. `use` is called with one of four objects, in
/// whose first field each request counts.
const SOURCE: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { TABLES = 4, LINES = 300, REQUESTS = 200 };
struct table { long cells[LINES * 8]; };
static struct table tables[TABLES] __attribute__((aligned(4096)));
static struct table one;
static volatile long sum;
#define ENTRY __attribute__((noinline, noclone))
ENTRY long visit(long from, struct table *table) {
    long all = from;
    for (int line = 0; line < LINES; line++) all += table->cells[line * 8];
    return all;
}
ENTRY void count(void) { sum++; }
ENTRY long late(struct table *table) { count(); return table->cells[3]; }
ENTRY long computed(struct table *table) { return (long)table / 64; }
ENTRY long pinned(struct table *table) { return table->cells[5]; }
ENTRY long name(const char *of) { return of[0] + of[3]; }
struct counted { long uses; long value; };
static struct counted all_counted[TABLES];
ENTRY long use(struct counted *of) { return of->uses + of->value; }
ENTRY char *new_name(const char *text) { return memcpy(malloc(24), text, 6); }
ENTRY void serve(int number) {
    char *names[] = {new_name("first"), new_name("other")};
    sum += name(names[0]) + name(names[1]);
    free(names[1]);
    free(names[0]);
    struct counted *counted = &all_counted[(number * 7 + number / 5) % TABLES];
    counted->uses++;
    sum += use(counted);
    struct table *table = &tables[(number * 7 + number / 5) % TABLES];
    sum += visit(number, table);
    sum += late(table) + computed(table) + pinned(&one);
}
int main(void) {
    printf("%p %zu\n", (void *)tables, sizeof *tables);
    fflush(stdout);
    for (int number = 0; number < REQUESTS; number++) serve(number);
    return 0;
}
"#;

const REQUESTS: usize = 200;

fn table_of(number: usize) -> usize {
    (number * 7 + number / 5) % 4
}

/// Returns all calls of a function.
fn calls_of(trace: &corehop_traces::Trace, symbol: &str) -> Vec<EnteredCall> {
    let functions = trace.functions().iter();
    let wanted = functions.map(|function| function.symbol == symbol);
    Arguments::of(trace, wanted.collect()).unwrap()
}

#[test]
fn arguments_by_which_memory_is_accessed_are_known_exactly() {
    let mut recording = Recording::of(SOURCE);
    let trace = recording.trace();
    assert!(trace.has_pointers());
    let told = recording.stdout();
    let (tables, size) = told.trim().split_once(' ').unwrap();
    let tables = u64::from_str_radix(&tables[2..], 16).unwrap();
    let size: u64 = size.parse().unwrap();
    let address = |number| tables + table_of(number) as u64 * size;
    for (symbol, argument) in [("visit", 1), ("late", 0)] {
        let calls = calls_of(&trace, symbol);
        assert_eq!(calls.len(), REQUESTS, "{symbol}");
        for (number, call) in calls.iter().enumerate() {
            let mut expected = [None; 6];
            expected[argument] = Some(address(number));
            assert_eq!(call.order, number as u64);
            assert_eq!(call.arguments, expected, "{symbol} {number}");
        }
    }
    let none = |call: &EnteredCall| call.arguments == [None; 6];
    assert!(calls_of(&trace, "computed").iter().all(none));
}

#[test]
fn the_functions_whose_argument_is_an_object_are_listed() {
    let mut recording = Recording::of(SOURCE);
    recording.trace();
    let path = recording.path();
    let output = Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(["candidates", "--by-argument", "--json"])
        .arg(&path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = read(&["candidates", "--by-argument"], &output.stdout);
    assert_eq!(said["requests"], REQUESTS - 1, "the last one is cut short");
    let arguments = said["arguments"].as_array().unwrap();
    let of = |symbol: &str| {
        let mut all = arguments.iter();
        all.find(|one| one["symbol"] == symbol)
            .unwrap_or_else(|| panic!("{said}"))
    };
    let changes = (1..REQUESTS - 1)
        .filter(|&n| table_of(n) != table_of(n - 1))
        .count();
    let visit = of("visit");
    assert_eq!(visit["argument"], 2);
    assert_eq!(visit["objects"], 4);
    assert_eq!(visit["calls"], REQUESTS - 1);
    assert_eq!(visit["known"], REQUESTS - 1);
    assert_eq!(visit["changes"], changes);
    assert_eq!(of("late")["argument"], 1);
    let symbols: Vec<&str> = arguments
        .iter()
        .filter_map(|one| one["symbol"].as_str())
        .collect();
    assert!(
        !symbols.contains(&"computed") && !symbols.contains(&"pinned"),
        "{symbols:?}"
    );
    assert_eq!(of("use")["objects"], 4);
    let renewed = said["renewed"].as_array().unwrap();
    let renewed: Vec<_> = renewed.iter().map(|one| &one["symbol"]).collect();
    assert_eq!(renewed, ["name"], "{said}");
    assert!(!symbols.contains(&"name"), "{symbols:?}");
    // Each return to a table after others accesses its 300 lines again, and few others.
    let mut latest = [None; 4];
    let mut returns = 0;
    for number in 0..REQUESTS - 1 {
        let before = latest[table_of(number)].replace(number);
        returns += u64::from(before.is_some_and(|before| before + 1 < number));
    }
    assert!(returns > 0);
    assert_eq!(visit["lines_again"], returns * 300);
    let returned_to = visit["lines_returned_to"].as_u64().unwrap();
    assert!(
        (returns * 300..returns * 320).contains(&returned_to),
        "{visit}"
    );
}

/// Returns a plan in which the core of `visit` depends on an argument.
fn plan_by(trace: &corehop_traces::Trace, by: &str) -> String {
    let mut functions = trace.functions().iter();
    let visit = functions.find(|function| function.symbol == "visit");
    let visit = visit.unwrap();
    let module = &trace.modules()[visit.module as usize];
    format!(
        "version = 2\nmachine = \"xeon-8480\"\ntrace = \"none\"\ncores = 2\nseed = 1\n\n\
         [[function]]\nmodule = {:?}\nbuild_id = {:?}\noffset = {}\nsymbol = \"visit\"\n\
         by = {by:?}\nmode = \"enter\"\n",
        module.path, module.build_id, visit.offset
    )
}

/// Returns the number of hops in this number of requests: a new table gets the core with the fewest
/// tables, the lowest of equals.
fn hops_of(requests: usize) -> usize {
    let mut cores = [None; 4];
    let (mut came, mut core, mut hops) = (0, 0, 0);
    for number in 0..requests {
        let home = *cores[table_of(number)].get_or_insert_with(|| {
            came += 1;
            (came - 1) % 2
        });
        hops += usize::from(home != std::mem::replace(&mut core, home));
    }
    hops
}

#[test]
fn a_plan_by_argument_hops_in_the_replay_as_the_rules_say() {
    let mut recording = Recording::of(SOURCE);
    let trace = recording.trace();
    let replayed = |by: &str| -> Value {
        let path = recording.folder().join("plan.toml");
        std::fs::write(&path, plan_by(&trace, by)).unwrap();
        let said = recording.told_by(&["replay", "--json", "--plan", "plan.toml"]);
        read(&["replay"], said)
    };
    let said = replayed("argument 2");
    assert_eq!(said["hops"], hops_of(REQUESTS));
    let one = &said["by_argument"][0];
    assert_eq!(one["symbol"], "visit");
    let counts = ["argument", "calls", "known", "objects"].map(|key| one[key].as_u64().unwrap());
    assert_eq!(counts, [2, 200, 200, 4]);
    // Argument 1 is a number, which no access reveals.
    let said = replayed("argument 1");
    assert_eq!(said["hops"], 0);
    let one = &said["by_argument"][0];
    let counts = ["calls", "known", "objects"].map(|key| one[key].as_u64().unwrap());
    assert_eq!(counts, [200, 0, 0]);
}

#[test]
fn a_plan_by_argument_is_explained_and_reported() {
    let mut recording = Recording::of(SOURCE);
    let trace = recording.trace();
    let path = recording.folder().join("plan.toml");
    std::fs::write(&path, plan_by(&trace, "argument 2")).unwrap();
    let corehop = |words: &[&str]| recording.told_by(words);
    let explain = ["explain", "--plan", "plan.toml", "--warm-up", "0"];
    let said = corehop(&[&explain[..], &["--json"]].concat());
    let said = read(&["explain"], &said);
    // The last request is incomplete and is not counted.
    assert_eq!(said["split"]["hops"], hops_of(REQUESTS - 1));
    assert_eq!(said["by_argument"][0]["symbol"], "visit");
    for core in 0..2 {
        assert_eq!(said["cores"][core]["entering"], json!(["visit"]));
    }
    let said = corehop(&explain);
    assert_eq!(said.matches("  visit by argument 2\n").count(), 2, "{said}");
    let said = corehop(&[
        "report",
        "plan.toml",
        "--json",
        "-o",
        "page.html",
        "--warm-up",
        "0",
    ]);
    let said = read(&["report"], &said);
    assert_eq!(said["split"]["hops"], hops_of(REQUESTS - 1));
    let page = std::fs::read_to_string(recording.folder().join("page.html")).unwrap();
    assert!(page.contains("visit"));
}

/// Returns the result of a search on a machine whose L2 fits two tables of 300 lines but not four.
fn searched(recording: &Recording, plan: &str, more: &[&str]) -> Value {
    let machine = recording.folder().join("tiny.toml");
    let described = "name = \"tiny\"\ncores = 4\nline_size_bytes = 64\n\
        memory_latency_cycles = 200\nhop_cost_cycles = 1000\n\
        l1i = { size_bytes = 8192, ways = 8, latency_cycles = 4 }\n\
        l1d = { size_bytes = 8192, ways = 8, latency_cycles = 4 }\n\
        l2 = { size_bytes = 65536, ways = 16, latency_cycles = 12 }\n";
    std::fs::write(&machine, described).unwrap();
    let plan = recording.folder().join(plan);
    let output = Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(["partition", "--by-argument", "--cores", "3", "--json"])
        .args(["--requests", "40", "--machine"])
        .arg(&machine)
        .args(["-o".as_ref(), plan.as_os_str()])
        .args(more)
        .arg(recording.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    read(&["partition", "--by-argument"], &output.stdout)
}

#[test]
fn the_search_finds_the_function_whose_objects_overflow_a_cache_together() {
    let mut recording = Recording::of(SOURCE);
    recording.trace();
    let search = |jobs: &str, plan: &str| searched(&recording, plan, &["--jobs", jobs]);
    let (said, again) = (search("1", "one.toml"), search("3", "three.toml"));
    assert_eq!(said, again);
    let plans = ["one.toml", "three.toml"];
    let [one, three] = plans.map(|plan| corehop_plan::read(&recording.folder().join(plan)));
    let plan = one.unwrap();
    assert_eq!(plan, three.unwrap());
    assert_eq!(plan.version, 2);
    assert_eq!(plan.functions.len(), 1);
    assert_eq!(plan.functions[0].symbol, "visit");
    assert_eq!(plan.functions[0].to.to_string(), "by argument 2");
    let expected = plan.expected.unwrap().held_out;
    let before = expected.baseline_data_misses;
    assert!(expected.split_data_misses * 4 < before, "{expected:?}");
    assert_eq!(said["objects"], 4);
}

/// Every other request uses one of the four tables; each remaining request uses a separate small
/// one.
const ONCE: &str = r#"
enum { TABLES = 4, LINES = 300, REQUESTS = 240 };
struct table { long lines, cells[LINES * 8]; };
static struct table tables[TABLES] __attribute__((aligned(4096)));
static struct small { long lines, cells[4 * 8]; } small[REQUESTS];
static volatile long sum;
#define ENTRY __attribute__((noinline, noclone))
ENTRY long visit(struct table *table) {
    long all = 0, lines = table->lines;
    for (long line = 0; line < lines; line++) all += table->cells[line * 8];
    return all;
}
ENTRY void serve(int number) {
    struct table *table = &tables[(number * 7 + number / 5) % TABLES];
    if (number % 2 == 1) table = (struct table *)&small[number];
    sum += visit(table);
}
int main(void) {
    for (int table = 0; table < TABLES; table++) tables[table].lines = LINES;
    for (int number = 0; number < REQUESTS; number++) small[number].lines = 4;
    for (int number = 0; number < REQUESTS; number++) serve(number);
    return 0;
}
"#;

#[test]
fn the_search_has_objects_wait_that_are_named_once() {
    let mut recording = Recording::of(ONCE);
    recording.trace();
    let said = searched(&recording, "plan.toml", &["--objective", "cycles"]);
    assert_eq!(said["objective"], "cycles");
    assert_eq!(said["name"], "visit");
    let after = said["after"].as_u64().unwrap();
    assert!((1..=16).contains(&after), "{said}");
    let plan = recording.folder().join("plan.toml");
    let written = corehop_plan::read(&plan).unwrap();
    assert!(
        written.functions[0]
            .to
            .to_string()
            .starts_with("by argument 1 after ")
    );
    // Half of the requests use objects without a core.
    let output = Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(["replay", "--json", "--plan"])
        .args([&plan, &recording.path()])
        .output()
        .unwrap();
    let replayed = read(&["replay"], &output.stdout);
    let one = &replayed["by_argument"][0];
    assert_eq!(
        (&one["calls"], &one["after"]),
        (&json!(240), &said["after"])
    );
    assert_eq!(one["early"], 120 + 4 * after);
}
