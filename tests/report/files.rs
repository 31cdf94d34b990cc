//! The files of a report in addition to its page, and its refusals.

use super::browser::Browser;
use super::recorded::{HOSTILE, REQUESTS, folder, report, said};
use crate::conforming::read;
use serde_json::{Value, json};

fn names(folder: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn pictures_and_numbers_leave_as_files() {
    let folder = folder();
    let asked = [
        "--full",
        "--svg",
        "svg",
        "--csv",
        "csv",
        "--requests",
        "4-5",
    ];
    assert_eq!(said(&folder, &asked), "");
    let pictures = [
        "accesses-of-request-4",
        "accesses-of-request-5",
        "cores",
        "hop-cost",
        "lost-lines",
        "machines",
        "misses-by-cause",
        "misses-by-core",
        "misses-by-function",
        "misses-by-level",
        "neighbours",
        "phases",
        "shared-lines",
        "splits",
        "throughput",
        "working-sets",
    ];
    let [svg, csv] = ["svg", "csv"].map(|of| folder.path().join(of));
    assert_eq!(names(&svg), pictures.map(|name| format!("{name}.svg")));
    assert_eq!(names(&csv), pictures.map(|name| format!("{name}.csv")));
    let phases = std::fs::read_to_string(csv.join("phases.csv")).unwrap();
    let quoted = HOSTILE.replace('"', "\"\"");
    let expected = format!(
        "request,stay,core,entered by,first access,accesses,L2 misses\r\n\
         4,0,1,parse,0,1501,0\r\n4,1,0,\"{quoted}\",1501,3002,10\r\n\
         5,0,1,parse,0,1501,0\r\n5,1,0,\"{quoted}\",1501,3002,10\r\n"
    );
    assert_eq!(phases, expected);
    let mut browser = Browser::open(&svg.join("misses-by-function.svg"), 600, 600);
    assert_eq!(
        browser.evaluate("document.querySelectorAll('parsererror').length"),
        0
    );
    assert_eq!(
        browser.evaluate("document.documentElement.viewBox.baseVal.width"),
        480
    );
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn delegated_calls_are_drawn() {
    let folder = folder();
    let plan = folder.path().join("split.toml");
    let split = std::fs::read_to_string(&plan).unwrap();
    let (first, last) = split.rsplit_once("\"enter\"").unwrap();
    std::fs::write(&plan, format!("{first}\"call\"{last}")).unwrap();
    let asked = ["--svg", "svg", "--csv", "csv", "--perfetto", "t.json"];
    let asked = [&asked[..], &["--requests", "4-5"]].concat();
    assert_eq!(said(&folder, &asked), "");
    let timeline = std::fs::read_to_string(folder.path().join("t.json")).unwrap();
    let timeline: Value = serde_json::from_str(&timeline).unwrap();
    let events = timeline["traceEvents"].as_array().unwrap().iter();
    let call = format!("{HOSTILE}, request ");
    let is_call = |event: &&Value| event["name"].as_str().is_some_and(|n| n.starts_with(&call));
    assert_eq!(events.filter(is_call).count(), 2);
    let names = names(&folder.path().join("svg"));
    assert!(names.contains(&"delegated-calls.svg".into()), "{names:?}");
    let table = |name: &str| std::fs::read_to_string(folder.path().join("csv").join(name)).unwrap();
    let quoted = HOSTILE.replace('"', "\"\"");
    let calls = format!(
        "request,call,core,first access,accesses,L2 misses\r\n\
         4,\"{quoted}\",0,1501,3002,10\r\n5,\"{quoted}\",0,1501,3002,10\r\n"
    );
    assert_eq!(table("delegated-calls.csv"), calls);
}

#[test]
fn programs_get_what_explain_tells_and_how_to_repeat_it() {
    let folder = folder();
    let object = read(&["report"], said(&folder, &["--json"]));
    let explained = ["baseline", "split", "cores", "movers"].map(|key| !object[key].is_null());
    assert_eq!(explained, [true; 4]);
    let pictured = object["pictured"].as_array().unwrap();
    assert_eq!(pictured.len(), REQUESTS / 2);
    assert_eq!(
        pictured[0]["stays"],
        json!([[0, 1, "parse", 0], [1501, 0, HOSTILE, 10]])
    );
    // All counted requests are shown, so their misses are all counted misses.
    for (place, side) in ["baseline", "split"].into_iter().enumerate() {
        let of_requests = pictured
            .iter()
            .map(|of| of["missed"][place].as_u64().unwrap());
        let counted = &object[side]["counters"]["l2"]["misses"];
        assert_eq!(*counted, of_requests.sum::<u64>(), "{side}");
    }
    let commands = &object["repeat"]["commands"];
    assert_eq!(
        commands[1],
        "corehop explain --plan split.toml --machine tiny --warm-up 3 bank.trace"
    );
    let modules = json!([{ "path": "/usr/bin/server", "build_id": "0a1b" }]);
    assert_eq!(object["repeat"]["modules"], modules);
}

#[test]
fn misses_fold_into_call_stacks_that_add_up() {
    let folder = folder();
    assert_eq!(said(&folder, &["--folded", "misses"]), "");
    let text = std::fs::read_to_string(folder.path().join("misses")).unwrap();
    let name = HOSTILE.replace(';', "\\x3b");
    let line = |place: &str, stack: &str, misses: u32| format!("{place};{stack} {misses}\n");
    // For three counted requests: no return is seen, so calls stay open until their end.
    let one = [
        ("parse", 27),
        (&*format!("parse;{name}"), 27),
        (&format!("parse;{name};commit"), 27),
    ];
    let expected: String = one
        .iter()
        .map(|(stack, misses)| line("one core", stack, *misses))
        .collect();
    assert!(text.starts_with(&expected), "{text}");
    let missed = |line: &str| line.rsplit(' ').next().unwrap().parse::<u32>().unwrap();
    let split = text
        .lines()
        .filter(|line| line.starts_with("split;core 0;"));
    assert_eq!(split.map(missed).sum::<u32>(), 30);
    assert_eq!(text.lines().map(missed).sum::<u32>(), 81 + 30);
}

#[test]
fn callgrind_annotate_reads_functions_calls_and_totals() {
    let folder = folder();
    assert_eq!(said(&folder, &["--callgrind", "calls"]), "");
    let text = std::fs::read_to_string(folder.path().join("calls")).unwrap();
    // No return is seen, so in each of three requests one function calls the other.
    let costs =
        |functions: u32, split: u32| format!("{} {} {split}\n", 4503 * functions, 27 * functions);
    let (all, two, one) = (costs(3, 30), costs(2, 30), costs(1, 0));
    let expected = format!(
        "summary: {all}\n\
         ob=(1) /usr/bin/server\nfl=(1) ???\nfn=(1) parse\n0 {one}\
         cob=(1)\ncfn=(2) {HOSTILE}\ncalls=3 0\n0 {two}"
    );
    assert!(text.contains(&expected), "{text}");
    let mut annotate = std::process::Command::new("callgrind_annotate");
    let output = annotate.arg(folder.path().join("calls")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let told = String::from_utf8(output.stdout).unwrap();
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let totals = "13,509 (100.0%) 81 (100.0%) 30 (100.0%) PROGRAM TOTALS";
    assert!(told.contains(totals), "{told}");
}

#[test]
fn the_timeline_of_named_requests_has_calls_and_cores() {
    let folder = folder();
    let asked = ["--perfetto", "timeline.json", "--requests", "1,4"];
    assert_eq!(said(&folder, &asked), "");
    let text = std::fs::read(folder.path().join("timeline.json")).unwrap();
    let timeline: Value = serde_json::from_slice(&text).unwrap();
    let events = timeline["traceEvents"].as_array().unwrap();
    let of = |phase: &'static str| events.iter().filter(move |event| event["ph"] == phase);
    assert_eq!(of("B").count(), 6);
    assert_eq!(of("E").count(), 6);
    let begun = of("B").map(|event| (&event["name"], event["ts"].as_u64().unwrap()));
    let [parse, hostile, commit] = ["parse", HOSTILE, "commit"].map(Value::from);
    let expected = [
        (&parse, 0),
        (&hostile, 1501),
        (&commit, 3002),
        (&parse, 4503),
        (&hostile, 6004),
        (&commit, 7505),
    ];
    assert!(begun.eq(expected), "{events:?}");
    let stays =
        of("X").map(|event| [&event["tid"], &event["ts"], &event["dur"]].map(Value::to_string));
    let expected = [
        ["1", "0", "1501"],
        ["0", "1501", "3002"],
        ["1", "4503", "1501"],
    ];
    let expected = expected.iter().chain([&["0", "6004", "3002"]]);
    assert!(
        stays.eq(expected.map(|stay| stay.map(str::to_owned))),
        "{events:?}"
    );
}

#[test]
fn of_the_space_it_tells_every_split_where_they_are_few() {
    let folder = folder();
    assert_eq!(said(&folder, &["--csv", "csv", "--full"]), "");
    let read = |name: &str| {
        let text = std::fs::read_to_string(folder.path().join("csv").join(name)).unwrap();
        text.lines()
            .map(|line| line.split(',').map(str::to_owned).collect())
            .collect()
    };
    // Two of three functions.
    let splits: Vec<Vec<String>> = read("splits.csv");
    let counted = splits[1..].iter().map(|row| row[2].parse::<u32>().unwrap());
    assert_eq!(counted.sum::<u32>(), 3);
    let cores: Vec<Vec<String>> = read("cores.csv");
    assert_eq!((cores.len(), cores[1][0].as_str()), (2, "2"));
    let machines: Vec<Vec<String>> = read("machines.csv");
    // The plan's own machine, and eleven bundled ones.
    assert_eq!((machines.len(), machines[1][0].as_str()), (13, "tiny"));
    assert_eq!(machines[1][1..3], ["27.00", "10.00"]);
    // Scripts may still use the second form.
    for (of, option) in [("short", None), ("quick", Some("--quick"))] {
        let asked: Vec<&str> = ["--csv", of].into_iter().chain(option).collect();
        assert_eq!(said(&folder, &asked), "");
        let short = names(&folder.path().join(of));
        assert!(short.contains(&"hop-cost.csv".into()) && !short.contains(&"splits.csv".into()));
    }
}

#[test]
fn a_sweep_that_was_made_is_drawn_row_by_row() {
    let folder = folder();
    let mut partition = std::process::Command::new(env!("CARGO_BIN_EXE_corehop"));
    let sweep = partition
        .current_dir(folder.path())
        .args([
            "partition",
            "--sweep",
            "--json",
            "--cores",
            "2",
            "--requests",
            "3",
            "bank.trace",
        ])
        .args(["--machine", "tiny.toml", "--machine", "xeon-e5-2620-v4"])
        .output()
        .unwrap();
    assert!(sweep.status.success(), "{sweep:?}");
    let printed = read(&["partition", "--sweep"], &sweep.stdout);
    std::fs::write(folder.path().join("sweep.json"), &sweep.stdout).unwrap();
    let asked = ["--sweep", "sweep.json", "--csv", "csv", "--json"];
    let told = read(&["report"], said(&folder, &asked));
    let csv = std::fs::read_to_string(folder.path().join("csv/sweep.csv")).unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 3, "a head and a row for each machine");
    for (row, name) in rows[1..].iter().zip(["tiny", "xeon-e5-2620-v4"]) {
        assert_eq!(row[..2], [name, "2"]);
    }
    for (row, of) in rows[1..].iter().zip(printed["rows"].as_array().unwrap()) {
        let requests = of["requests"].as_f64().unwrap();
        let misses = ["baseline", "split"].map(|side| of[side]["l2"]["misses"].as_f64().unwrap());
        let expected = misses.map(|misses| format!("{:.2}", misses / requests));
        assert_eq!(row[2..4], expected);
    }
    assert_eq!(told["sweep"]["rows"][0]["hops"], printed["rows"][0]["hops"]);
    assert_eq!(told["sweep"]["trace"], "bank.trace");
}

#[test]
fn a_device_is_written_through_and_stays() {
    let folder = folder();
    let null = folder.path().join("null");
    std::os::unix::fs::symlink("/dev/null", &null).unwrap();
    let asked = ["-o", "--folded", "--callgrind", "--perfetto"].map(|option| [option, "null"]);
    let asked = [&["--force", "--requests", "4"][..], &asked.concat()].concat();
    assert_eq!(said(&folder, &asked), "");
    let link = std::fs::read_link(null).unwrap();
    assert_eq!(link, std::path::Path::new("/dev/null"));
}

#[test]
fn what_cannot_be_shown_is_refused_in_words() {
    let folder = folder();
    let refused = |arguments: &[&str], code: i32, said: &str| {
        let output = report(&folder, arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(stderr.contains(said), "{stderr}");
    };
    refused(&[], 2, "required");
    let none = "there is no complete request 6";
    refused(&["-o", "r.html", "--requests", "2,6"], 2, none);
    refused(&["--perfetto", "t.json"], 2, "--requests");
    refused(&["-o", "none/r.html"], 4, "none/r.html");
    refused(
        &["-o", "r.html", "--sweep", "none"],
        3,
        "--sweep none: No such file",
    );
    std::fs::write(folder.path().join("s"), r#"{"trace": "t", "rows": []}"#).unwrap();
    refused(&["-o", "r.html", "--sweep", "s"], 3, "it has no rows");
    refused(
        &["-o", "r.html", "--sweep", "split.toml"],
        3,
        "corehop partition --cores 4 --sweep",
    );
    std::fs::write(folder.path().join("r.html"), "kept").unwrap();
    refused(&["-o", "r.html"], 4, "add --force");
    let kept = std::fs::read_to_string(folder.path().join("r.html")).unwrap();
    assert_eq!(kept, "kept");
    assert_eq!(said(&folder, &["-o", "r.html", "--force"]), "");
    std::os::unix::fs::symlink("r.html", folder.path().join("link")).unwrap();
    let link = "link is a symbolic link to a file";
    for asked in ["-o", "--folded"] {
        refused(&["--force", asked, "link"], 4, link);
    }
    std::fs::rename(
        folder.path().join("bank.trace"),
        folder.path().join("moved"),
    )
    .unwrap();
    refused(
        &["-o", "r.html", "--force"],
        3,
        "name the trace after the plan",
    );
    assert_eq!(said(&folder, &["moved", "-o", "r.html", "--force"]), "");
}

#[test]
fn the_same_plan_and_trace_give_the_same_page() {
    let folder = folder();
    let page = |threads: &str| {
        said(&folder, &["-o", "r.html", "--force", "--jobs", threads]);
        std::fs::read(folder.path().join("r.html")).unwrap()
    };
    assert_eq!(page("1"), page("4"));
}
