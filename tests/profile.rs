//! `corehop profile` on a small trace: its output and its refusals.

use crate::conforming;
use crate::definitions;
use corehop_traces::{EndReason, Kind, OnCpu, WriterOptions};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

const CODE: u64 = 0x40_0000;

/// A folder with a machine, and a trace of this number of requests of two functions, alternating
/// between two threads. Both functions store to one line.
fn folder(requests: u32) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let machine = include_str!("machines/tiny.toml");
    std::fs::write(folder.path().join("tiny.toml"), machine).unwrap();
    let flat = machine.lines().filter(|line| !line.starts_with("l3"));
    let flat: Vec<&str> = flat.collect();
    std::fs::write(folder.path().join("flat.toml"), flat.join("\n")).unwrap();
    let tlbs = include_str!("machines/tlbs.toml");
    std::fs::write(folder.path().join("tlbs.toml"), [machine, tlbs].join("\n")).unwrap();
    record(&folder.path().join("bank.trace"), requests, None).unwrap();
    folder
}

/// Writes such a trace, of threads that run on these CPUs.
fn record(path: &Path, requests: u32, cpus: Option<[u16; 2]>) -> Result<(), corehop_traces::Error> {
    let (mut writer, module) = definitions::begin(path, &WriterOptions::default(), "parse", CODE)?;
    for function in [("parse", 0), ("commit", 0x40)] {
        definitions::function(&mut writer, (module, CODE), function, None)?;
    }
    let threads = [writer.thread(1, 1)?, writer.thread(1, 2)?];
    for (os_thread_id, cpu) in (1..).zip(cpus.into_iter().flatten()) {
        writer.cpus(&[OnCpu {
            process_id: 1,
            os_thread_id,
            since: 0,
            cpu,
        }])?;
    }
    for (&thread, stamp) in threads.iter().cycle().zip(1..=requests) {
        writer.stamp(thread, stamp.into())?;
        writer.request(thread)?;
        for phase in 0..2 {
            writer.execution(thread, phase)?;
            // A final store would look like a call.
            writer.data(thread, 0, Kind::Store, 8, 0x9000)?;
            writer.data(thread, 0, Kind::Load, 8, 0x1000 * (u64::from(phase) + 1))?;
        }
    }
    writer.finish(EndReason::RequestsReached)?;
    Ok(())
}

fn profile(folder: &TempDir, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(["profile", "bank.trace"])
        .args(if arguments.contains(&"--machine") {
            &[][..]
        } else {
            &["--machine", "tiny.toml"]
        })
        .args(arguments)
        .current_dir(folder.path())
        .output()
        .unwrap()
}

#[track_caller]
fn told(folder: &TempDir, arguments: &[&str]) -> String {
    let output = profile(folder, arguments);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn refused(folder: &TempDir, arguments: &[&str]) -> (i32, String) {
    let output = profile(folder, arguments);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    let told = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), told)
}

#[test]
fn tables_have_a_row_for_each_place_and_say_what_has_no_name() {
    let all = ["--by", "function,line,object", "--cores", "2"];
    insta::assert_snapshot!(told(&folder(4), &all));
}

#[test]
fn figures_can_be_means_of_a_request() {
    let folder = folder(4);
    let row = |told: &str| {
        let mut lines = told.lines().filter(|line| line.ends_with("  total"));
        let row = lines.next().unwrap();
        // Groups of digits are one space apart, columns at least two.
        let figures = row.split("  ").map(|figure| figure.trim().replace(' ', ""));
        let figures = figures.filter_map(|figure| figure.parse().ok());
        figures.collect::<Vec<f64>>()
    };
    let [whole, scaled] = [&[][..], &["--request-scaled"]].map(|of| row(&told(&folder, of)));
    assert_eq!(whole.len(), 5, "{whole:?}");
    let quarters = whole.iter().map(|figure| format!("{:.1}", figure / 4.0));
    let scaled = scaled.iter().map(|figure| format!("{figure:.1}"));
    assert_eq!(scaled.collect::<Vec<_>>(), quarters.collect::<Vec<_>>());
}

#[test]
fn json_has_every_view_and_its_sums() {
    let folder = folder(4);
    let words = [
        "--json",
        "--by",
        "object,function",
        "--limit",
        "1",
        "--cores",
        "2",
    ];
    let value = conforming::read(&["profile"], told(&folder, &words));
    let views = value["views"].as_array().unwrap();
    let by: Vec<_> = views
        .iter()
        .map(|view| view["by"].as_str().unwrap())
        .collect();
    assert_eq!(by, ["object", "function"]);
    assert!(
        views
            .iter()
            .all(|view| view["rows"].as_array().unwrap().len() == 1)
    );
    assert_eq!(views[1]["places"], 2);
    let (total, counters) = (&value["total"], &value["counters"]);
    for level in ["l1i", "l1d", "l2", "l3"] {
        assert_eq!(total[level]["misses"], counters[level]["misses"], "{level}");
    }
    assert_eq!(total["cycles"], counters["cycles"]);
    // Each thread takes the line from the other core.
    assert!(total["l1d"]["coherence"].as_u64() > Some(0), "{total}");
}

