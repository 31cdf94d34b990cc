//! `corehop replay --timed` on a small trace: its output and its refusals.

use crate::conforming;
use crate::definitions;
use corehop_plan::{Destination, Mode, Plan, PlannedFunction};
use corehop_traces::{EndReason, Kind, WriterOptions};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

const CODE: u64 = 0x40_0000;

const MACHINE: &str = "\
name = \"tiny\"
cores = 4
line_size_bytes = 64
memory_latency_cycles = 200
hop_cost_cycles = 10
l1i = { size_bytes = 64, ways = 1, latency_cycles = 4 }
l1d = { size_bytes = 128, ways = 2, latency_cycles = 4 }
l2 = { size_bytes = 320, ways = 5, latency_cycles = 12 }
l3 = { size_bytes = 4096, ways = 4, latency_cycles = 40 }
";

/// A folder with a machine, a trace of two connections of three whole requests each, and a plan.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("tiny.toml"), MACHINE).unwrap();
    record(&path.join("bank.trace")).unwrap();
    let function = |symbol: &str, offset: u64, core: u32| PlannedFunction {
        module: "/usr/bin/server".into(),
        build_id: "0a1b".into(),
        offset,
        symbol: symbol.into(),
        to: Destination::Core(core),
        mode: Mode::Enter,
    };
    let plan = Plan {
        version: corehop_plan::VERSION,
        machine: "tiny".into(),
        trace: "bank.trace".into(),
        cores: 2,
        seed: 1,
        carriers_refuse: None,
        request: None,
        expected: None,
        functions: vec![function("parse", 0, 0), function("commit", 0x40, 1)],
    };
    corehop_plan::write(&plan, &path.join("split.toml")).unwrap();
    folder
}

fn record(path: &Path) -> Result<(), corehop_traces::Error> {
    record_of(path, &["parse", "commit"], |_| 1)
}

/// Records requests that execute the first function, and then the one that `then` returns for the
/// stamp of the request.
fn record_of(
    path: &Path,
    functions: &[&str],
    then: fn(u64) -> u32,
) -> Result<(), corehop_traces::Error> {
    let options = WriterOptions::default();
    let (mut writer, module) = definitions::begin(path, &options, "parse", CODE)?;
    for (number, &name) in functions.iter().enumerate() {
        definitions::function(
            &mut writer,
            (module, CODE),
            (name, number as u64 * 0x40),
            None,
        )?;
    }
    let threads = [writer.thread(1, 1)?, writer.thread(1, 2)?];
    for stamp in 1..=8 {
        let thread = threads[stamp as usize % 2];
        writer.stamp(thread, stamp)?;
        writer.request(thread)?;
        for phase in 0..2 {
            let function = if phase == 0 { 0 } else { then(stamp) };
            writer.execution(thread, function)?;
            writer.data(thread, 0, Kind::Load, 8, 0x1000 * (phase + 1))?;
            writer.data(thread, 0, Kind::Load, 8, 0x1000 * (phase + 1) + 0x40)?;
            writer.data(
                thread,
                0,
                Kind::Store,
                8,
                0x9000 + u64::from(thread.0) * 0x40,
            )?;
        }
    }
    writer.finish(EndReason::RequestsReached)?;
    Ok(())
}

fn timed(arguments: &[&str]) -> Output {
    let folder = folder();
    Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(["replay", "bank.trace", "--machine", "tiny.toml", "--timed"])
        .args(arguments)
        .current_dir(folder.path())
        .output()
        .unwrap()
}

