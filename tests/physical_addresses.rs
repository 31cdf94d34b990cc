//! `corehop replay --index physical`: the pages in the trace of a machine determine the addresses
//! of lines.

use crate::conforming;
use crate::definitions;
use corehop_traces::{EndReason, Kind, Page, WriterOptions};
use serde_json::json;
use std::process::{Command, Output};
use tempfile::TempDir;

const CODE: u64 = 0x40_0000;

/// A folder with a trace: loads of one line each from two pages, and a store to a third page
/// without a known physical address. Its number equals the physical page of the other two.
fn folder(pages: &[Page]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bank.trace");
    let begun = definitions::begin(&path, &WriterOptions::default(), "parse", CODE);
    let (mut writer, module) = begun.unwrap();
    definitions::function(&mut writer, (module, CODE), ("parse", 0), None).unwrap();
    writer.pages(pages).unwrap();
    let thread = writer.thread(1, 1).unwrap();
    writer.stamp(thread, 1).unwrap();
    writer.execution(thread, 0).unwrap();
    for (kind, address) in [
        (Kind::Load, 0x1000),
        (Kind::Load, 0x2000),
        (Kind::Store, 0x9000),
    ] {
        writer.data(thread, 0, kind, 8, address).unwrap();
    }
    writer.finish(EndReason::ServerExited).unwrap();
    folder
}

fn replay(folder: &TempDir, index: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(["replay", "bank.trace", "--json", "--index", index])
        .current_dir(folder.path())
        .output()
        .unwrap()
}

#[test]
fn two_pages_in_one_place_are_the_same_lines_by_physical_addresses_alone() {
    let page = |number| Page {
        process_id: 1,
        since: 0,
        number,
        frame: 9,
    };
    let folder = folder(&[page(1), page(2)]);
    let cold = |index| {
        let said = conforming::read(&["replay"], replay(&folder, index).stdout);
        let l3 = &said["counters"]["l3"];
        json!([l3["load"]["cold"], l3["store"]["cold"], said["index"]])
    };
    assert_eq!(cold("physical"), json!([1, 1, "physical"]));
    assert_eq!(cold("virtual"), json!([2, 1, null]));
}

#[test]
fn physical_addresses_of_a_trace_that_tells_none_are_refused() {
    let refused = replay(&folder(&[]), "physical");
    let expected = "corehop: bank.trace: the trace has no physical addresses\n  remedy: leave \
                    --index out, or record the server with --system\n";
    assert_eq!(String::from_utf8_lossy(&refused.stderr), expected);
    assert_eq!(refused.status.code(), Some(3));
}