const TLBS: [&str; 3] = ["--tlb", "--machine", "tlbs.toml"];

#[test]
fn tlb_misses_and_walks_have_columns() {
    let words = [&TLBS[..], &["--by", "function,object", "--sort", "walks"]].concat();
    insta::assert_snapshot!(told(&folder(4), &words));
}

#[test]
fn tlb_misses_and_walks_have_keys_and_add_up() {
    let folder = folder(4);
    let json = |words: &[&str]| {
        let words = [&["--json", "--by", "function,object"], words].concat();
        conforming::read(&["profile"], told(&folder, &words))
    };
    let value = json(&TLBS);
    let keys = ["l1_misses", "walks"];
    let of = |tlb: &Value| keys.map(|key| tlb[key].as_u64().unwrap());
    let [fetch, data] = ["fetch", "data"].map(|used| of(&value["tlb"][used]));
    let total = [0, 1].map(|key| fetch[key] + data[key]);
    assert!(total.iter().all(|&of| of > 0), "{total:?}");
    assert_eq!(of(&value["total"]["tlb"]), total);
    for view in value["views"].as_array().unwrap() {
        let rows = view["rows"].as_array().unwrap().iter();
        let sum = rows.fold([0; 2], |sum, row| {
            let of_row = of(&row["cost"]["tlb"]);
            [0, 1].map(|key| sum[key] + of_row[key])
        });
        assert_eq!(sum, total);
    }
    assert_eq!(
        value["total"]["loads"],
        value["counters"]["l1d"]["load"]["accesses"]
    );
    // A huge page has all data, and one has the code.
    let huge = json(&[&TLBS[..], &["--huge-pages", "all"]].concat());
    assert_eq!(of(&huge["total"]["tlb"]), [2, 2]);

    let without = json(&["--machine", "tlbs.toml"]);
    assert_eq!(without, json(&[]));
    assert_eq!(without.get("tlb"), None);
    assert_eq!(without["total"].get("tlb"), None);
}

#[test]
fn translation_needs_a_machine_that_has_it() {
    let folder = folder(2);
    assert_eq!(
        refused(&folder, &["--tlb"]),
        (
            3,
            "corehop: machine tiny has no TLBs\n  remedy: add [translation] to its file \
             (docs/reference/machines.md), or name another machine\n"
                .into()
        )
    );
    assert_eq!(
        refused(&folder, &["--sort", "walks"]),
        (
            2,
            "corehop: --sort walks needs --tlb, which simulates page walks\n  remedy: add --tlb\n"
                .into()
        )
    );
    for more in [&["--suggest"][..], &["--what-if", "change.toml"]] {
        assert_eq!(refused(&folder, &[&TLBS[..], more].concat()).0, 2);
    }
    assert_eq!(refused(&folder, &["--huge-pages", "all"]).0, 2);
}

#[test]
fn lines_that_threads_share_are_listed_with_who_does_what_where() {
    insta::assert_snapshot!(told(&folder(4), &["--by", "sharing"]));
}

#[test]
fn sharing_needs_no_other_view_and_adds_up_with_what_is_not_shared() {
    let folder = folder(4);
    let words = ["--json", "--by", "sharing"];
    let value = conforming::read(&["profile"], told(&folder, &words));
    assert_eq!(value["views"].as_array().map(Vec::len), Some(0));
    // The machine has two cores, and the trace two threads.
    assert_eq!(value["cores"], 2);
    let sharing = &value["sharing"];
    let sum = |key: &str| {
        let [shared, rest] = ["shared", "not_shared"].map(|of| sharing[of][key].as_u64());
        shared.unwrap() + rest.unwrap()
    };
    let counters = &value["counters"];
    assert_eq!(Some(sum("transfers")), counters["transfers"].as_u64());
    assert_eq!(Some(sum("hit_modified")), counters["hit_modified"].as_u64());
    let coherence = counters["l2"]["coherence_misses"].as_u64();
    assert_eq!(Some(sum("coherence_misses")), coherence);
    // Both threads store to the same word in turn.
    assert_eq!(sharing["lines"], 1);
    let row = &sharing["rows"][0];
    assert_eq!(
        (&row["address"], &row["process"]),
        (&"0x9000".into(), &Value::Null)
    );
    assert_eq!(row["verdict"], "true-sharing");
    assert_eq!(row["cost"]["true_sharing"], 3);
    assert_eq!(
        (&row["storing_threads"], &row["loading_threads"]),
        (&2.into(), &0.into())
    );

    let one = ["--json", "--by", "sharing,function", "--cores", "1"];
    let one = conforming::read(&["profile"], told(&folder, &one));
    assert_eq!(one["views"][0]["by"], "function");
    // Threads share the line as before, but it does not move.
    assert_eq!(one["sharing"]["rows"][0]["cost"]["true_sharing"], 3);
    assert_eq!(one["sharing"]["shared"]["invalidated_lines"], 0);
    let without = conforming::read(&["profile"], told(&folder, &["--json"]));
    assert_eq!(without.get("sharing"), None);
    assert_eq!(without["cores"], 1);
}

