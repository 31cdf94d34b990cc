//! Compares two results of one command: their figures, whether intervals overlap, and the plans.

use super::{assert_same, diff, differing, differing_json, figure};
use crate::{conforming, server};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const WORDS: [&str; 2] = ["a.json", "b.json"];

/// A folder with these two results, which must match this schema.
fn folder(schema: &str, a: &Value, b: &Value) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, value) in [("a.json", a), ("b.json", b)] {
        assert_eq!(conforming::deviations(schema, value), [""; 0]);
        std::fs::write(folder.path().join(name), value.to_string()).unwrap();
    }
    folder
}

fn statistics(hops: u64) -> Value {
    json!({"backend": "carrier", "hops": hops, "failed_hops": 0, "hop_ns": 300.0})
}

fn measured(ratio: f64, interval: [f64; 2]) -> Value {
    json!({
        "plan": "split.toml", "system_calls": null, "command": ["server", "-p"],
        "rounds": 3, "original": [100.0, 90.0, 110.0], "patched": [120.0, 130.0, 110.0],
        "latency": {"original": [1.0, 2.0, 3.0], "patched": [0.5, 0.75, 4.0]},
        "ratio": ratio, "interval": interval, "confidence": 0.95, "resolution_percent": 3.0,
        "groups": null, "neighbors": null, "verdict": "faster", "ended_early": null,
        "required_gain_percent": null, "is_met": null,
        "hops": statistics(500),
        "counters": {"available": true, "per_operation": [
            {"name": "L2 misses", "original": 80.0, "patched": null},
        ]},
        "predicted": {
            "l2_misses_ratio": 0.5, "throughput_ratio": null, "machine": null,
            "hop_cost_cycles": null,
        },
    })
}

fn function(core: u32) -> Value {
    json!({
        "module": "/usr/bin/server", "build_id": "0a1b", "offset": 64, "symbol": "execute",
        "core": core, "mode": "enter",
    })
}

fn optimized(ratio: f64, interval: [f64; 2], core: u32) -> Value {
    let predicted = json!({
        "l2_misses_ratio": 0.25, "cycles_ratio": 0.5, "hops_per_request": 2.0,
        "speedup": {"low": 1.8, "median": 1.9, "high": 2.1},
    });
    let mut result = json!({
        "gain": true, "answer": "gain", "smallest_gain_percent": 5.0, "measuring_seconds": 9.0,
        "ended_early": null,
        "ratio": ratio, "interval": interval, "confidence": 0.95, "why_not": null,
        "causes": null,
        "plan": "p.toml", "report": "p.html", "system_calls": null, "system_calls_untried": null,
        "start": "start.sh", "command": "x", "carriers": [], "trace": "t", "machine": "host",
        "hop_cost_cycles": 900, "original": [10.0, 11.0], "patched": [20.0, 21.0],
        "groups": null, "neighbors": null, "chosen_by": "only", "best": 1, "hops": statistics(7),
        "tried": [
            {"plan": null, "cores": null, "functions": null, "predicted": null,
             "system_calls": "read@1", "raced": null},
            {"plan": "p", "cores": 2, "functions": [function(core)], "predicted": predicted,
             "system_calls": null, "raced": null},
        ],
    });
    result["expected"] = Value::Null;
    result
}

/// Returns whether the intervals of the ratio overlap, by the output.
fn overlap(told: &Value) -> Value {
    let figures = told["figures"].as_array().unwrap();
    let ratio = figures.iter().find(|figure| figure["name"] == "ratio");
    ratio.unwrap()["overlap"].clone()
}

