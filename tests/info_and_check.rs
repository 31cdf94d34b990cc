//! `corehop info` and `corehop check`: their output for valid, cut, damaged, and foreign files, and
//! how scripts distinguish these.

use crate::conforming;
use corehop_traces::{
    CodeBlock, EndReason, Function, Header, Kind, Module, ThreadId, Writer, WriterOptions,
};
use serde_json::Value;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A folder with `bank.trace`: two threads, three requests of 3, 6 and 9 accesses, the last one cut
/// off, in blocks of four executions.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    record(&folder.path().join("bank.trace"), 3).unwrap();
    folder
}

fn record(path: &Path, requests: u32) -> Result<(), corehop_traces::Error> {
    let header = Header {
        created_by: "corehop 0.1.0".into(),
        command: vec!["server".into(), "--port=1".into()],
        request_at: "parse".into(),
        qemu_version: "7.2.0".into(),
        architecture: "x86_64".into(),
        has_address_spaces: true,
    };
    let options = WriterOptions {
        compression_level: 3,
        executions_per_chunk: 4,
    };
    let mut writer = Writer::create(path, &header, &options)?;
    for (name, build_id) in [("server", "0a1b"), ("libc.so.6", "")] {
        writer.module(&Module {
            path: format!("/usr/bin/{name}"),
            build_id: build_id.into(),
            load_bias: 0x40_0000,
            start: 0x40_0000,
            end: 0x40_1000,
        })?;
    }
    let entry = writer.function(&Function {
        module: 0,
        offset: 0,
        size_bytes: 4,
        symbol: "parse".into(),
        name: "parse".into(),
        unpatchable: None,
    })?;
    writer.code_block(&CodeBlock::new(0x40_0000, [4]), Some(entry))?;
    writer.thread(7, 7)?;
    writer.thread(8, 9)?;
    let mut stamp = 0;
    for request in 0..requests {
        let thread = ThreadId(request % 2);
        writer.request(thread)?;
        for _ in 0..=request {
            stamp += 1;
            writer.stamp(thread, stamp)?;
            writer.execution(thread, 0)?;
            writer.data(thread, 0, Kind::Load, 8, 0x7000)?;
            writer.data(thread, 0, Kind::Store, 8, 0x7008)?;
        }
    }
    if requests > 1 {
        writer.request(ThreadId(1))?;
    }
    writer.finish(EndReason::RequestsReached)?;
    Ok(())
}

fn corehop(folder: &TempDir, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(arguments)
        .current_dir(folder.path())
        .output()
        .unwrap()
}

/// Returns exit code, standard output, and standard error as one text.
fn said(output: &Output) -> String {
    let code = output.status.code().unwrap();
    let [out, error] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("exit code {code}\n{out}{error}")
}

fn json(command: &str, output: &Output) -> Value {
    conforming::read(&[command], &output.stdout)
}

/// Changes the bytes of the trace.
fn change(folder: &TempDir, change: impl Fn(&mut Vec<u8>)) {
    let path = folder.path().join("bank.trace");
    let mut bytes = std::fs::read(&path).unwrap();
    change(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn info_says_what_is_in_a_trace() {
    insta::assert_snapshot!(said(&corehop(&folder(), &["info", "bank.trace"])));
}

#[test]
fn info_tells_scripts_the_same() {
    let mut told = json(
        "info",
        &corehop(&folder(), &["info", "--json", "bank.trace"]),
    );
    let columns = told["columns"].take();
    let columns = columns.as_array().unwrap().iter();
    let sum: u64 = columns
        .map(|column| column["size_bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(sum, told["size_bytes"]);
    insta::assert_snapshot!(format!("{told:#}"));
}

#[test]
fn a_sound_trace_keeps_every_rule() {
    insta::assert_snapshot!(said(&corehop(&folder(), &["check", "bank.trace"])));
}

#[test]
fn of_a_cut_trace_check_says_what_is_readable() {
    let folder = folder();
    change(&folder, |bytes| bytes.truncate(bytes.len() - 100));
    insta::assert_snapshot!(said(&corehop(&folder, &["check", "bank.trace"])));
    let told = json(
        "check",
        &corehop(&folder, &["check", "--json", "bank.trace"]),
    );
    assert_eq!(told["ok"], false);
    assert_eq!(told["rules"][13]["name"], "end");
    assert_eq!(told["rules"][13]["ok"], false);
    let info = corehop(&folder, &["info", "--json", "bank.trace"]);
    assert!(info.status.success());
    assert_eq!(json("info", &info)["ending"], "cut");
}

#[test]
fn of_a_damaged_trace_check_says_what_is_intact_on_either_side() {
    let folder = folder();
    change(&folder, |bytes| bytes[1500] ^= 4);
    insta::assert_snapshot!(said(&corehop(&folder, &["check", "bank.trace"])));
    assert_eq!(
        corehop(&folder, &["info", "bank.trace"]).status.code(),
        Some(3)
    );
}

#[test]
fn a_trace_without_requests_is_sound_but_says_so() {
    let folder = tempfile::tempdir().unwrap();
    record(&folder.path().join("bank.trace"), 0).unwrap();
    assert!(corehop(&folder, &["check", "bank.trace"]).status.success());
    let info = said(&corehop(&folder, &["info", "bank.trace"]));
    assert!(
        info.contains("requests      none: `parse` was never reached"),
        "{info}"
    );
}

#[test]
fn files_that_are_no_traces_are_refused_each_in_its_own_words() {
    let folder = folder();
    std::fs::write(folder.path().join("empty.trace"), "").unwrap();
    std::fs::write(folder.path().join("short.trace"), [0; 20]).unwrap();
    std::fs::write(folder.path().join("notes.txt"), "milk, eggs").unwrap();
    let files = [
        "missing.trace",
        "empty.trace",
        "short.trace",
        "notes.txt",
        ".",
    ];
    let all = files.map(|file| {
        let check = corehop(&folder, &["check", file]);
        assert_eq!(said(&check), said(&corehop(&folder, &["info", file])));
        said(&check)
    });
    insta::assert_snapshot!(all.concat());
}

#[test]
fn a_name_that_is_not_utf_8_is_in_json_all_the_same() {
    let folder = folder();
    let odd = folder.path().join(OsStr::from_bytes(b"odd \xff.trace"));
    record(&odd, 3).unwrap();
    let commands: [&[&str]; 4] = [
        &["info", "--json"],
        &["check", "--json"],
        &["replay", "--json"],
        &["replay", "--timed", "--json"],
    ];
    for command in commands {
        let mut corehop = Command::new(env!("CARGO_BIN_EXE_corehop"));
        let output = corehop.args(command).arg(&odd).output().unwrap();
        assert!(output.status.success(), "{command:?}: {output:?}");
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        let shown = value["trace"].as_str().unwrap();
        assert!(shown.ends_with("odd \u{fffd}.trace"), "{shown}");
    }
}
