//! Compares two traces: figures per request, functions by change, and entries of only one trace.

use super::{assert_same, differing, differing_json, figure};
use crate::definitions;
use corehop_traces::{EndReason, Error, Kind, ThreadId, WriterOptions};
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;

const CODE: u64 = 0x40_0000;
/// Its L2 fits all lines, so each line misses once.
const MACHINE: &str = "\
name = \"roomy\"
cores = 2
line_size_bytes = 64
memory_latency_cycles = 200
hop_cost_cycles = 10
l1i = { size_bytes = 512, ways = 8, latency_cycles = 4 }
l1d = { size_bytes = 128, ways = 2, latency_cycles = 4 }
l2 = { size_bytes = 65536, ways = 64, latency_cycles = 12 }
l3 = { size_bytes = 131072, ways = 64, latency_cycles = 40 }
";

/// The recorded requests, alternating between these threads. Each request calls these functions,
/// which load this number of lines.
struct Recorded<'a> {
    server: (&'a str, &'a str),
    threads: u32,
    requests: u32,
    functions: &'a [(&'a str, u64, u64)],
}

const FIRST: Recorded<'_> = Recorded {
    server: definitions::SERVER,
    threads: 1,
    requests: 4,
    functions: &[("parse", 0, 2), ("execute", 64, 8), ("log", 128, 20)],
};

fn record(path: &Path, of: &Recorded<'_>) -> Result<(), Error> {
    let at = (of.server, CODE);
    let (mut writer, module) = definitions::begin_of(path, &WriterOptions::default(), "parse", at)?;
    let mut blocks = Vec::new();
    for &(name, offset, lines) in of.functions {
        let function = (name, offset);
        let block = definitions::function(&mut writer, (module, CODE), function, None)?;
        blocks.push((block, offset, lines));
    }
    let threads = (1..=of.threads).map(|id| writer.thread(1, id));
    let threads: Vec<ThreadId> = threads.collect::<Result<_, _>>()?;
    for request in 0..of.requests {
        let thread = threads[request as usize % threads.len()];
        writer.stamp(thread, u64::from(request))?;
        writer.request(thread)?;
        for &(block, offset, lines) in &blocks {
            writer.execution(thread, block)?;
            for line in 0..lines {
                // Each request has separate lines, so all of them miss.
                let address = (u64::from(request) << 32) + (offset << 16) + line * 64;
                writer.data(thread, 0, Kind::Load, 8, 0x1000_0000 + address)?;
            }
        }
    }
    for thread in threads {
        writer.end_request(thread)?;
    }
    writer.finish(EndReason::RequestsReached)?;
    Ok(())
}

/// A folder with these two traces, and a machine.
fn folder(a: &Recorded<'_>, b: &Recorded<'_>) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, of) in [("a.trace", a), ("b.trace", b)] {
        record(&folder.path().join(name), of).unwrap();
    }
    std::fs::write(folder.path().join("roomy.toml"), MACHINE).unwrap();
    folder
}

const WORDS: [&str; 4] = ["a.trace", "b.trace", "--machine", "roomy.toml"];

fn names(list: &Value) -> Vec<&str> {
    let list = list.as_array().unwrap();
    list.iter().map(|of| of["name"].as_str().unwrap()).collect()
}

#[test]
fn equal_traces_do_not_differ() {
    let folder = folder(&FIRST, &FIRST);
    assert_same(folder.path(), &WORDS);
    assert_same(
        folder.path(),
        &[&WORDS[..], &["--requests", "1-2"]].concat(),
    );
}

#[test]
fn figures_are_per_request_whatever_their_number_is() {
    let twice = Recorded {
        requests: 8,
        ..FIRST
    };
    let folder = folder(&FIRST, &twice);
    let told = differing_json(folder.path(), &WORDS);
    assert_eq!(told["kind"], "trace");
    assert_eq!(figure(&told, "requests"), [4.0, 8.0].map(Value::from));
    // Three functions of one instruction each, and 30 loads.
    assert_eq!(figure(&told, "instructions"), [3.0, 3.0].map(Value::from));
    assert_eq!(figure(&told, "accesses"), [33.0, 33.0].map(Value::from));
    assert_eq!(
        figure(&told, "loads and stores"),
        [30.0, 30.0].map(Value::from)
    );
    // No line is loaded twice.
    assert_eq!(figure(&told, "L1D misses"), [30.0, 30.0].map(Value::from));
    assert_eq!(told["traces"]["per_request"], true);
    let threads = json!([{"thread": 0, "a": 4, "b": 8}]);
    assert_eq!(told["traces"]["threads"], threads);
    // The first four requests of both are the same.
    let first = [&WORDS[..], &["--requests", "0-3"]].concat();
    let told = differing_json(folder.path(), &first);
    assert_eq!(told["traces"]["functions"]["same"], 3);
    assert_eq!(figure(&told, "cycles")[0], figure(&told, "cycles")[1]);
}

