//! `corehop profile --by member` of recorded programs whose accesses are known, member by member.

use crate::conforming;
use crate::recording::{Recording, compile};
use corehop_traces::{Kind, Trace};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

const ROUNDS: u64 = 20;
const SLOTS: u64 = 64;

/// Both programs print each member's name, address, and size.
const HEAD: &str = r#"
#include <stdio.h>
enum { ROUNDS = 20, SLOTS = 64 };
#define SHOW(member, name) printf("%s %p %zu\n", name, (void *)&(member), sizeof(member))
"#;

const TAIL: &str = r#"
int main(void) {
    long sum = 0;
    show();
    fflush(stdout);
    for (long round = 0; round < ROUNDS; round++) sum += serve(round);
    return sum == 1;
}
"#;

const C: &str = r#"
struct slot { volatile long key; volatile int state; volatile int lock; };
struct server {
    volatile long clock;
    struct { volatile long numcommands; volatile long hits; } stat;
    struct slot slots[SLOTS];
    union { volatile long whole; volatile char first; };
} server;
struct slot spare[4];
volatile long prices[8];
__attribute__((noinline)) long serve(long round) {
    long sum = 0;
    server.clock = round;
    server.stat.numcommands += 1;
    for (int slot = 0; slot < SLOTS; slot++) server.slots[slot].key = round;
    for (int slot = 0; slot < SLOTS; slot += 2) sum += server.slots[slot].state;
    spare[round % 4].lock = 1;
    server.whole = sum;
    sum += server.first;
    return sum + prices[round % 8];
}
static void show(void) {
    SHOW(server.clock, "server.clock");
    SHOW(server.stat.numcommands, "server.stat.numcommands");
    SHOW(server.stat.hits, "server.stat.hits");
    for (int slot = 0; slot < SLOTS; slot++) {
        SHOW(server.slots[slot].key, "server.slots[].key");
        SHOW(server.slots[slot].state, "server.slots[].state");
    }
    for (int slot = 0; slot < 4; slot++) SHOW(spare[slot].lock, "spare[].lock");
    SHOW(server.whole, "server.whole|first");
    SHOW(prices, "prices");
}
"#;

const CPLUSPLUS: &str = r#"
namespace shop {
struct counted { volatile long uses; };
template <typename T> struct box : counted { T value; };
class stock : public counted {
public:
    box<volatile int> boxes[SLOTS];
    static volatile long made;
};
volatile long stock::made;
stock all;
}
extern "C" __attribute__((noinline)) long serve(long round) {
    long sum = 0;
    shop::all.uses = round;
    for (int box = 0; box < SLOTS; box++) shop::all.boxes[box].value = (int)round;
    for (int box = 0; box < SLOTS; box++) sum += shop::all.boxes[box].uses;
    shop::stock::made = sum;
    return sum;
}
static void show() {
    SHOW(shop::all.uses, "shop::all.uses");
    for (int box = 0; box < SLOTS; box++) {
        SHOW(shop::all.boxes[box].value, "shop::all.boxes[].value");
        SHOW(shop::all.boxes[box].uses, "shop::all.boxes[].uses");
    }
    SHOW(shop::stock::made, "shop::stock::made");
}
"#;

/// Loads and stores by member.
type Counts = BTreeMap<String, [u64; 2]>;

fn recorded(source: &str, options: &[&str]) -> (Recording, Trace) {
    let folder = tempfile::tempdir().unwrap();
    let source = [HEAD, source, TAIL].concat();
    compile(folder.path(), "server", &source, options);
    let marked = ["--request-at", "serve", "--", "./server"];
    let mut recording = Recording::start_in(folder, marked);
    let trace = recording.trace();
    assert_eq!(trace.requests().len() as u64, ROUNDS);
    (recording, trace)
}

/// Counts the accesses of each byte that the program has printed, by the member there.
fn naive(recording: &Recording, trace: &Trace) -> Counts {
    let mut names = BTreeMap::new();
    for line in recording.stdout().lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, address, size] = words[..] else {
            panic!("{line}");
        };
        let address = u64::from_str_radix(address.strip_prefix("0x").unwrap(), 16).unwrap();
        for byte in 0..size.parse::<u64>().unwrap() {
            names.insert(address + byte, name.to_owned());
        }
    }
    let mut counts = Counts::new();
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        for access in execution.accesses {
            let name = names.get(&trace.owner(access.address).1);
            let place = match access.kind {
                Kind::Fetch => continue,
                Kind::Load => 0,
                Kind::Store => 1,
            };
            if let Some(name) = name {
                counts.entry(name.clone()).or_default()[place] += 1;
            }
        }
    }
    counts
}