#[test]
fn threads_have_the_cores_where_they_were_recorded() {
    let words = ["--json", "--by", "sharing", "--threads", "recorded"];
    for (cpus, cores, invalidated) in [([5, 9], 2, 3), ([9, 9], 1, 0)] {
        let folder = folder(0);
        let path = folder.path().join("bank.trace");
        std::fs::remove_file(&path).unwrap();
        record(&path, 4, Some(cpus)).unwrap();
        let value = conforming::read(&["profile"], told(&folder, &words));
        assert_eq!(value["cores"], cores);
        assert_eq!(value["counters"]["invalidated_lines"], invalidated);
    }
}

#[test]
fn what_cannot_be_profiled_is_refused_with_a_remedy() {
    let empty = folder(0);
    let (code, told) = refused(&empty, &[]);
    assert_eq!(code, 3);
    assert!(
        told.contains("bank.trace: the trace has no accesses to profile"),
        "{told}"
    );
    assert!(told.contains("record the server again"), "{told}");

    let folder = folder(2);
    let (code, told) = refused(&folder, &["--cores", "3"]);
    assert_eq!(code, 2);
    assert!(told.contains("--cores"), "{told}");
    let (code, told) = refused(&folder, &["--machine", "flat.toml", "--level", "l3"]);
    assert_eq!((code, told.contains("no L3")), (2, true), "{told}");
    let (code, told) = refused(&folder, &["--index", "physical", "--by", "object"]);
    assert_eq!(
        (code, told.contains("physical addresses")),
        (3, true),
        "{told}"
    );
    let (code, told) = refused(&folder, &["--threads", "recorded"]);
    let which = "bank.trace: the trace does not say on which CPUs threads ran";
    assert_eq!((code, told.contains(which)), (3, true), "{told}");
    let (code, _) = refused(&folder, &["--threads", "spread", "--cores", "2"]);
    assert_eq!(code, 2);
    let (code, told) = refused(&folder, &["--warm-up", "2"]);
    assert_eq!((code, told.contains("bank.trace")), (3, true), "{told}");
    let (code, _) = refused(&folder, &["--cores", "0"]);
    assert_eq!(code, 2);
}

#[test]
fn source_lines_need_dwarf() {
    let (code, told) = refused(&folder(2), &["--annotate"]);
    assert_eq!(code, 3);
    let message = "bank.trace: no source line is known, because no DWARF was found";
    assert!(told.contains(message), "{told}");
    assert!(
        told.contains("remedy: compile the server with -g"),
        "{told}"
    );
}

#[test]
fn with_translation_other_profilers_formats_have_two_more_figures() {
    let walks = [&TLBS[..], &["--sort", "walks", "--format", "callgrind"]].concat();
    let translated = told(&folder(4), &walks);
    let events = translated
        .lines()
        .find_map(|line| line.strip_prefix("events: "));
    let expected =
        "Walks L2Misses L3Misses L1DMisses L1IMisses Cycles Fetches Loads Stores L1TLBMisses";
    assert_eq!(events, Some(expected));
}

