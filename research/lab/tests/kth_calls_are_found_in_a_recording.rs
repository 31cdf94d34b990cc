//! Hops at single calls of each request, found in a recording and replayed.

use crate::conforming::read;
use crate::recordings::Recording;
use corehop_plan::{Destination, KthCall};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Requests of twelve steps; the middle steps use one half of the data, the others the other. Each
/// half fits an L2, both together do not.
const SOURCE: &str = r#"
enum { STEPS = 12, LINES = 700, REQUESTS = 60 };
static struct { long cells[LINES * 8]; } halves[2];
static volatile long sum;
#define ENTRY __attribute__((noinline, noclone))
ENTRY void step(int number) {
    long all = 0, *cells = halves[number >= FIRST && number < END].cells;
    for (int line = 0; line < LINES; line++) all += cells[line * 8];
    sum += all;
}
ENTRY void serve(int request) {
    sum += request;
    for (int number = 0; number < STEPS; number++) step(number);
}
int main(void) {
    for (int request = 0; request < REQUESTS; request++) serve(request);
    return 0;
}
"#;

const MACHINE: &str = "name = \"tiny\"\ncores = 4\nline_size_bytes = 64\n\
    memory_latency_cycles = 200\nhop_cost_cycles = 1000\n\
    l1i = { size_bytes = 8192, ways = 8, latency_cycles = 4 }\n\
    l1d = { size_bytes = 8192, ways = 8, latency_cycles = 4 }\n\
    l2 = { size_bytes = 65536, ways = 16, latency_cycles = 12 }\n";

/// Records a program whose steps in `first..end` use the other half of the data. Also returns the
/// folder, which contains the machine file.
fn recorded(first: u32, end: u32) -> (Recording, PathBuf) {
    let source = format!("enum {{ FIRST = {first}, END = {end} }};\n{SOURCE}");
    let recording = Recording::of(&source);
    let folder = recording.folder().to_owned();
    std::fs::write(folder.join("tiny.toml"), MACHINE).unwrap();
    (recording, folder)
}

/// Returns corehop's output for it as JSON.
fn corehop(recording: &Recording, words: &[&str]) -> Value {
    read(words, recording.told_by(words))
}

/// Runs this program's search on it.
fn search(recording: &Recording, words: &[&str]) -> Output {
    Command::new(crate::LAB)
        .arg("kth-calls")
        .args(words)
        .arg(recording.path())
        .current_dir(recording.folder())
        .output()
        .unwrap()
}

/// Returns the same as JSON.
fn searched(recording: &Recording, words: &[&str]) -> Value {
    let output = search(recording, words);
    assert!(output.status.success(), "{output:?}");
    read(words, output.stdout)
}

const WITH_PLAN: [&str; 5] = ["--machine", "tiny.toml", "--plan", "plan.toml", "--json"];

/// Returns the destinations of the functions in the resulting plan.
fn planned(folder: &Path) -> Vec<Destination> {
    let plan = corehop_plan::read(&folder.join("plan.toml")).unwrap();
    assert_eq!(plan.request.unwrap().symbol, "serve");
    plan.functions.iter().map(|function| function.to).collect()
}

#[test]
fn the_search_finds_the_call_at_which_requests_take_up_other_data() {
    let (mut recording, folder) = recorded(5, 12);
    let requests = recording.trace().requests().len();
    let plan_to = |plan: &str, jobs: &str| {
        let words = ["partition", "--cores", "2", "--json"];
        let more = ["--jobs", jobs, "--machine", "tiny.toml", "-o", plan];
        let mut said = searched(&recording, &[&words[..], &more[..]].concat());
        said["seconds"] = 0.into();
        said
    };
    let (said, again) = (plan_to("plan.toml", "1"), plan_to("again.toml", "3"));
    assert_eq!(said, again);
    assert_eq!(said["proven_optimal"], true);
    let candidates = searched(&recording, &["candidates", "--json"]);
    let named = candidates["candidates"].as_array().unwrap().iter();
    let named: Vec<&str> = named.map(|of| of["name"].as_str().unwrap()).collect();
    let calls = [1, 2, 3, 4, 6, 8, 9, 12].map(|call| format!("step at call {call}"));
    assert!(named.contains(&"serve") && calls.iter().all(|call| named.contains(&&**call)));
    let at = Destination::At(KthCall { core: 1, call: 6 });
    assert_eq!(planned(&folder), [Destination::Core(0), at]);
    let replayed = corehop(&recording, &[&["replay"][..], &WITH_PLAN].concat());
    // Each request hops there, and the next one hops back.
    assert_eq!(replayed["hops"], 2 * requests - 1);
    let explained = corehop(&recording, &[&["explain"][..], &WITH_PLAN].concat());
    assert_eq!(explained["cores"][0]["entering"][0], "serve");
    assert_eq!(explained["cores"][1]["entering"][0], "step");
}

#[test]
fn a_loop_is_split_by_several_calls_of_one_function() {
    let (mut recording, folder) = recorded(5, 8);
    let requests = recording.trace().requests().len();
    let words = ["partition", "--cores", "2", "--json"];
    let more = [
        "--functions",
        "3",
        "--machine",
        "tiny.toml",
        "-o",
        "plan.toml",
    ];
    let said = searched(&recording, &[&words[..], &more[..]].concat());
    assert_eq!(said["proven_optimal"], true);
    let there = Destination::At(KthCall { core: 1, call: 6 });
    let back = Destination::At(KthCall { core: 0, call: 9 });
    assert_eq!(planned(&folder)[1..], [there, back]);
    let replayed = corehop(&recording, &[&["replay"][..], &WITH_PLAN].concat());
    assert_eq!(replayed["hops"], 2 * requests);
    let explained = corehop(&recording, &[&["explain"][..], &WITH_PLAN].concat());
    assert_eq!(
        explained["cores"][1]["entering"],
        serde_json::json!(["step"])
    );
}

#[test]
fn what_is_only_of_functions_is_refused() {
    let (mut recording, _) = recorded(5, 8);
    recording.trace();
    for (words, refused) in [
        (&["partition", "--delegate", "1"][..], "--delegate"),
        (
            &["partition", "--cores", "2", "--points", "blocks"],
            "--points blocks",
        ),
        (&["candidates", "--by-argument"], "--by-argument"),
    ] {
        let output = search(&recording, words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(refused), "{said}");
    }
}