fn profiled(recording: &Recording, by: &str) -> Value {
    let words = ["profile", "--json", "--limit", "1000", "--by", by];
    let mut told = conforming::read(&["profile"], recording.told_by(&words));
    told["views"][0].take()
}

/// Counts of the program's rows of a kind. Where libc has DWARF, it has rows too.
fn counts(view: &Value, kind: &str) -> Counts {
    let rows = view["rows"].as_array().unwrap().iter();
    let is_program = |row: &&Value| row["module"].as_str().unwrap_or("").ends_with("/server");
    let rows = rows.filter(|row| row["kind"] == kind).filter(is_program);
    let counts = rows.map(|row| {
        let name = row["name"].as_str().unwrap().to_owned();
        let of = ["loads", "stores"].map(|key| row["cost"][key].as_u64().unwrap());
        (name, of)
    });
    counts.collect()
}

fn sum(counts: &Counts) -> [u64; 2] {
    [0, 1].map(|place| counts.values().map(|of| of[place]).sum())
}

#[test]
fn members_of_a_c_programs_structs_have_their_accesses() {
    let (recording, trace) = recorded(C, &["-g"]);
    let view = profiled(&recording, "member");
    let members = counts(&view, "member");
    let expected = [
        ("server.clock", [0, ROUNDS]),
        ("server.slots[].key", [0, ROUNDS * SLOTS]),
        ("server.slots[].state", [ROUNDS * SLOTS / 2, 0]),
        ("server.stat.numcommands", [ROUNDS, ROUNDS]),
        ("server.whole|first", [ROUNDS, ROUNDS]),
        ("spare[].lock", [0, ROUNDS]),
    ];
    let expected = expected.map(|(name, of)| (name.to_owned(), of));
    assert_eq!(members, BTreeMap::from(expected));
    let prices = counts(&view, "global")["prices"];
    assert_eq!(prices, [ROUNDS, 0]);
    let mut naive = naive(&recording, &trace);
    assert_eq!(naive.remove("prices"), Some(prices));
    assert_eq!(naive, members);

    // The view by object adds the members of a variable up, whether both are requested or one.
    let both = profiled(&recording, "object,member");
    let objects = profiled(&recording, "object");
    assert_eq!(both, objects);
    let objects = counts(&objects, "global");
    let server = members
        .iter()
        .filter(|(name, _)| name.starts_with("server."));
    let server = server.map(|(name, of)| (name.clone(), *of)).collect();
    assert_eq!(objects["server"], sum(&server));
    assert_eq!(objects["spare"], members["spare[].lock"]);
}

#[test]
fn members_of_a_cplusplus_programs_classes_have_their_accesses() {
    let (recording, trace) = recorded(CPLUSPLUS, &["-x", "c++", "-g"]);
    let view = profiled(&recording, "member");
    let members = counts(&view, "member");
    let expected = [
        ("shop::all.boxes[].uses", [ROUNDS * SLOTS, 0]),
        ("shop::all.boxes[].value", [0, ROUNDS * SLOTS]),
        ("shop::all.uses", [0, ROUNDS]),
    ];
    let expected = expected.map(|(name, of)| (name.to_owned(), of));
    assert_eq!(members, BTreeMap::from(expected));
    let made = counts(&view, "global")["shop::stock::made"];
    assert_eq!(made, [0, ROUNDS]);
    let mut naive = naive(&recording, &trace);
    assert_eq!(naive.remove("shop::stock::made"), Some(made));
    assert_eq!(naive, members);
}

#[test]
fn without_dwarf_variables_are_rows_and_a_line_says_why() {
    let (recording, _) = recorded(C, &["-g"]);
    let table = || recording.told_by(&["profile", "--by", "member", "--sort", "cycles"]);
    let told = table();
    assert!(told.contains("  server.slots[].key of server\n"), "{told}");
    let program = recording.folder().join("server");
    let mut strip = Command::new("strip");
    let status = strip.arg("--strip-debug").arg(&program).status();
    assert!(status.unwrap().success());
    let stripped = table();
    assert!(stripped.contains("  server of server\n"), "{stripped}");
    assert!(!stripped.contains(".slots[]"), "{stripped}");
    let part = |told: &str| {
        let end = " of the cycles are in variables without known members: no DWARF of the recorded \
                   build was found, or it does not describe them";
        let line = told.lines().find_map(|line| line.strip_suffix(end));
        let share = line.unwrap().strip_suffix(" %").unwrap();
        share.parse::<f64>().unwrap()
    };
    assert!(part(&stripped) > part(&told), "{told}\n{stripped}");
    let view = profiled(&recording, "member");
    let server = counts(&view, "global")["server"];
    let stores = view["without_types"]["stores"].as_u64().unwrap();
    assert!(stores >= server[1], "{view}");
}