#[test]
fn other_profilers_formats_have_the_totals_of_the_json() {
    let folder = folder(4);
    let arguments = ["--cores", "2", "--warm-up", "1"];
    let json = told(
        &folder,
        &[&arguments[..], &["--json", "--by", "line"]].concat(),
    );
    let value = conforming::read(&["profile"], json);
    let total = &value["total"];
    let misses = |level: &str| total[level]["misses"].as_u64().unwrap();
    let expected = [
        ("L2Misses", misses("l2")),
        ("L3Misses", misses("l3")),
        ("L1DMisses", misses("l1d")),
        ("L1IMisses", misses("l1i")),
        ("Cycles", total["cycles"].as_u64().unwrap()),
        ("Fetches", total["fetches"].as_u64().unwrap()),
        ("Loads", total["loads"].as_u64().unwrap()),
        ("Stores", total["stores"].as_u64().unwrap()),
    ];
    // After a request, the L3 has all lines.
    let is_zero = expected.map(|(_, value)| value == 0);
    assert!(
        is_zero == [false, true, false, false, false, false, false, false],
        "{expected:?}"
    );

    let write = |format| [&arguments[..], &["--format", format, "-o", format]].concat();
    assert_eq!(told(&folder, &write("callgrind")), "");
    let text = std::fs::read_to_string(folder.path().join("callgrind")).unwrap();
    let (head, costs) = text.split_once("\n\n").unwrap();
    let (_, events) = head.split_once("events: ").unwrap();
    assert!(
        expected
            .iter()
            .map(|(event, _)| *event)
            .eq(events.split(' '))
    );
    let costs = costs
        .lines()
        .filter(|line| line.starts_with(|first: char| first.is_numeric()));
    let mut sums = [0; 8];
    for line in costs {
        let values = line
            .split(' ')
            .skip(1)
            .map(|value| value.parse::<u64>().unwrap());
        sums.iter_mut()
            .zip(values)
            .for_each(|(sum, value)| *sum += value);
    }
    assert_eq!(sums, expected.map(|(_, value)| value));

    // On standard output it is the same file.
    let callgrind = [&arguments[..], &["--format", "callgrind"]].concat();
    assert_eq!(told(&folder, &callgrind), text);

    assert_eq!(told(&folder, &write("speedscope")), "");
    let file = std::fs::read(folder.path().join("speedscope")).unwrap();
    let file: serde_json::Value = serde_json::from_slice(&file).unwrap();
    let profiles = file["profiles"].as_array().unwrap();
    let ends = profiles
        .iter()
        .map(|profile| profile["endValue"].as_u64().unwrap());
    // Speedscope has nothing to draw of a figure that is 0.
    assert!(ends.eq(sums.into_iter().filter(|sum| *sum > 0)));

    assert_eq!(told(&folder, &write("firefox")), "");
    let file = std::fs::read(folder.path().join("firefox")).unwrap();
    let file: serde_json::Value = serde_json::from_slice(&file).unwrap();
    let sum = |thread: &serde_json::Value| {
        let weights = thread["samples"]["weight"].as_array().unwrap().iter();
        weights.map(|weight| weight.as_u64().unwrap()).sum::<u64>()
    };
    assert!(file["threads"].as_array().unwrap().iter().map(sum).eq(sums));

    // The magic number of gzip.
    assert_eq!(told(&folder, &write("pprof")), "");
    let file = std::fs::read(folder.path().join("pprof")).unwrap();
    assert_eq!(file[..2], [0x1f, 0x8b]);
}

#[test]
fn a_format_replaces_no_file_and_no_option_is_ignored() {
    let folder = folder(2);
    let speedscope = ["--format", "speedscope", "-o", "there"];
    std::fs::write(folder.path().join("there"), "precious").unwrap();
    let (code, told) = refused(&folder, &speedscope);
    assert_eq!(
        (code, told.contains("there exists already")),
        (4, true),
        "{told}"
    );
    let there = || std::fs::read_to_string(folder.path().join("there")).unwrap();
    assert_eq!(there(), "precious");
    assert_eq!(
        refused(&folder, &[&speedscope[..], &["--json"]].concat()).0,
        2
    );
    assert_eq!(
        refused(&folder, &[&speedscope[..], &["--by", "object"]].concat()).0,
        2
    );
    assert_eq!(
        refused(&folder, &[&speedscope[..], &["--limit", "3"]].concat()).0,
        2
    );
    assert_eq!(
        refused(&folder, &[&speedscope[..], &["--request-scaled"]].concat()).0,
        2
    );
    assert_eq!(refused(&folder, &["-o", "other"]).0, 2);
    let (code, _) = refused(
        &folder,
        &["--format", "speedscope", "--cores", "3", "-o", "other"],
    );
    assert_eq!(code, 2);
    assert!(!folder.path().join("other").exists());
    self::told(&folder, &[&speedscope[..], &["--force"]].concat());
    assert!(there().starts_with('{'));
}

/// `script` of util-linux gives a command a terminal.
#[test]
fn what_is_binary_is_not_written_to_a_terminal() {
    let folder = folder(2);
    let on_terminal = |format: &str| {
        let corehop = env!("CARGO_BIN_EXE_corehop");
        let command =
            format!("'{corehop}' profile bank.trace --machine tiny.toml --format {format}");
        let mut script = Command::new("script");
        script
            .args(["-qec", &command, "/dev/null"])
            .current_dir(folder.path());
        let output = script.stdin(std::process::Stdio::null()).output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let (code, told) = on_terminal("pprof");
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("standard output is a terminal"), "{told}");
    assert!(told.contains("remedy: name a file with -o"), "{told}");
    let (code, told) = on_terminal("callgrind");
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("# callgrind format"), "{told}");
}
