//! `corehop candidates` on a small trace of two threads, and beside `partition` on the sample.

use corehop_traces::{
    CodeBlock, EndReason, Function, Header, Instruction, Kind, Module, Writer, WriterOptions,
};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// What the subcommand prints.
fn said(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    let output = command
        .args(arguments)
        .output()
        .expect("the command starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&said(arguments)).expect("one JSON object")
}

const CODE: u64 = 0x40_0000;
const FUNCTIONS: [&str; 5] = ["parse", "execute", "log", "flush", "inlined"];

/// Four requests, in turn on two threads. Each calls `parse`, `inlined` and then `execute`; the
/// first calls `log` twice, and every other one `flush`. Ten loads lie between the two halves.
fn record(path: &Path) {
    let header = Header {
        created_by: "test".into(),
        command: vec!["server".into()],
        request_at: "parse".into(),
        qemu_version: "7.2".into(),
        architecture: "x86_64".into(),
    };
    let mut writer = Writer::create(path, &header, &WriterOptions::default()).unwrap();
    let module = Module {
        path: "/usr/bin/server".into(),
        build_id: "0a1b".into(),
        load_bias: CODE,
        start: CODE,
        end: CODE + 4096,
    };
    let module = writer.module(&module).unwrap();
    let blocks = FUNCTIONS.map(|name| {
        let place = FUNCTIONS.iter().position(|&other| other == name).unwrap() as u64 * 64;
        let function = Function {
            module,
            offset: place,
            size_bytes: 64,
            symbol: name.into(),
            name: name.into(),
            unpatchable: (name == "inlined").then(|| "something jumps into it".into()),
        };
        let entry = writer.function(&function).unwrap();
        let instructions = vec![Instruction {
            offset: 0,
            size_bytes: 4,
        }];
        let block = CodeBlock {
            start: CODE + place,
            instructions,
        };
        writer.code_block(&block, Some(entry)).unwrap()
    });
    let [parse, execute, log, flush, inlined] = blocks;
    let threads = [1, 2].map(|id| writer.thread(1, id).unwrap());
    for request in 0..4 {
        let thread = threads[request % 2];
        writer.stamp(thread, request as u64).unwrap();
        writer.request(thread).unwrap();
        writer.execution(thread, parse).unwrap();
        writer.execution(thread, inlined).unwrap();
        for line in 0..10 {
            let address = 0x1000_0000 + line * 64;
            writer.data(thread, 0, Kind::Load, 8, address).unwrap();
        }
        writer.execution(thread, execute).unwrap();
        if request == 0 {
            writer.execution(thread, log).unwrap();
            writer.execution(thread, log).unwrap();
        }
        if request % 2 == 0 {
            writer.execution(thread, flush).unwrap();
        }
    }
    // An end of the last request on each thread makes it complete.
    for thread in threads {
        writer.request(thread).unwrap();
    }
    writer.finish(EndReason::RequestsReached).unwrap();
}

#[test]
fn calls_are_counted_by_request_on_all_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bank.trace");
    record(&path);
    let path = path.to_str().unwrap();
    let text = said(&["candidates", path, "--all-requests", "--group-within", "5"]);
    insta::assert_snapshot!(text.replace(path, "bank.trace"));
}

#[test]
fn the_table_is_of_what_partition_searches() {
    let three = ["--requests", "3", "--json"];
    let listed = json(&[&["candidates"], &three[..]].concat());
    let searched = json(&[&["partition", "--cores", "2"], &three[..]].concat());
    let rows = listed["candidates"].as_array().unwrap();
    let patchable = rows.iter().filter(|row| row["unpatchable"].is_null());
    assert_eq!(searched["candidates"], patchable.count());
    assert_eq!(searched["groups"], listed["groups"]);
}

#[test]
fn every_row_keeps_the_rule_it_was_asked_for() {
    let listed = json(&[
        "candidates",
        "--json",
        "--max-calls",
        "2",
        "--min-share",
        "0.9",
    ]);
    let rows = listed["candidates"].as_array().unwrap();
    let most = |row: &Value| row["calls"]["most"].as_u64().unwrap();
    assert!(rows.iter().all(|row| most(row) <= 2), "{rows:?}");
    assert!(rows.iter().any(|row| most(row) == 2), "{rows:?}");
    assert!(rows.iter().all(|row| row["share"].as_f64() >= Some(0.9)));
}
