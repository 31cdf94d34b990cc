//! `corehop profile --what-if` predicts a change that is then made in the source: the misses of the
//! recording with the change in a what-if, and of a recording of the changed program, differ by at
//! most 1 %.
//!
//! Threads take turns, so that each recording has one order. `padding` has the programs whose
//! elements get larger, `moving` those whose members or arrays move.

mod moving;
mod padding;

use crate::conforming;
use crate::recording::{Recording, compile};
use serde_json::Value;

/// Caches that small programs overflow.
const MACHINE: &str = "\
name = \"narrow\"
cores = 8
line_size_bytes = 64
memory_latency_cycles = 200
hop_cost_cycles = 10
l1i = { size_bytes = 32768, ways = 8, latency_cycles = 4 }
l1d = { size_bytes = 8192, ways = 4, latency_cycles = 4 }
l2 = { size_bytes = 16384, ways = 4, latency_cycles = 12, inclusion = \"non-inclusive\" }
l3 = { size_bytes = 65536, ways = 16, latency_cycles = 40, inclusion = \"non-inclusive\" }
";

/// Runs `serve` in turns by one thread, or by as many as the macro `THREADS`.
const RUNNER: &str = "\
#include <pthread.h>
#include <unistd.h>
enum { ROUNDS = 60 };
#ifdef THREADS
static int turns[THREADS][2];
static void *work(void *argument) {
    long own = (long)argument;
    char turn;
    for (int round = 0; round < ROUNDS; round++) {
        if (read(turns[own][0], &turn, 1) != 1) __builtin_trap();
        serve(own);
        if (write(turns[(own + 1) % THREADS][1], &turn, 1) != 1) __builtin_trap();
    }
    return 0;
}
int main(void) {
    pthread_t threads[THREADS];
    for (long own = 0; own < THREADS; own++)
        if (pipe(turns[own]) != 0) __builtin_trap();
    for (long own = 0; own < THREADS; own++)
        pthread_create(&threads[own], 0, work, (void *)own);
    if (write(turns[0][1], \"\", 1) != 1) __builtin_trap();
    for (long own = 0; own < THREADS; own++)
        pthread_join(threads[own], 0);
    return 0;
}
#else
int main(void) {
    for (int round = 0; round < ROUNDS; round++) serve(0);
    return 0;
}
#endif
";

/// A program with a change.
struct Program {
    /// `c` or `c++`.
    language: &'static str,
    /// Defines `serve`; the macro `FIXED` selects the changed source.
    source: &'static str,
    /// The same change.
    what_if: &'static str,
    /// The changed variables before, and in the changed source.
    objects: [&'static [&'static str]; 2],
}

/// Records the program and returns the recording.
fn recorded(program: &Program, options: &[&str]) -> Recording {
    let folder = tempfile::tempdir().unwrap();
    let source = format!("{}{RUNNER}", program.source);
    let language = ["-x", program.language];
    compile(
        folder.path(),
        "server",
        &source,
        &[&language, options].concat(),
    );
    std::fs::write(folder.path().join("narrow.toml"), MACHINE).unwrap();
    std::fs::write(folder.path().join("change.toml"), program.what_if).unwrap();
    let marked = ["--request-at", "serve", "--", "./server"];
    let mut recording = Recording::start_in(folder, marked);
    recording.trace();
    recording
}

/// The output of `corehop profile` with these words. The first requests warm up, and the last ones,
/// which include the end of the program, are left out.
fn profiled(recording: &Recording, words: &[&str]) -> Value {
    let own = "profile --json --machine narrow.toml --requests 0-55 --warm-up 16";
    let words: Vec<&str> = own.split(' ').chain(words.iter().copied()).collect();
    conforming::read(&words, recording.told_by(&words))
}

const LEVELS: [&str; 3] = ["l1d", "l2", "l3"];

/// The misses of a cost by level.
fn misses(cost: &Value) -> [u64; 3] {
    LEVELS.map(|level| cost[level]["misses"].as_u64().unwrap())
}

fn sum(costs: impl Iterator<Item = [u64; 3]>) -> [u64; 3] {
    costs.fold([0; 3], |sum, of| {
        std::array::from_fn(|level| sum[level] + of[level])
    })
}

#[track_caller]
fn holds(what: &str, predicted: [u64; 3], recorded: [u64; 3]) {
    for ((level, predicted), recorded) in LEVELS.iter().zip(predicted).zip(recorded) {
        let holds = predicted.abs_diff(recorded) * 100 <= recorded;
        assert!(
            holds,
            "{what}, {level}: predicted {predicted}, recorded {recorded}"
        );
    }
}

/// Records both sources, and compares; returns the misses of the objects before and after.
fn predicts(program: &Program) -> [[u64; 3]; 2] {
    let before = recorded(program, &[]);
    let outcome = profiled(&before, &["--what-if", "change.toml"]);
    let objects = outcome["objects"].as_array().unwrap();
    let names: Vec<_> = objects
        .iter()
        .map(|of| of["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, program.objects[0]);
    let of_side = |side: &str| sum(objects.iter().map(|of| misses(&of[side])));
    let plain = |recording: &Recording, names: &[&str]| {
        let words = ["--by", "object", "--threads", "spread", "--limit", "1000"];
        let profile = profiled(recording, &words);
        let rows = profile["views"][0]["rows"].as_array().unwrap().iter();
        let own = rows.filter(|row| names.contains(&row["name"].as_str().unwrap()));
        (
            misses(&profile["total"]),
            sum(own.map(|row| misses(&row["cost"]))),
        )
    };
    // As recorded, a what-if counts what a profile counts.
    let total = plain(&before, program.objects[0]);
    assert_eq!(
        (misses(&outcome["before"]["total"]), of_side("before")),
        total
    );

    let (total, own) = plain(&recorded(program, &["-DFIXED"]), program.objects[1]);
    holds("objects", of_side("after"), own);
    holds("in all", misses(&outcome["after"]["total"]), total);
    [of_side("before"), of_side("after")]
}

/// The change saves at least a tenth of the misses of this level.
#[track_caller]
fn saves(level: usize, [before, after]: [[u64; 3]; 2]) {
    assert!(
        after[level] * 10 <= before[level] * 9,
        "{before:?} {after:?}"
    );
}
