//! `corehop replay` on a small trace: its output for people and scripts, and its refusals.

use crate::conforming;
use crate::definitions;
use corehop_plan::{Destination, Mode, Plan, PlannedFunction};
use corehop_traces::{EndReason, Kind, ThreadId, WriterOptions};
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

const CODE: u64 = 0x40_0000;

/// An L2 of five lines, so that two phases of three lines each evict each other.
const MACHINE: &str = "\
name = \"tiny\"
cores = 2
line_size_bytes = 64
memory_latency_cycles = 200
hop_cost_cycles = 10
l1i = { size_bytes = 64, ways = 1, latency_cycles = 4 }
l1d = { size_bytes = 128, ways = 2, latency_cycles = 4 }
l2 = { size_bytes = 320, ways = 5, latency_cycles = 12 }
l3 = { size_bytes = 4096, ways = 4, latency_cycles = 40 }
";

/// A folder with a machine, a trace and a plan for it.
fn folder(requests: bool) -> TempDir {
    folder_of_threads(requests, 1)
}

/// Does the same with four requests that alternate between this number of threads, and adds a
/// larger machine.
fn folder_of_threads(requests: bool, threads: u32) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let roomy = MACHINE.replace("tiny", "roomy");
    let roomy = roomy.replace("320, ways = 5", "1024, ways = 8");
    for (file, machine) in [("tiny.toml", MACHINE), ("roomy.toml", &roomy)] {
        std::fs::write(folder.path().join(file), machine).unwrap();
    }
    record(&folder.path().join("bank.trace"), requests, threads).unwrap();
    corehop_plan::write(&plan("0a1b", 2), &folder.path().join("split.toml")).unwrap();
    folder
}

/// Four requests of two phases, each with a function, one line of code, and two of data. Both
/// phases store to one shared line.
fn record(path: &Path, requests: bool, threads: u32) -> Result<(), corehop_traces::Error> {
    let (mut writer, module) = definitions::begin(path, &WriterOptions::default(), "parse", CODE)?;
    for function in [("parse", 0), ("commit", 0x40)] {
        definitions::function(&mut writer, (module, CODE), function, None)?;
    }
    let threads = (1..=threads).map(|id| writer.thread(1, id));
    let threads: Vec<ThreadId> = threads.collect::<Result<_, _>>()?;
    for (&thread, stamp) in threads.iter().cycle().zip(1..=4) {
        writer.stamp(thread, stamp)?;
        if requests {
            writer.request(thread)?;
        }
        for phase in 0..2 {
            writer.execution(thread, phase as u32)?;
            writer.data(thread, 0, Kind::Load, 8, 0x1000 * (phase + 1))?;
            writer.data(thread, 0, Kind::Load, 8, 0x1000 * (phase + 1) + 0x40)?;
            writer.data(thread, 0, Kind::Store, 8, 0x9000)?;
        }
    }
    for &thread in threads.iter().filter(|_| requests) {
        writer.request(thread)?;
    }
    writer.finish(EndReason::RequestsReached)?;
    Ok(())
}

fn plan(build_id: &str, cores: u32) -> Plan {
    let function = |symbol: &str, offset: u64, core: u32| PlannedFunction {
        module: "/usr/bin/server".into(),
        build_id: build_id.into(),
        offset,
        symbol: symbol.into(),
        to: Destination::Core(core),
        mode: Mode::Enter,
    };
    Plan {
        version: corehop_plan::VERSION,
        machine: "tiny".into(),
        trace: "bank.trace".into(),
        cores,
        seed: 1,
        carriers_refuse: None,
        request: None,
        expected: None,
        functions: vec![function("parse", 0, 0), function("commit", 0x40, 1)],
    }
}

fn replay(folder: &TempDir, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(["replay", "bank.trace", "--machine", "tiny.toml"])
        .args(arguments)
        .current_dir(folder.path())
        .output()
        .unwrap()
}

