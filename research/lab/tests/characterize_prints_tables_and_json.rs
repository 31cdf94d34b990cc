//! `corehop-lab characterize` on a small trace of two threads, and on a bundled sample of four
//! connections.

use crate::{LAB, conforming, product, server};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// All commands except one belong to the product.
fn corehop(arguments: &[&str]) -> Output {
    let mut command = match arguments[0] {
        "characterize" => Command::new(LAB),
        _ => Command::new(product()),
    };
    command
        .args(arguments)
        .output()
        .expect("the command starts")
}

/// Returns the output of the subcommand.
fn said(arguments: &[&str]) -> String {
    let output = corehop(arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    conforming::read(arguments, said(arguments))
}

fn small(folder: &Path) -> PathBuf {
    let path = folder.join("bank.trace");
    server::record(&path).unwrap();
    path
}

#[test]
fn a_small_server_is_told_as_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = small(folder.path());
    let path = path.to_str().unwrap();
    let text = said(&["characterize", path, "--requests", "1", "--correlate"]);
    insta::assert_snapshot!(text.replace(path, "bank.trace"));
}

#[test]
fn a_function_that_was_not_entered_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = small(folder.path());
    let path = path.to_str().unwrap();
    let output = corehop(&[
        "characterize",
        path,
        "--requests",
        "1",
        "--functions",
        "parse,x",
    ]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("no function 'x' was entered in the trace"),
        "{said}"
    );
}

#[test]
fn the_gain_told_of_a_function_is_that_of_its_plan() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (trace, plan) = (at("four.trace"), at("plan.toml"));
    said(&["sample", "mariadb-tpcc-4", "-o", &trace]);
    let told = json(&["characterize", &trace, "--functions", "parse_sql", "--json"]);
    assert_eq!(told["sessions"]["count"], 4);
    assert_eq!(told["sessions"]["are"], "connections");
    let function = &told["functions"][0];
    let own = |phase: &str| function["data"][phase]["both"]["lines"].as_u64().unwrap();
    assert!(own("phase_local") > 0 && own("phase_global") > own("phase_local"));
    // The same plan, written by hand and replayed on the same requests.
    let module = function["module"].as_str().unwrap();
    let info = json(&["info", &trace, "--json"]);
    let modules = info["modules"].as_array().unwrap();
    let build_id = &modules.iter().find(|of| of["path"] == module).unwrap()["build_id"];
    let text = format!(
        "version = 1\nmachine = \"xeon-e5-2620-v4\"\ntrace = \"four\"\ncores = 2\nseed = 1\n\
         [[function]]\nmodule = \"{module}\"\nbuild_id = {build_id}\noffset = {}\n\
         symbol = {}\ncore = 1\nmode = \"call\"\n",
        function["offset"], function["symbol"]
    );
    std::fs::write(&plan, text).unwrap();
    // Ten requests are searched; half of the other 230 are the warm-up before the rest is counted.
    let seen = json(&[
        "replay",
        &trace,
        "--plan",
        &plan,
        "--json",
        "--warm-up",
        "115",
        "--requests",
        &held_out(&trace),
    ]);
    assert_eq!(told["held_out_requests"], 115);
    assert_eq!(function["gain"]["counters"], seen["counters"]);
    assert_eq!(function["gain"]["hops"], seen["hops"]);
    assert_eq!(told["one_core"]["counters"], seen["baseline"]["counters"]);
}

/// Returns the requests that are not searched, computed as in the search.
fn held_out(trace: &str) -> String {
    let trace = corehop_traces::Trace::open(trace.as_ref()).unwrap();
    let searched = corehop_partitioner::requests::Searched::Sample(10);
    let parts = corehop_partitioner::requests::TrainTestSplit::of(trace.requests(), searched, 1);
    let parts = parts.unwrap();
    let all = parts.warm_up.iter().chain(&parts.held_out);
    all.map(ToString::to_string).collect::<Vec<_>>().join(",")
}

#[test]
fn of_one_connection_session_classes_cannot_be_told() {
    let names = ["characterize", "--functions", "mysql_execute_command"];
    let text = said(&names);
    assert!(
        text.contains("one session: which lines are session-local"),
        "{text}"
    );
    let told = json(&[&names[..], &["--json"]].concat());
    assert_eq!(told["sessions"]["told_apart"], false);
    let local = &told["functions"][0]["data"]["phase_local"];
    assert!(local["session_local"].is_null() && local["session_global"].is_null());
    assert!(local["both"]["lines"].as_u64().unwrap() > 0);
}

#[test]
fn samples_of_a_profiler_are_told_and_a_bad_line_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("perf.txt");
    let text = include_str!("samples/mariadbd.perf");
    std::fs::write(&path, text).unwrap();
    let name = path.to_str().unwrap();
    let asked = [
        "characterize",
        "--perf-script",
        name,
        "--functions",
        "parse_sql",
    ];
    let told = said(&asked);
    assert!(
        told.contains("5 samples of 2 threads, 2 dropped; 3 data lines"),
        "{told}"
    );
    let told = json(&[&asked[..], &["--json"]].concat());
    let shared = &told["functions"][0]["data"]["phase_local"]["session_global"];
    assert_eq!(
        (&shared["lines"], &shared["accesses"]),
        (&1.into(), &3.into())
    );
    std::fs::write(&path, format!("{text}mariadbd 1\n")).unwrap();
    let output = corehop(&asked);
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("line 31: no event, which ends with a colon"),
        "{said}"
    );
}

#[test]
fn one_access_in_one_is_the_trace_and_one_in_more_says_how_wrong_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = small(folder.path());
    let path = path.to_str().unwrap();
    let told = |every: &str| {
        let told = json(&[
            "characterize",
            path,
            "--requests",
            "1",
            "--sample",
            every,
            "--json",
        ]);
        told["functions"][0]["sampled"]["PL/SG"]["share_of_lines"].clone()
    };
    let number = |of: &Value, key: &str| of[key].as_f64().unwrap();
    let (all, few) = (told("1"), told("301"));
    assert_eq!((number(&all, "exact"), number(&few, "exact")), (1.0, 1.0));
    assert!(
        number(&all, "error").abs() < 1e-9 && number(&all, "half_width") < 1e-9,
        "{all}"
    );
    // Each line is sampled once, so none looks shared in any sampling; the confidence interval does
    // not show the bias.
    assert_eq!(
        (number(&few, "error"), number(&few, "half_width")),
        (-1.0, 0.0)
    );
}
