//! Hops at one call of each request, found in a recording and replayed.

use crate::conforming::read;
use crate::recording::Recording;
use corehop_plans::{Destination, KthCall};
use serde_json::Value;
use std::process::Command;

/// Requests that take twelve steps: the first five on one half of the data, from the sixth on the
/// other. Each half fits an L2, both together do not.
const SOURCE: &str = r#"
enum { STEPS = 12, LINES = 700, REQUESTS = 60 };
static struct { long cells[LINES * 8]; } halves[2];
static volatile long sum;
#define ENTRY __attribute__((noinline, noclone))
ENTRY void step(int number) {
    long all = 0, *cells = halves[number >= 5].cells;
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

#[test]
fn the_search_finds_the_call_at_which_requests_take_up_other_data() {
    let mut recording = Recording::of(SOURCE);
    let requests = recording.trace().requests().len();
    let folder = recording.folder().to_owned();
    std::fs::write(folder.join("tiny.toml"), MACHINE).unwrap();
    let corehop = |words: &[&str]| -> Value {
        let output = Command::new(env!("CARGO_BIN_EXE_corehop"))
            .args(words)
            .arg(recording.path())
            .current_dir(&folder)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        read(words, &output.stdout)
    };
    let search = |plan: &str, jobs: &str| {
        let words = ["partition", "--kth-calls", "--cores", "2", "--json"];
        let more = ["--jobs", jobs, "--machine", "tiny.toml", "-o", plan];
        let mut said = corehop(&[&words[..], &more[..]].concat());
        said["seconds"] = 0.into();
        said
    };
    let (said, again) = (search("plan.toml", "1"), search("again.toml", "3"));
    assert_eq!(said, again);
    assert_eq!(said["proven_optimal"], true);
    let words = ["candidates", "--kth-calls", "--json"];
    let candidates = corehop(&words);
    let named = candidates["candidates"].as_array().unwrap().iter();
    let named: Vec<&str> = named.map(|of| of["name"].as_str().unwrap()).collect();
    let calls = [1, 2, 3, 4, 6, 8, 9, 12].map(|call| format!("step at call {call}"));
    assert!(named.contains(&"serve") && calls.iter().all(|call| named.contains(&&**call)));
    let plan = corehop_plans::read(&folder.join("plan.toml")).unwrap();
    let to: Vec<Destination> = plan.functions.iter().map(|function| function.to).collect();
    let at = Destination::At(KthCall { core: 1, call: 6 });
    assert_eq!(to, [Destination::Core(0), at]);
    assert_eq!(plan.request.unwrap().symbol, "serve");
    let with_plan = ["--machine", "tiny.toml", "--plan", "plan.toml", "--json"];
    let replayed = corehop(&[&["replay"][..], &with_plan].concat());
    // Each request goes there, and the next one comes back.
    assert_eq!(replayed["hops"], 2 * requests - 1);
    let explained = corehop(&[&["explain"][..], &with_plan].concat());
    assert_eq!(explained["cores"][0]["entering"][0], "serve");
    assert_eq!(explained["cores"][1]["entering"][0], "step");
}
