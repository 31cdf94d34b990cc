//! `corehop profile --what-if` and `--suggest` on a small trace: tables, JSON, and refusals.

use crate::conforming;
use crate::definitions;
use corehop_traces::{EndReason, Kind, WriterOptions};
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

const CODE: u64 = 0x40_0000;

/// A folder with a machine, and a trace of 40 requests, alternating between two threads. Each
/// thread stores to a separate word of one line, and both load a line.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let machine = include_str!("machines/tiny.toml");
    std::fs::write(folder.path().join("tiny.toml"), machine).unwrap();
    record(&folder.path().join("bank.trace")).unwrap();
    folder
}

fn record(path: &Path) -> Result<(), corehop_traces::Error> {
    let (mut writer, module) = definitions::begin(path, &WriterOptions::default(), "count", CODE)?;
    definitions::function(&mut writer, (module, CODE), ("count", 0), None)?;
    let threads = [writer.thread(1, 1)?, writer.thread(1, 2)?];
    for (turn, stamp) in (0..40).zip(1..) {
        let own = turn % 2;
        let thread = threads[own];
        writer.stamp(thread, stamp)?;
        writer.request(thread)?;
        writer.execution(thread, 0)?;
        writer.data(thread, 0, Kind::Store, 8, 0x9000 + 8 * own as u64)?;
        // A final store would look like a call.
        writer.data(thread, 0, Kind::Load, 8, 0x5000)?;
    }
    writer.finish(EndReason::RequestsReached)?;
    Ok(())
}

fn profile(folder: &TempDir, machine: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(["profile", "bank.trace", "--machine", machine])
        .args(arguments)
        .current_dir(folder.path())
        .output()
        .unwrap()
}