#[test]
fn of_measurements_intervals_overlap_or_lie_apart() {
    let a = measured(1.2, [1.1, 1.3]);
    for (interval, is_overlapping) in [
        ([1.25, 1.6], true),
        ([1.3, 1.6], true),
        ([1.31, 1.6], false),
        ([0.5, 1.09], false),
        ([1.15, 1.2], true),
    ] {
        let b = measured(1.4, interval);
        let folder = folder("measure", &a, &b);
        let told = differing_json(folder.path(), &WORDS);
        assert_eq!(told["kind"], "measure");
        assert_eq!(overlap(&told), is_overlapping, "{interval:?}");
    }
    let folder = folder("measure", &a, &measured(1.4, [1.31, 1.5]));
    let told = differing_json(folder.path(), &WORDS);
    assert_eq!(
        figure(&told, "patched, median"),
        [120.0, 120.0].map(Value::from)
    );
    assert_eq!(
        figure(&told, "latency, patched"),
        [0.75, 0.75].map(Value::from)
    );
    assert_eq!(
        figure(&told, "L2 misses, original"),
        [80.0, 80.0].map(Value::from)
    );
    assert_eq!(told["migrations"], Value::Null);
    assert_same(folder.path(), &["a.json", "a.json"]);
    insta::assert_snapshot!(differing(folder.path(), &WORDS));
}

#[test]
fn of_optimizations_the_plans_are_compared_too() {
    let [a, b] = [optimized(2.0, [1.9, 2.1], 0), optimized(2.0, [1.9, 2.1], 1)];
    let folder = folder("optimize", &a, &b);
    let told = differing_json(folder.path(), &WORDS);
    assert_eq!(told["kind"], "optimize");
    assert_eq!(overlap(&told), true);
    let keys = json!([{"name": "core", "a": "0", "b": "1"}]);
    assert_eq!(told["migrations"]["changed"][0]["keys"], keys);
    assert_eq!(
        figure(&told, "candidates tried"),
        [2.0, 2.0].map(Value::from)
    );
    assert_eq!(
        figure(&told, "cores of the best"),
        [2.0, 2.0].map(Value::from)
    );
    assert_same(folder.path(), &["b.json", "b.json"]);
}

/// Compares a result without a gain with one that has a gain: many figures are unknown.
#[test]
fn a_figure_that_one_side_lacks_is_null() {
    let mut none = optimized(2.0, [1.9, 2.1], 0);
    for key in [
        "ratio", "interval", "original", "patched", "best", "hops", "plan", "report",
    ] {
        none[key] = Value::Null;
    }
    for key in ["start", "command", "chosen_by"] {
        none[key] = Value::Null;
    }
    none["gain"] = false.into();
    none["why_not"] = "nothing pays".into();
    none["tried"] = json!([]);
    let folder = folder("optimize", &optimized(2.0, [1.9, 2.1], 0), &none);
    let told = differing_json(folder.path(), &WORDS);
    assert_eq!(figure(&told, "ratio"), [json!(2.0), Value::Null]);
    assert_eq!(overlap(&told), Value::Null);
    assert_eq!(told["migrations"]["only_a"][0], function(0));
    assert_same(folder.path(), &["b.json", "b.json"]);
}

/// Returns the standard output of a command.
fn printed(folder: &Path, words: &[&str]) -> Vec<u8> {
    let mut command = Command::new(crate::BUILT);
    let output = command.current_dir(folder).args(words).output().unwrap();
    assert!(!output.stdout.is_empty(), "{words:?}: {output:?}");
    output.stdout
}