#[test]
fn the_largest_change_comes_first_and_what_one_trace_lacks_is_apart() {
    let other = Recorded {
        functions: &[
            ("parse", 0, 3),
            ("execute", 64, 1),
            ("added", 192, 1),
            ("another", 256, 5),
        ],
        ..FIRST
    };
    let folder = folder(&FIRST, &other);
    let told = differing_json(folder.path(), &WORDS);
    let traces = &told["traces"];
    assert_eq!(names(&traces["changed"]), ["execute", "parse"]);
    assert_eq!(names(&traces["only_a"]), ["log"]);
    assert_eq!(names(&traces["only_b"]), ["another", "added"]);
    assert_eq!(traces["changed"][0]["l2_misses_change"], -7.0);
    assert_eq!(traces["only_a"][0]["b"], Value::Null);
    assert_eq!(traces["only_b"][0]["a"], Value::Null);
    let counts = json!({"same": 0, "changed": 2, "only_a": 1, "only_b": 2});
    assert_eq!(traces["functions"], counts);
    // Fewer functions are listed, but all are counted.
    let one = [&WORDS[..], &["--limit", "1"]].concat();
    let told = differing_json(folder.path(), &one);
    assert_eq!(names(&told["traces"]["only_b"]), ["another"]);
    assert_eq!(told["traces"]["functions"], counts);
    insta::assert_snapshot!(differing(folder.path(), &WORDS));
}

#[test]
fn functions_that_changed_alike_stand_in_the_order_of_their_names() {
    let [mut a, mut b] = [Vec::new(), Vec::new()];
    let names = ["m", "c", "x", "a", "k", "b", "z", "y"];
    for (name, offset) in names.into_iter().zip((0..).step_by(64)) {
        a.push((name, offset, 1));
        b.push((name, offset, 2));
    }
    let of = |functions| Recorded { functions, ..FIRST };
    let folder = folder(&of(&a), &of(&b));
    let told = differing_json(folder.path(), &WORDS);
    let sorted = ["a", "b", "c", "k", "m", "x", "y", "z"];
    assert_eq!(self::names(&told["traces"]["changed"]), sorted);
    let once = differing(folder.path(), &[&WORDS[..], &["--jobs", "1"]].concat());
    assert_eq!(differing(folder.path(), &WORDS), once);
}

#[test]
fn in_another_build_functions_are_known_by_their_symbols() {
    let rebuilt = Recorded {
        server: ("/opt/new/server", "0c0d"),
        functions: &[("execute", 0, 8), ("parse", 256, 2), ("log", 512, 20)],
        threads: 2,
        ..FIRST
    };
    let folder = folder(&FIRST, &rebuilt);
    let told = differing_json(folder.path(), &WORDS);
    let traces = &told["traces"];
    let functions = &traces["functions"];
    assert_eq!([&functions["only_a"], &functions["only_b"]], [0, 0]);
    let modules = json!([{
        "a": {"path": "/usr/bin/server", "build_id": "0a1b"},
        "b": {"path": "/opt/new/server", "build_id": "0c0d"},
    }]);
    assert_eq!(traces["modules"], modules);
    let threads = json!([{"thread": 0, "a": 4, "b": 2}, {"thread": 1, "a": null, "b": 2}]);
    assert_eq!(traces["threads"], threads);
    assert_eq!(
        told["settings"],
        json!([{"name": "threads", "a": "1", "b": "2"}])
    );
}

#[test]
fn by_a_plan_hops_are_compared_too() {
    let less = Recorded {
        functions: &FIRST.functions[..2],
        ..FIRST
    };
    let folder = folder(&FIRST, &less);
    let plan = "version = 1\nmachine = 'tiny'\ntrace = 't'\ncores = 2\nseed = 1\n\
                [[function]]\nmodule = '/usr/bin/server'\nbuild_id = '0a1b'\noffset = 64\n\
                symbol = 'execute'\ncore = 1\nmode = 'call'\n";
    std::fs::write(folder.path().join("split.toml"), plan).unwrap();
    let words = [&WORDS[..], &["--plan", "split.toml"]].concat();
    let told = differing_json(folder.path(), &words);
    // In B, each request except the last ends on the other core, where nothing follows the call.
    let [a, b] = figure(&told, "hops").map(|of| of.as_f64().unwrap());
    assert!(a > 0.0 && b > 0.0, "{a} {b}");
    let without = differing_json(folder.path(), &WORDS);
    let figures = without["figures"].as_array().unwrap();
    assert!(figures.iter().all(|figure| figure["name"] != "hops"));
}