#[track_caller]
fn said(folder: &TempDir, arguments: &[&str]) -> String {
    let output = replay(folder, arguments);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn refused(folder: &TempDir, arguments: &[&str]) -> String {
    let output = replay(folder, arguments);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn without_a_plan_it_counts_by_level() {
    insta::assert_snapshot!(said(&folder(true), &[]));
}

#[test]
fn a_plan_is_shown_beside_everything_on_one_core() {
    let folder = folder(true);
    insta::assert_snapshot!(said(&folder, &["--plan", "split.toml", "--warm-up", "2"]));
}

#[test]
fn a_plan_for_a_call_only_hops_back() {
    let folder = folder(true);
    let hops = |mode| {
        let mut only = plan("0a1b", 2);
        only.functions.remove(0);
        only.functions[0].mode = mode;
        corehop_plan::write(&only, &folder.path().join("split.toml")).unwrap();
        let said = said(&folder, &["--plan", "split.toml", "--json"]);
        let said = conforming::read(&["replay"], &said);
        said["hops"].as_u64().unwrap()
    };
    // The thread stays at the first call; or it migrates four times, and migrates back except for
    // the last.
    assert_eq!((hops(Mode::Enter), hops(Mode::Call)), (1, 7));
}

#[test]
fn a_plan_that_does_not_pay_is_called_so() {
    for (baseline, threads, other) in [
        ("one-core", 1, "one core"),
        ("thread-per-core", 2, "a thread per core"),
    ] {
        let folder = folder_of_threads(true, threads);
        std::fs::rename(
            folder.path().join("roomy.toml"),
            folder.path().join("tiny.toml"),
        )
        .unwrap();
        let plan = ["--plan", "split.toml", "--baseline", baseline];
        let said = said(&folder, &[&plan[..], &["--warm-up", "2"]].concat());
        let expected = format!("\nThe plan does not reduce L2 misses, compared with {other}.\n");
        assert!(said.ends_with(&expected), "{said}");
    }
}

#[test]
fn several_machines_are_shown_one_after_the_other_and_then_in_short() {
    let folder = folder(true);
    insta::assert_snapshot!(said(&folder, &["--machine", "roomy.toml"]));
    let arguments = ["--machine", "roomy.toml", "--plan", "split.toml"];
    insta::assert_snapshot!(said(&folder, &arguments));
}

#[test]
fn scripts_get_an_array_of_what_each_machine_counts_alone() {
    let folder = folder_of_threads(true, 2);
    let plan = ["--plan", "split.toml", "--baseline", "thread-per-core"];
    for arguments in [&plan[..], &plan[2..], &[]] {
        let json = |more: &[&str]| {
            let said = said(&folder, &[arguments, &["--json"], more].concat());
            conforming::read(&["replay"], &said)
        };
        let [all, tiny] = [&["--machine", "roomy.toml,tiny.toml"][..], &["--jobs", "1"]].map(json);
        let machines = [0, 1, 2].map(|index| all[index]["machine"].as_str().unwrap());
        assert_eq!(machines, ["tiny", "roomy", "tiny"]);
        assert_eq!([&all[0], &all[2]], [&tiny; 2]);
        let counts = |of: &serde_json::Value| [of["counters"].clone(), of["baseline"].clone()];
        assert_ne!(counts(&all[1]), counts(&tiny));
    }
}

#[test]
fn a_thread_per_core_is_what_a_plan_can_be_compared_with() {
    let folder = folder_of_threads(true, 2);
    let arguments = ["--plan", "split.toml", "--baseline", "thread-per-core"];
    insta::assert_snapshot!(said(&folder, &arguments));
}

#[test]
fn without_a_plan_threads_use_as_many_cores_as_there_are() {
    let cores = |threads| {
        let folder = folder_of_threads(true, threads);
        let said = said(&folder, &["--baseline", "thread-per-core", "--json"]);
        let object = conforming::read(&["replay"], &said);
        assert_eq!(object["placement"], "thread-per-core");
        object["cores"].as_u64().unwrap()
    };
    assert_eq!([1, 2, 4].map(cores), [1, 2, 2]);
}

#[test]
fn a_detailed_replay_is_of_one_machine_and_follows_the_baseline() {
    let folder = folder_of_threads(true, 2);
    let output = replay(&folder, &["--detail", "--machine", "roomy.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "corehop: --detail works with one machine at a time\n  remedy: name one --machine\n"
    );
    let arguments = ["--detail", "--json", "--baseline", "thread-per-core"];
    let object = conforming::read(&["replay"], said(&folder, &arguments));
    assert_eq!(object["cores"], 2);
    assert_eq!(object["segments"][0]["counters"], object["counters"]);
}

#[test]
fn scripts_get_exactly_these_keys() {
    let said = said(
        &folder(true),
        &["--json", "--plan", "split.toml", "--requests", "1,2-3"],
    );
    assert_eq!(said.lines().count(), 1);
    let object = conforming::read(&["replay"], &said);
    insta::assert_snapshot!(serde_json::to_string_pretty(&object).unwrap());
}

#[test]
fn scripts_get_the_same_counts_as_people() {
    let said = said(&folder(true), &["--json"]);
    let object = conforming::read(&["replay"], &said);
    assert_eq!(object["cores"], 1);
    assert_eq!(object["hops"], 0);
    assert_eq!(object["accesses"], 32);
    assert_eq!(object["counters"]["l2"]["misses"], 25);
}

#[test]
fn a_trace_without_requests_has_none_to_choose() {
    let expected = "corehop: bank.trace: the trace has no requests, so none can be chosen or used \
                    to warm up: replay all of it, or record with --request-at\n";
    assert_eq!(refused(&folder(false), &["--warm-up", "1"]), expected);
    assert_eq!(refused(&folder(false), &["--requests", "0"]), expected);
}

#[test]
fn a_request_beyond_the_last_is_refused_however_far() {
    assert_eq!(
        refused(&folder(true), &["--requests", "2,3-4294967295"]),
        "corehop: bank.trace: request 4294967295 does not exist: the trace has 4 requests, \
         numbered from 0\n"
    );
}

#[test]
fn a_list_that_is_none_is_a_mistake_of_usage() {
    for list in ["", "3-", "5-3", "one", "1,,2", "-1"] {
        let output = replay(&folder(true), &[&format!("--requests={list}")]);
        assert_eq!(output.status.code(), Some(2), "{list}");
    }
}

#[test]
fn a_plan_for_another_build_is_refused() {
    let folder = folder(true);
    corehop_plan::write(&plan("beef", 2), &folder.path().join("split.toml")).unwrap();
    assert_eq!(
        refused(&folder, &["--plan", "split.toml"]),
        "corehop: split.toml: function parse is planned for build beef of /usr/bin/server, but \
         the trace holds build '0a1b' of it: replay the trace of that build, or search this one\n"
    );
}

#[test]
fn a_plan_for_more_cores_than_the_machine_has_is_refused() {
    let folder = folder(true);
    corehop_plan::write(&plan("0a1b", 3), &folder.path().join("split.toml")).unwrap();
    assert_eq!(
        refused(&folder, &["--plan", "split.toml"]),
        "corehop: split.toml: the split uses 3 cores, but machine tiny has 2: choose a larger \
         machine, or search for fewer cores\n"
    );
}

#[test]
fn an_unknown_machine_is_told_the_bundled_ones() {
    let output = Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(["replay", "bank.trace", "--machine", "cray-1"])
        .current_dir(folder(true).path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8(output.stderr).unwrap();
    let begins = "corehop: unknown machine 'cray-1', and no such file: use one of \
                  xeon-e5-2620-v4, xeon-d-1540, ";
    let ends = ", `host` for this machine, or the path of a machine file\n";
    assert!(said.starts_with(begins) && said.ends_with(ends), "{said}");
}

#[test]
fn a_missing_trace_is_named() {
    let folder = folder(true);
    std::fs::remove_file(folder.path().join("bank.trace")).unwrap();
    let said = refused(&folder, &[]);
    assert!(
        said.starts_with("corehop: bank.trace: cannot read the trace: "),
        "{said}"
    );
}

#[test]
fn in_detail_it_tells_functions_distances_and_working_sets() {
    let said = said(&folder(true), &["--detail", "--top", "1"]);
    let (_, detail) = said.split_at(said.find("accesses  L1I misses").unwrap());
    insta::assert_snapshot!(detail);
}

#[test]
fn a_request_with_none_before_it_shares_nothing_to_speak_of() {
    let said = said(&folder(true), &["--detail", "--requests", "2"]);
    assert!(said.contains("accessed by 1 request"), "{said}");
    assert!(!said.contains("previous request"), "{said}");
}

#[test]
fn a_plan_can_name_segments_that_share_one_core() {
    let said = said(&folder(true), &["--detail", "--segments", "split.toml"]);
    let from = said.find("segment: from entering").unwrap();
    let to = said.find("other lines in between").unwrap();
    insta::assert_snapshot!(&said[from..to]);
}

#[test]
fn in_detail_scripts_get_exactly_these_keys_more() {
    let arguments = [
        "--json",
        "--detail",
        "--plan",
        "split.toml",
        "--warm-up",
        "1",
    ];
    let said = said(&folder(true), &arguments);
    let mut object = conforming::read(&["replay"], &said);
    let totals = object["counters"].take();
    object["baseline"]["counters"].take();
    for part in ["functions", "segments"] {
        let mut misses = 0;
        for counted in object[part].as_array_mut().unwrap() {
            let counters = counted["counters"].take();
            misses += counters["l2"]["misses"].as_u64().unwrap();
            assert_eq!(keys(&counters), keys(&totals));
        }
        assert_eq!(totals["l2"]["misses"], misses);
    }
    insta::assert_snapshot!(serde_json::to_string_pretty(&object).unwrap());
}

fn keys(object: &serde_json::Value) -> Vec<&String> {
    object.as_object().unwrap().keys().collect()
}

#[test]
fn what_only_a_detailed_replay_uses_is_refused_without_it() {
    for arguments in [&["--top", "3"][..], &["--segments", "split.toml"]] {
        assert_eq!(replay(&folder(true), arguments).status.code(), Some(2));
    }
}

#[test]
fn a_plan_that_names_segments_of_another_build_is_refused() {
    let folder = folder(true);
    corehop_plan::write(&plan("beef", 2), &folder.path().join("names.toml")).unwrap();
    let said = refused(&folder, &["--detail", "--segments", "names.toml"]);
    assert!(said.starts_with("corehop: names.toml: function parse is planned for build beef"));
}

/// A TLB of two pages, and a second level of four.
const TLBS: &str = include_str!("machines/tlbs.toml");

fn folder_with_tlbs() -> TempDir {
    let folder = folder(true);
    std::fs::write(folder.path().join("tiny.toml"), [MACHINE, TLBS].join("\n")).unwrap();
    folder
}

#[test]
fn tlbs_are_told_beside_the_caches() {
    let said = said(&folder_with_tlbs(), &["--tlb"]);
    let from = said.find("address translation").unwrap();
    insta::assert_snapshot!(&said[from..]);
}

#[test]
fn tlbs_are_compared_with_the_baselines_and_told_by_core() {
    let said = said(&folder_with_tlbs(), &["--tlb", "--plan", "split.toml"]);
    let from = said.find("address translation").unwrap();
    insta::assert_snapshot!(&said[from..]);
}

#[test]
fn tlbs_are_told_to_scripts_in_total_by_core_and_by_function() {
    let arguments = ["--json", "--tlb", "--detail", "--plan", "split.toml"];
    let said = said(&folder_with_tlbs(), &arguments);
    let object = conforming::read(&["replay"], &said);
    let walks = |tlb: &serde_json::Value| {
        let of = |used: &str| tlb[used]["walks"].as_u64().unwrap();
        (of("fetch"), of("data"), tlb["walk_loads"].as_u64().unwrap())
    };
    let sum = |parts: &serde_json::Value, key: Option<&str>| {
        let parts = parts.as_array().unwrap().iter();
        let each = parts.map(|part| walks(key.map_or(part, |key| &part[key])));
        each.fold((0, 0, 0), |sum, of| {
            (sum.0 + of.0, sum.1 + of.1, sum.2 + of.2)
        })
    };
    let all = walks(&object["tlb"]);
    assert!(all.0 > 0 && all.1 > 0 && all.2 > all.0, "{all:?}");
    assert_eq!(sum(&object["tlb"]["per_core"], None), all);
    assert_eq!(sum(&object["functions"], Some("tlb")), all);
    assert_eq!(sum(&object["segments"], Some("tlb")), all);
    assert_eq!(object["tlb"]["per_core"].as_array().unwrap().len(), 2);
    let baseline = &object["baseline"]["tlb"];
    assert_eq!(sum(&baseline["per_core"], None), walks(baseline));
}

#[test]
fn a_machine_with_tlbs_counts_as_ever_without_the_option() {
    let plain = said(&folder(true), &["--plan", "split.toml"]);
    let with_tlbs = said(&folder_with_tlbs(), &["--plan", "split.toml"]);
    assert_eq!(plain, with_tlbs);
}

#[test]
fn huge_pages_spare_walks() {
    let walks = |huge: &[&str]| {
        let arguments = [&["--json", "--tlb"], huge].concat();
        let object = conforming::read(&["replay"], said(&folder_with_tlbs(), &arguments));
        let of = |used: &str| object["tlb"][used]["walks"].as_u64().unwrap();
        (of("fetch"), of("data"))
    };
    let small = walks(&[]);
    // Code is in one page of 2 MiB, and data in another.
    assert_eq!(walks(&["--huge-pages", "all"]), (1, 1));
    assert_eq!(walks(&["--huge-pages", "0x0-0xfff,code"]), (1, 1));
    let code = walks(&["--huge-pages", "code"]);
    assert!(code.1 > 1 && code.1 <= small.1, "{code:?} {small:?}");
}

#[test]
fn tlbs_that_no_file_says_are_refused_and_so_are_regions_that_are_none() {
    assert_eq!(
        refused(&folder(true), &["--tlb"]),
        "corehop: machine tiny has no TLBs\n  remedy: add [translation] to its file \
         (docs/reference/machines.md), or name another machine\n"
    );
    for arguments in [
        &["--huge-pages", "all"][..],
        &["--tlb", "--huge-pages", "heap"],
        &["--tlb", "--system-calls", "all@1"],
    ] {
        let output = replay(&folder_with_tlbs(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}