#[test]
fn what_commands_print_of_a_trace_is_known_by_its_keys() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    server::record(&path.join("bank.trace")).unwrap();
    let machine = include_str!("../machines/tiny.toml");
    std::fs::write(path.join("tiny.toml"), machine).unwrap();
    let roomy = machine.replace("size_bytes = 1024", "size_bytes = 4096");
    std::fs::write(path.join("roomy.toml"), roomy).unwrap();
    let plan = "version = 1\nmachine = 'tiny.toml'\ntrace = 'bank.trace'\ncores = 2\nseed = 1\n\
                [[function]]\nmodule = '/usr/bin/server'\nbuild_id = '0a1b'\noffset = 64\n\
                symbol = 'execute'\ncore = 1\nmode = 'enter'\n";
    std::fs::write(path.join("split.toml"), plan).unwrap();
    for (kind, words) in [
        ("replay", &["replay", "bank.trace"][..]),
        (
            "explain",
            &["explain", "bank.trace", "--plan", "split.toml"],
        ),
        (
            "report",
            &["report", "split.toml", "-o", "page.html", "--force"],
        ),
        (
            "partition-sweep",
            &[
                "partition",
                "bank.trace",
                "--cores",
                "2",
                "--sweep",
                "--requests",
                "2",
            ],
        ),
        (
            "partition",
            &["partition", "bank.trace", "--cores", "2", "--requests", "2"],
        ),
    ] {
        for (machine, file) in [("tiny.toml", "a.json"), ("roomy.toml", "b.json")] {
            let words = [words, &["--json", "--machine", machine]].concat();
            std::fs::write(path.join(file), printed(path, &words)).unwrap();
        }
        let told = differing_json(path, &WORDS);
        assert_eq!(told["kind"], kind);
        let figures = told["figures"].as_array().unwrap();
        let is_better = |of: &&Value| {
            let is_of_l2 = of["name"].as_str().unwrap().contains("L2 misses");
            is_of_l2 && of["ratio"].as_f64().is_some_and(|ratio| ratio < 1.0)
        };
        assert!(
            figures.iter().any(|of| is_better(&of)),
            "{kind}: {figures:#?}"
        );
        assert_same(path, &["b.json", "b.json"]);
    }
}

/// Returns the counters of a replay with this number of L2 misses.
fn counters(l2: u64) -> Value {
    let kind = json!({
        "accesses": 9, "hits": 0, "misses": 9, "cold": 9, "capacity": 0, "coherence": 0,
        "inclusion": 0,
    });
    let level = |misses: u64| {
        json!({
            "accesses": 90, "hits": 90 - misses, "misses": misses, "fetch_misses": misses,
            "data_misses": 0, "coherence_misses": 0, "fetch": kind, "load": kind, "store": kind,
        })
    };
    json!({
        "l1i": level(20), "l1d": level(20), "l2": level(l2), "l3": level(1), "transfers": 0,
        "hit_modified": 0, "invalidated_lines": 0, "cycles": 1000,
    })
}

#[test]
fn plans_that_go_by_an_argument_are_compared_with_their_misses() {
    let result = |after: u32, l2: u64| {
        json!({
            "machine": "tiny", "trace": "t", "cores": 2, "seed": 1, "objective": "l2",
            "candidates": 3, "replays": 9, "verdict": "good", "hops_per_request": 2.0,
            "searched": {"requests": 10, "baseline": counters(40), "split": counters(l2)},
            "held_out": {"requests": 10, "baseline": counters(50), "split": counters(l2)},
            "break_even_hop_cycles": null, "name": "find", "calls": 7, "known": 7, "objects": 2,
            "after": after, "request": null, "carriers": [],
            "plan": [{
                "module": "/usr/bin/server", "build_id": "0a1b", "offset": 64, "symbol": "find",
                "by": "argument 1", "after": after, "mode": "enter",
            }],
        })
    };
    let folder = folder("partition-by-argument", &result(3, 10), &result(4, 25));
    let told = differing_json(folder.path(), &WORDS);
    assert_eq!(told["kind"], "partition-by-argument");
    let keys = json!([{"name": "after", "a": "3", "b": "4"}]);
    assert_eq!(told["migrations"]["changed"][0]["keys"], keys);
    let ratio = figure(&told, "held out: L2 misses ratio");
    assert_eq!(ratio, [json!(0.2), json!(0.5)]);
    assert_same(folder.path(), &["a.json", "a.json"]);
}

#[test]
fn results_of_different_commands_are_not_compared() {
    let folder = folder(
        "measure",
        &measured(1.0, [0.9, 1.1]),
        &measured(1.0, [0.9, 1.1]),
    );
    let other = optimized(1.5, [1.4, 1.6], 0).to_string();
    std::fs::write(folder.path().join("c.json"), other).unwrap();
    let output = diff(folder.path(), &["a.json", "c.json"]);
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stderr).unwrap();
    let said = "a.json is a result of `corehop measure`, and c.json is a result of `corehop \
                optimize`";
    assert!(told.contains(said), "{told}");
}