#[track_caller]
fn said(arguments: &[&str]) -> String {
    let output = timed(arguments);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn refused(exit: i32, arguments: &[&str]) -> String {
    let output = timed(arguments);
    assert_eq!(output.status.code(), Some(exit));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    String::from_utf8(output.stderr).unwrap()
}

const ALL: &str = "free,pinned,split,split-if-idle,teams,wide,steal,steal-random";

#[test]
fn every_scheduler_has_a_row_for_every_number_of_connections() {
    let said = said(&[
        "--plan",
        "split.toml",
        "--scheduler",
        ALL,
        "--connections",
        "1,2",
    ]);
    for name in ALL.split(',') {
        let rows = said
            .lines()
            .filter(|row| row.split(' ').next().unwrap().starts_with(name));
        assert!(rows.count() >= 2, "{name}: {said}");
    }
}

#[test]
fn one_setting_is_told_in_full() {
    let said = said(&[
        "--scheduler",
        "pinned",
        "--cores",
        "2",
        "--think-time",
        "100",
    ]);
    insta::assert_snapshot!(said);
}

#[test]
fn scripts_get_the_same_whatever_the_number_of_jobs() {
    let arguments = [
        "--plan",
        "split.toml",
        "--rate",
        "900",
        "--seed",
        "5",
        "--json",
    ];
    let one = said(&[&arguments[..], &["--jobs", "1"]].concat());
    assert_eq!(one, said(&[&arguments[..], &["--jobs", "2"]].concat()));
    let object = conforming::read(&["replay", "--timed"], &one);
    assert_eq!(object["load"]["loop"], "open");
    let names: Vec<&str> = object["settings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|setting| setting["scheduler"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["free", "pinned", "split"]);
    let split = &object["settings"][2];
    assert_eq!(split["requests"], 6);
    // One hop to each function per request, after the first request, which warms up.
    assert_eq!(split["hops"], 12);
}

/// Returns the output for two requests on one core by a core model, and their cycles.
fn two_requests(model: &str) -> (Value, u64) {
    let alone = [
        "--connections",
        "1",
        "--cores",
        "1",
        "--scheduler",
        "pinned",
    ];
    let two = ["--warm-up", "2", "--count", "2", "--json", "--core-model"];
    let said = said(&[&alone[..], &two, &[model]].concat());
    let object = conforming::read(&["replay", "--timed"], &said);
    let cycles = object["settings"][0]["elapsed_cycles"].as_u64();
    (object, cycles.unwrap())
}

#[test]
fn a_core_model_says_what_misses_cost() {
    let (object, in_order) = two_requests("in-order");
    assert_eq!(object["core_model"], "in-order");
    // A request fetches 2 lines and loads 4, all from the L3, and stores to one twice, in the L2.
    assert_eq!(in_order, 2 * (6 * 40 + 2 * 12));
    let (object, interval) = two_requests("interval");
    assert_eq!(object["core_model"], "interval");
    assert_eq!(object["dependences"], false);
    assert_eq!(object["core"]["reorder_window_instructions"], 224);
    // The loads overlap, and nothing waits for the stores except for the last, at the request's
    // end. Four instructions take a cycle.
    assert_eq!(interval, 2 * (2 * 40 + 40 + 12) + 1);
}

#[test]
fn the_interval_model_is_told_with_its_figures() {
    let said = said(&["--core-model", "interval", "--scheduler", "pinned"]);
    let expected = "interval model: 4 instructions per cycle, a window of 224 instructions, a \
                    buffer of 56 stores\nthe trace does not say what addresses come from: loads \
                    within a window all overlap\n";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn a_prefetcher_is_told_with_what_became_of_its_prefetches() {
    let alone = [
        "--scheduler",
        "pinned",
        "--cores",
        "1",
        "--connections",
        "1",
    ];
    let counted = ["--warm-up", "0", "--count", "1", "--prefetcher"];
    let of = |more: &[&str]| said(&[&alone[..], &counted, more].concat());
    insta::assert_snapshot!(of(&["next-line"]));
    for name in ["none", "next-line", "next-line-mid", "stride"] {
        let object = conforming::read(&["replay", "--timed"], of(&[name, "--json"]));
        assert_eq!(object["prefetcher"], name);
        let prefetches = &object["settings"][0]["prefetches"];
        assert_eq!(
            &object["settings"][0]["per_core"][0]["prefetches"],
            prefetches
        );
        // Each miss prefetches the next line, and so does the second of each pair of loads, which
        // was prefetched. The L2 has room for five lines: of all others only the last two are still
        // there. Each code block has one instruction: its second load prefetches the line at the
        // same distance, and the first of these two is replaced. In the middle of the set,
        // prefetched lines are replaced sooner, so one line that would be prefetched is there.
        let (issued, useful, unused) = match name {
            "next-line" => (8, 2, 4),
            "next-line-mid" => (7, 2, 4),
            "stride" => (2, 0, 1),
            _ => (0, 0, 0),
        };
        assert_eq!(prefetches["issued"], issued);
        assert_eq!(prefetches["useful"], useful);
        assert_eq!(prefetches["unused"], unused);
    }
    assert_eq!(
        refused(2, &["--prefetcher", "markov"]).lines().next(),
        Some("error: invalid value 'markov' for '--prefetcher <PREFETCHER>'")
    );
}

#[test]
fn too_few_connections_are_told_with_what_repeating_means() {
    let said = refused(3, &["--connections", "3"]);
    let expected = "corehop: bank.trace: the trace has 2 connections (threads that serve \
                    requests), but 3 were requested: use at most 2, ";
    assert!(said.starts_with(expected), "{said}");
    assert!(said.contains("--repeat-connections; a repeated connection has the stack"));
    let output = timed(&["--connections", "3", "--repeat-connections"]);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let said = refused(2, &["--scheduler", "split"]);
    assert!(
        said.starts_with("corehop: scheduler split needs a plan"),
        "{said}"
    );
    let said = refused(2, &["--cores", "5"]);
    assert!(
        said.starts_with("corehop: 5 cores: machine tiny has 4"),
        "{said}"
    );
    let said = refused(2, &["--rate", "0"]);
    assert!(
        said.starts_with("corehop: 0 requests per million cycles"),
        "{said}"
    );
    let said = refused(
        3,
        &[
            "--scheduler",
            "split",
            "--plan",
            "split.toml",
            "--cores",
            "1",
        ],
    );
    assert!(
        said.starts_with("corehop: split.toml: the split uses 2 cores"),
        "{said}"
    );
    for unusable in [
        &["--scheduler", "fair"][..],
        &["--detail"],
        &["--requests", "1"],
        &["--machine", "tiny.toml"],
        &["--rate", "1", "--think-time", "1"],
    ] {
        assert_eq!(timed(unusable).status.code(), Some(2), "{unusable:?}");
    }
}

#[test]
fn translations_are_told_for_every_placement_of_pages() {
    let folder = folder();
    let tlbs = [MACHINE, include_str!("machines/tlbs.toml")].concat();
    std::fs::write(folder.path().join("tiny.toml"), tlbs).unwrap();
    let run = |more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_corehop"))
            .args(["replay", "bank.trace", "--machine", "tiny.toml", "--timed"])
            .args(["--tlb", "--scheduler", "free", "--random-pages", "1,2"])
            .args(more)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        String::from_utf8(output.stdout).unwrap()
    };
    insta::assert_snapshot!(run(&[]));
    let told = conforming::read(&["replay-timed"], run(&["--json"]));
    let settings = told["settings"].as_array().unwrap();
    let seeds: Vec<&Value> = settings.iter().map(|of| &of["random_pages"]).collect();
    assert_eq!(seeds, [1, 2]);
    for setting in settings {
        let cores = setting["per_core"].as_array().unwrap();
        let cycles = |of: &Value| of["translation_cycles"].as_u64().unwrap();
        assert_eq!(cycles(setting), cores.iter().map(cycles).sum::<u64>());
        assert!(cycles(setting) > 0);
    }
}

#[test]
fn mispredicted_branches_are_told_and_take_the_machines_cycles() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tiny.toml"), MACHINE).unwrap();
    let path = folder.path().join("bank.trace");
    record_of(&path, &["parse", "commit", "abort"], |stamp| {
        1 + u32::from(stamp % 3 == 0)
    })
    .unwrap();
    let said = |more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_corehop"))
            .args(["replay", "bank.trace", "--machine", "tiny.toml", "--timed"])
            .args(["--cores", "1", "--scheduler", "free", "--connections", "1"])
            .args(more)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    let told = |more: &[&str]| conforming::read(&["replay", "--timed"], said(more));
    let all = told(&["--json"]);
    let tage = told(&["--json", "--branch-predictor", "tage"]);
    assert_eq!(all["branch_predictor"], "none");
    assert_eq!(all["settings"][0]["branches"], Value::Null);
    assert_eq!(tage["branch_predictor"], "tage");
    let setting = &tage["settings"][0];
    assert_eq!(setting["branches"], setting["per_core"][0]["branches"]);
    let count = |key: &str| setting["branches"][key].as_u64().unwrap();
    let mispredicted =
        ["conditional", "indirect", "returns"].map(|way| count(&format!("{way}_mispredicted")));
    let mispredicted: u64 = mispredicted.iter().sum();
    assert!(mispredicted > 0, "{setting}");
    let cycles = |of: &Value| of["settings"][0]["elapsed_cycles"].as_u64().unwrap();
    let penalty = tage["core"]["mispredict_cycles"].as_u64().unwrap();
    assert_eq!(cycles(&tage), cycles(&all) + mispredicted * penalty);
    let text = said(&["--branch-predictor", "tage"]);
    assert!(
        text.contains("branch predictor tage, per request\n"),
        "{text}"
    );
}

#[test]
fn a_machine_without_tlbs_is_refused_with_them() {
    let said = refused(3, &["--tlb"]);
    assert!(
        said.starts_with("corehop: machine tiny has no TLBs"),
        "{said}"
    );
}
