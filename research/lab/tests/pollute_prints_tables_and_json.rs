//! `corehop-lab pollute` on a small trace: its output and its files, and the inputs it rejects.

use crate::coloured_pages::{HOT, PAGE, STREAM, machine};
use crate::conforming;
use crate::definitions;
use corehop_traces::{EndReason, Kind, WriterOptions};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

const CODE: u64 = 0x40_0000;

/// Returns a folder with the machine and a trace: twice around `HOT` and once around `STREAM`, all
/// of it three times, one line of each page.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let coloured = machine(1);
    let flat = coloured
        .replace("coloured", "flat")
        .replace("65536", "4096");
    for (file, machine) in [("coloured.toml", &coloured), ("flat.toml", &flat)] {
        std::fs::write(folder.path().join(file), machine).unwrap();
    }
    record(&folder.path().join("loop.trace")).unwrap();
    folder
}

fn record(path: &Path) -> Result<(), corehop_traces::Error> {
    let (mut writer, module) = definitions::begin(path, &WriterOptions::default(), "walk", CODE)?;
    definitions::function(&mut writer, (module, CODE), ("walk", 0), None)?;
    let thread = writer.thread(1, 1)?;
    writer.stamp(thread, 1)?;
    for _ in 0..3 {
        for page in HOT.chain(HOT).chain(STREAM) {
            writer.execution(thread, 0)?;
            // Not on the line of the set that the code uses.
            writer.data(thread, 0, Kind::Load, 8, page * PAGE + 0x80)?;
        }
    }
    writer.finish(EndReason::ServerExited)?;
    Ok(())
}

fn replay(folder: &TempDir, arguments: &[&str]) -> Output {
    Command::new(crate::LAB)
        .args(["pollute", "loop.trace", "--machine", "coloured.toml"])
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
fn refused(folder: &TempDir, arguments: &[&str]) -> (Option<i32>, String) {
    let output = replay(folder, arguments);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    let said = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), said)
}

/// Without a buffer the stream evicts all fifteen in each round: 15 + 32 misses, three times, and
/// one of code. With the stream confined, the fifteen stay: 15 + 3 * 32, and one of code.
#[test]
fn a_streamed_array_is_found_and_told() {
    insta::assert_snapshot!(said(&folder(), &["--pages", "auto"]));
}

#[test]
fn scripts_get_exactly_these_keys() {
    let folder = folder();
    let value = |pages: &str| -> Value {
        conforming::read(&["pollute"], said(&folder, &["--pages", pages, "--json"]))
    };
    let found = value("auto");
    let keys =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    let expected = [
        "accesses",
        "cores",
        "counters",
        "hops",
        "instructions",
        "machine",
        "placement",
        "pollute",
        "trace",
    ];
    assert_eq!(keys(&found), expected);
    let pollute = &found["pollute"];
    let expected = [
        "after",
        "before",
        "buffer_colours",
        "colours",
        "confined",
        "miss_rates",
        "pages",
        "search",
    ];
    assert_eq!(keys(pollute), expected);
    assert_eq!(
        keys(&pollute["before"]),
        ["confined", "counters", "l2_mpki"]
    );
    assert_eq!(
        keys(&pollute["before"]["confined"]),
        ["l2_accesses", "l2_misses"]
    );
    let bin = &pollute["miss_rates"][9];
    assert_eq!(
        keys(bin),
        ["from", "l2_accesses", "l2_misses", "pages", "to"]
    );
    assert_eq!(keys(&pollute["search"]), ["judged_by", "step", "tried"]);
    assert_eq!(
        keys(&pollute["search"]["tried"][0]),
        ["cycles", "l2_misses", "pages"]
    );
    assert_eq!(
        pollute["before"]["counters"]["l2"]["misses"],
        1 + 3 * (15 + 32)
    );
    assert_eq!(
        pollute["after"]["counters"]["l2"]["misses"],
        1 + 15 + 3 * 32
    );
    let instructions = 3 * (15 + 15 + 32);
    assert_eq!(found["instructions"], instructions);
    let mpki = |misses: u32| f64::from(misses) * 1e3 / f64::from(instructions);
    assert_eq!(pollute["after"]["l2_mpki"], mpki(1 + 15 + 3 * 32));

    // The same pages given explicitly have the same result.
    let pages: Vec<String> = STREAM.map(|page| format!("{:x}", page * PAGE)).collect();
    let mut named = value(&pages.join(","));
    named["pollute"]["search"] = pollute["search"].clone();
    assert_eq!(named, found);
}

#[test]
fn pages_go_to_a_table_that_is_read_back() {
    let folder = folder();
    let table = |pages: &str, more: &[&str]| {
        said(
            &folder,
            &[&["--pages", pages, "-o", "-"][..], more].concat(),
        )
    };
    let found = table("auto", &[]);
    assert!(found.starts_with("page,confined,colour,l2_accesses,l2_misses,miss_rate,"));
    assert!(
        found.contains("\n0x1000000,0,0,6,3,0.500000,6,1\n"),
        "{found}"
    );
    assert!(
        found.contains("\n0x2000000,1,15,3,3,1.000000,3,3\n"),
        "{found}"
    );
    std::fs::write(folder.path().join("pages.csv"), &found).unwrap();
    assert_eq!(table("@pages.csv", &["--jobs", "1"]), found);
    let (code, said) = refused(&folder, &["--pages", "auto", "-o", "pages.csv"]);
    assert_eq!(code, Some(4));
    assert!(said.contains("add --force to replace it"), "{said}");
    assert!(
        !replay(&folder, &["--pages", "auto", "-o", "pages.csv", "--force"])
            .stdout
            .is_empty()
    );
}

#[test]
fn what_cannot_be_is_refused_with_a_remedy() {
    let folder = folder();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("wrong", "# pages\n\n0x2000000 first\n0x2000040\n");
    write("empty", "# none\n");
    let cases: [(&[&str], i32, &str); 9] = [
        (
            &["--pages", "heap"],
            2,
            "'heap' is no address of a page: write it in hexadecimal",
        ),
        (
            &["--pages", "0x1040"],
            2,
            "0x1040 is inside a page of 4096 bytes: write 0x1000",
        ),
        (
            &["--pages", "0x5000"],
            3,
            "loop.trace: nothing that is replayed is on page 0x5000",
        ),
        (
            &["--pages", "@wrong"],
            3,
            "wrong:4: 0x2000040 is inside a page of 4096 bytes",
        ),
        (&["--pages", "@empty"], 3, "empty: it names no page"),
        (
            &["--pages", "@missing"],
            3,
            "missing: cannot read the pages",
        ),
        (
            &["--pages", "auto", "--machine", "flat.toml"],
            2,
            "'--machine <NAME|FILE>' cannot be used multiple times",
        ),
        (
            &["--pages", "0x2000000", "--by", "cycles"],
            2,
            "leave --by out",
        ),
        (&["--force"], 2, "required arguments were not provided"),
    ];
    for (arguments, code, expected) in cases {
        let (ended, said) = refused(&folder, arguments);
        assert_eq!(ended, Some(code), "{said}");
        assert!(said.contains(expected), "{said}");
    }
    let flat = Command::new(crate::LAB)
        .args(["pollute", "loop.trace", "--machine", "flat.toml"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(flat.status.code(), Some(3));
    let said = String::from_utf8(flat.stderr).unwrap();
    assert!(
        said.contains("a page takes all 64 sets of an L2 of machine flat"),
        "{said}"
    );
}
