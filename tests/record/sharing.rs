//! `corehop profile --by sharing` of a recorded program of two threads, of whose variables it is
//! known which are shared, and how often.

use crate::conforming;
use crate::recording::{Recording, compile};
use serde_json::Value;

/// What each thread does.
const ROUNDS: u64 = 50;

/// Two threads take turns. Each counts in a counter for itself, and both in one.
const SOURCE: &str = r#"
#include <pthread.h>
#include <unistd.h>
enum { ROUNDS = 50 };
#ifdef PADDED
enum { REST = 56 };
#else
enum { REST = 0 };
#endif
struct counter { volatile long count; char rest[REST]; };
struct { struct counter of[2]; } __attribute__((aligned(64))) counters;
struct { volatile long count; } __attribute__((aligned(64))) total;
static int turns[2][2];
void serve(int own) {
    counters.of[own].count++; // counts
    total.count++; // adds up
}
static void *work(void *argument) {
    int own = argument != 0;
    char turn;
    for (int round = 0; round < ROUNDS; round++) {
        if (read(turns[own][0], &turn, 1) != 1) __builtin_trap();
        serve(own);
        if (write(turns[!own][1], &turn, 1) != 1) __builtin_trap();
    }
    return 0;
}
int main(void) {
    pthread_t threads[2];
    for (int own = 0; own < 2; own++)
        if (pipe(turns[own]) != 0) __builtin_trap();
    for (int own = 0; own < 2; own++)
        pthread_create(&threads[own], 0, work, own ? turns : 0);
    if (write(turns[0][1], "", 1) != 1) __builtin_trap();
    for (int own = 0; own < 2; own++)
        pthread_join(threads[own], 0);
    return total.count != 2 * ROUNDS;
}
"#;

/// The lines that threads share in the program compiled with these options.
fn shared(options: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "server", SOURCE, options);
    let marked = ["--request-at", "serve", "--", "./server"];
    let mut recording = Recording::start_in(folder, marked);
    assert_eq!(recording.trace().requests().len() as u64, 2 * ROUNDS);
    let words = ["profile", "--json", "--by", "sharing", "--limit", "1000"];
    let mut profile = conforming::read(&["profile"], recording.told_by(&words));
    // A core for each thread.
    assert_eq!(profile["cores"], 3);
    match profile["sharing"]["rows"].take() {
        Value::Array(rows) => rows,
        other => panic!("{other}"),
    }
}

/// The lines that hold a part of this variable.
fn lines_of<'r>(rows: &'r [Value], variable: &str) -> Vec<&'r Value> {
    let is_of = |row: &&Value| {
        let mut objects = row["objects"].as_array().unwrap().iter();
        objects.any(|object| object["kind"] == "global" && object["name"] == variable)
    };
    rows.iter().filter(is_of).collect()
}

fn line_of(comment: &str) -> String {
    let mut lines = (1..).zip(SOURCE.lines());
    let found: (u32, _) = lines.find(|(_, line)| line.contains(comment)).unwrap();
    format!("<stdin>:{}", found.0)
}

#[test]
fn counters_of_threads_share_a_line_falsely_and_one_of_both_truly() {
    let rows = shared(&["-g"]);
    let [counters] = lines_of(&rows, "counters")[..] else {
        panic!("{rows:#?}");
    };
    assert_eq!(counters["verdict"], "false-sharing");
    assert_eq!(counters["storing_threads"], 2);
    // All turns but the first take the line from the other thread, whose core has modified it. The
    // second thread's core has not held it before its first turn.
    let cost = &counters["cost"];
    assert_eq!(cost["stores"], 2 * ROUNDS);
    assert_eq!(cost["false_sharing"], 2 * ROUNDS - 1);
    assert_eq!(cost["hit_modified"], 2 * ROUNDS - 1);
    assert_eq!(cost["invalidated_lines"], 2 * ROUNDS - 1);
    assert_eq!(cost["coherence_misses"], 2 * ROUNDS - 2);
    let uses = counters["uses"].as_array().unwrap();
    let offsets = uses.iter().map(|of| (&of["offset"], &of["cost"]["stores"]));
    let offsets: Vec<_> = offsets
        .map(|(offset, of)| (offset.as_u64(), of.as_u64()))
        .collect();
    assert_eq!(offsets, [(Some(0), Some(ROUNDS)), (Some(8), Some(ROUNDS))]);
    assert_ne!(uses[0]["thread"], uses[1]["thread"]);
    for of in uses {
        assert_eq!(of["function"], "serve");
        let code = of["code"].as_str().unwrap();
        assert!(code.ends_with(&line_of("// counts")), "{code}");
    }

    let [total] = lines_of(&rows, "total")[..] else {
        panic!("{rows:#?}");
    };
    assert_eq!(total["verdict"], "true-sharing");
    // The last one is the main thread's.
    assert_eq!(total["cost"]["true_sharing"], 2 * ROUNDS);
    assert_eq!(total["loading_threads"], 3);
}

#[test]
fn padding_ends_false_sharing() {
    let rows = shared(&["-g", "-DPADDED"]);
    assert_eq!(lines_of(&rows, "counters"), Vec::<&Value>::new());
    assert_eq!(lines_of(&rows, "total").len(), 1);
}