#[track_caller]
fn printed_on(folder: &TempDir, machine: &str, arguments: &[&str]) -> String {
    let output = profile(folder, machine, arguments);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn printed(folder: &TempDir, arguments: &[&str]) -> String {
    printed_on(folder, "tiny.toml", arguments)
}

/// The exit code and the message for a what-if with this text.
#[track_caller]
fn refused(text: &str) -> (i32, String) {
    let folder = folder();
    std::fs::write(folder.path().join("change.toml"), text).unwrap();
    let output = profile(&folder, "tiny.toml", &["--what-if", "change.toml"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    let message = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), message)
}

const PADDED: &str = "\
[[change]]
object = \"0x9000-0x900f\"
element_bytes = 8
pad_to_bytes = 64
align_bytes = 64
";

#[test]
fn a_table_has_both_counts_in_all_and_of_each_object() {
    let folder = folder();
    std::fs::write(folder.path().join("padded.toml"), PADDED).unwrap();
    insta::assert_snapshot!(printed(&folder, &["--what-if", "padded.toml"]));
}

#[test]
fn json_has_where_an_object_goes_and_what_the_replays_count() {
    let folder = folder();
    let text = format!("{PADDED}[machine]\nprefetcher = \"stride\"\nl3 = {{ ways = 8 }}\n");
    std::fs::write(folder.path().join("padded.toml"), text).unwrap();
    let words = ["profile", "--json", "--what-if", "padded.toml"];
    let value = conforming::read(&words, printed(&folder, &words[1..]));
    assert_eq!(value["before"]["cores"], 2);
    assert_eq!(value["before"]["prefetcher"], "none");
    assert_eq!(value["after"]["prefetcher"], "stride");
    let object = &value["objects"][0];
    assert_eq!(object["range"]["first"], "0x9000");
    // The lowest unused region of 1 GiB, at the same place in it.
    assert_eq!(object["new_ranges"][0]["first"], "0x40009000");
    assert_eq!(object["new_ranges"][0]["last"], "0x4000907f");
    assert_eq!(object["before"]["invalidated_lines"], 39);
    assert_eq!(object["after"]["invalidated_lines"], 0);
    for side in ["before", "after"] {
        let (total, counters) = (&value[side]["total"], &value[side]["counters"]);
        for level in ["l1i", "l1d", "l2", "l3"] {
            assert_eq!(total[level]["misses"], counters[level]["misses"], "{level}");
        }
        assert_eq!(total["cycles"], counters["cycles"]);
        assert_eq!(total["invalidated_lines"], counters["invalidated_lines"]);
    }
}

#[test]
fn huge_pages_are_compared_by_their_page_walks() {
    let folder = folder();
    let text = "[[huge_pages]]\nregion = \"all\"\n";
    std::fs::write(folder.path().join("huge.toml"), text).unwrap();
    let words = ["profile", "--json", "--what-if", "huge.toml"];
    let value = printed_on(&folder, "xeon-e5-2620-v4", &words[1..]);
    let value = conforming::read(&words, value);
    // Of each core, two pages of data, or one huge page that has both.
    let data = |side: &str| value[side]["tlb"]["data"]["walks"].as_u64().unwrap();
    assert_eq!([data("before"), data("after")], [4, 2]);
    let entries = |side: &str| value[side]["tlb"]["walk_loads"].as_u64().unwrap();
    assert!(entries("after") < entries("before"));
    // Page walks are in the counters, and not in the total.
    for side in ["before", "after"] {
        let accesses = value[side]["counters"]["l1d"]["accesses"].as_u64().unwrap();
        let loads = value[side]["total"]["loads"].as_u64().unwrap();
        let stores = value[side]["total"]["stores"].as_u64().unwrap();
        assert_eq!(accesses, loads + stores + entries(side));
    }
    let (code, message) = refused(text);
    assert_eq!(code, 3, "{message}");
    let expected = "change.toml:1: [[huge_pages]]: machine tiny has no TLBs";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn suggestions_are_ranked_and_print_what_to_write() {
    let folder = folder();
    insta::assert_snapshot!(printed(&folder, &["--suggest"]));
    let words = ["profile", "--json", "--suggest"];
    let value = conforming::read(&words, printed(&folder, &words[1..]));
    let [suggestion] = &value["suggestions"].as_array().unwrap()[..] else {
        panic!("{value:#}");
    };
    assert_eq!(suggestion["change"]["pad_to_bytes"], 64);
    // On one core nothing is shared.
    let none = printed(&folder, &["--suggest", "--cores", "1"]);
    assert!(none.contains("1 change tried; none saves cycles"), "{none}");
}

#[track_caller]
fn refused_with(cases: &[(String, &str)]) {
    for (text, expected) in cases {
        let (code, message) = refused(text);
        assert_eq!(code, 3, "{text}: {message}");
        assert!(message.contains("change.toml"), "{message}");
        assert!(message.contains(expected), "{text}: {message}");
    }
}

#[test]
fn what_does_not_fit_is_refused_with_file_line_key_and_remedy() {
    let object = "[[change]]\nobject = \"0x9000-0x903f\"\n";
    let with = |keys: &str| format!("{object}{keys}\n");
    let text = str::to_owned;
    let cases = [
        (text(""), ": the what-if changes nothing: add [[change]]"),
        (text("change = 3"), "not a valid what-if"),
        (with("size = 3"), "unknown field `size`"),
        (
            text("\n[[change]]\nobject = \"totals\"\nalign_bytes = 64\n"),
            ":2: object = \"totals\": no variable of the trace's files has this name",
        ),
        (
            with(""),
            ":1: object = \"0x9000-0x903f\": the entry changes nothing",
        ),
        (
            text("[[change]]\nobject = \"0x9-0x3\"\nalign_bytes = 1"),
            "not a range of addresses",
        ),
        (
            with("align_bytes = 3"),
            ":1: align_bytes = 3: write a power of two",
        ),
        (
            with("pad_to_bytes = 8"),
            "pad_to_bytes = 8: the element has 64 bytes",
        ),
        (
            with("element_bytes = 0\nalign_bytes = 1"),
            "element_bytes = 0: write a size",
        ),
        (
            with("color_bytes = 1073741824"),
            "color_bytes = 1073741824: write less",
        ),
        (
            with("split = [{ from = 8, to = 8 }]"),
            "split = { from = 8, to = 8 }",
        ),
        (
            with("split = [{ from = 0, to = 64 }]"),
            "that leave some bytes of it",
        ),
        (
            with("split = [{ from = 0, to = 8, array = 0 }]"),
            "array = 0: number",
        ),
        (
            with("behind = \"0x9000-0x903f\""),
            "cannot be behind itself",
        ),
        (
            with("color_bytes = 1\nbehind = \"0x1-0x2\""),
            "color_bytes with behind",
        ),
        (
            with(&format!("align_bytes = 1\n{object}align_bytes = 1")),
            ":4: object = \"0x9000",
        ),
        (text("[machine]\ncores = 70"), "[machine]: cores = 70"),
        (
            text("[machine]\nprefetcher = \"all\""),
            "unknown variant `all`",
        ),
    ];
    refused_with(&cases);
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let folder = folder();
    let code = |words: &[&str]| profile(&folder, "tiny.toml", words).status.code();
    assert_eq!(code(&["--what-if", "missing.toml"]), Some(3));
    assert_eq!(code(&["--what-if", "missing.toml", "--suggest"]), Some(2));
    assert_eq!(code(&["--suggest", "--by", "line"]), Some(2));
    assert_eq!(code(&["--suggest", "--cores", "3"]), Some(2));
}
