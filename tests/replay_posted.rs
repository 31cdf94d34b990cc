//! `corehop replay --system-calls`: the kernel's accesses in calls count where the calls are made,
//! all ways count the same accesses, and unsupported cases are refused.

use crate::conforming;
use crate::machine_trace;
use corehop_traces::{CodeBlock, EndReason, Error, Header, Writer, WriterOptions};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn replay(write: fn(&Path) -> Result<(), Error>, more: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("bank.trace")).unwrap();
    std::fs::write(folder.path().join("tiny.toml"), machine_trace::MACHINE).unwrap();
    Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(["replay", "bank.trace", "--machine", "tiny.toml"])
        .args(more)
        .current_dir(folder.path())
        .output()
        .expect("corehop runs")
}

fn accesses(both: &Value) -> [u64; 2] {
    ["user", "kernel"].map(|mode| {
        let levels = ["l1i", "l1d"].map(|level| &both[mode][level]["accesses"]);
        levels.iter().map(|count| count.as_u64().unwrap()).sum()
    })
}

#[test]
fn all_ways_count_the_same_accesses_and_each_core_its_own() {
    let ways = ["--system-calls", "read@1", "--system-calls", "read@batch:1"];
    for (warm_up, [user, kernel, reads], calls) in [("0", [12, 16, 12], 2), ("1", [5, 6, 4], 1)] {
        let more = ["--batch", "1,2", "--json", "--warm-up", warm_up];
        let output = replay(machine_trace::write, &[&ways[..], &more].concat());
        let said = conforming::read(&["replay", "--system-calls"], &output.stdout);
        assert_eq!(accesses(&said["in_place"]), [user, kernel]);
        let posted = said["posted"].as_array().unwrap();
        let told: Vec<_> = posted
            .iter()
            .map(|way| (way["system_calls"].as_str().unwrap(), way["batch"].as_u64()))
            .collect();
        let expected = [
            ("read@1", None),
            ("read@batch:1", Some(1)),
            ("read@batch:1", Some(2)),
        ];
        assert_eq!(told, expected);
        for way in posted {
            assert_eq!(accesses(&way["all"]), [user, kernel]);
            assert_eq!(accesses(&way["cores"][0]), [user, kernel - reads]);
            assert_eq!(accesses(&way["cores"][1]), [0, reads]);
            assert_eq!(way["calls"], calls);
        }
    }
}

#[test]
fn the_table_has_a_line_for_each_way_and_core() {
    let more = [
        "--system-calls",
        "read@1",
        "--system-calls",
        "read@batch",
        "--batch",
        "2",
    ];
    let said = String::from_utf8(replay(machine_trace::write, &more).stdout).unwrap();
    insta::assert_snapshot!(said);
}

#[test]
fn what_cannot_be_told_is_refused() {
    let refused = |write, more: &[&str], code| {
        let output = replay(write, more);
        assert_eq!(output.status.code(), Some(code));
        String::from_utf8(output.stderr).unwrap()
    };
    let said = refused(machine_trace::write, &["--system-calls", "open@1"], 3);
    assert!(
        said.contains("bank.trace: the trace has none of open@1"),
        "{said}"
    );
    assert!(said.contains("name some of fstat, read"), "{said}");
    let said = refused(machine_trace::write, &["--system-calls", "read@7"], 3);
    assert!(said.contains("the split uses 8 cores"), "{said}");
    for usage in [
        &["--system-calls", "read"][..],
        &["--system-calls", "read@yield"],
        &["--system-calls", "read@1", "--timed"],
        &["--batch", "4"],
        &["--system-calls", "read@batch", "--batch", "0"],
        &["--system-calls", "read@1", "--machine", "epyc-9004"],
    ] {
        refused(machine_trace::write, usage, 2);
    }
    let user_code: fn(&Path) -> Result<(), Error> = |path| {
        let mut writer = Writer::create(path, &Header::default(), &WriterOptions::default())?;
        let block = writer.code_block(&CodeBlock::new(0x1000, [4]), None)?;
        let thread = writer.thread(1, 1)?;
        writer.stamp(thread, 1)?;
        writer.execution(thread, block)?;
        writer.system_call(thread, libc::SYS_read as i32, Some(0))?;
        writer.finish(EndReason::ServerExited)?;
        Ok(())
    };
    let said = refused(user_code, &["--system-calls", "read@1"], 3);
    assert!(
        said.contains("the trace does not contain the kernel"),
        "{said}"
    );
}
