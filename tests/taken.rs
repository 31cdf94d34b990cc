//! Every command that replays reports next to its figures if it uses physical addresses, or if the
//! trace has a made-up module.

use crate::conforming;
use crate::definitions;
use corehop_traces::{CodeBlock, EndReason, Error, Kind, Module, Page, WriterOptions};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const CODE: u64 = 0x40_0000;
const REQUESTS: usize = 40;

const PLAN: &str = "\
version = 1
machine = \"xeon-e5-2620-v4\"
trace = \"bank.trace\"
cores = 2
seed = 1
function = [
    { module = \"/usr/bin/server\", build_id = \"0a1b\", offset = 0, symbol = \"parse\", \
core = 0, mode = \"enter\" },
    { module = \"/usr/bin/server\", build_id = \"0a1b\", offset = 64, symbol = \"execute\", \
core = 1, mode = \"enter\" },
]
";

/// The address of a made-up kernel.
const KERNEL: u64 = 0xffff_9000_0000_0000;

/// Requests that load from one page, read, and load from another page with the same physical
/// address. The kernel that reads may be made up.
fn write(path: &Path, is_modelled: bool) -> Result<(), Error> {
    let (mut writer, module) = definitions::begin(path, &WriterOptions::default(), "parse", CODE)?;
    let at = (module, CODE);
    let parse = definitions::function(&mut writer, at, ("parse", 0), None)?;
    let execute = definitions::function(&mut writer, at, ("execute", 64), None)?;
    let page = |number| Page {
        process_id: 1,
        since: 0,
        number,
        frame: 9,
    };
    writer.pages(&[page(1), page(2)])?;
    let kernel = match is_modelled {
        true => {
            writer.module(&Module {
                path: "[kernel, modelled]".into(),
                build_id: String::new(),
                load_bias: 0,
                start: KERNEL,
                end: KERNEL + 4096,
            })?;
            Some(writer.code_block(&CodeBlock::new(KERNEL, [4]), None)?)
        }
        false => None,
    };
    let thread = writer.thread(1, 1)?;
    writer.stamp(thread, 1)?;
    for _ in 0..REQUESTS {
        writer.request(thread)?;
        writer.execution(thread, parse)?;
        writer.data(thread, 0, Kind::Load, 8, 0x1000)?;
        writer.system_call(thread, libc::SYS_read as i32, Some(0))?;
        if let Some(block) = kernel {
            writer.execution(thread, block)?;
        }
        writer.execution(thread, execute)?;
        writer.data(thread, 0, Kind::Load, 8, 0x2000)?;
    }
    writer.finish(EndReason::ServerExited)?;
    Ok(())
}

fn folder() -> TempDir {
    folder_with(false)
}

fn folder_with(is_modelled: bool) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("bank.trace"), is_modelled).unwrap();
    std::fs::write(folder.path().join("split.toml"), PLAN).unwrap();
    folder
}

/// The words of each command, and whether it prints its figures as an object with `--json`.
const COMMANDS: [(&[&str], bool); 9] = [
    (&["replay", "bank.trace"], true),
    (&["replay", "bank.trace", "--detail"], true),
    (&["replay", "bank.trace", "--timed", "--warm-up", "1"], true),
    (&["profile", "bank.trace"], true),
    (&["explain", "bank.trace", "--plan", "split.toml"], true),
    (
        &[
            "partition",
            "bank.trace",
            "--cores",
            "2",
            "--requests",
            "10",
            "--group-within",
            "0",
        ],
        true,
    ),
    (
        &[
            "partition",
            "bank.trace",
            "--cores",
            "2",
            "--requests",
            "10",
            "--group-within",
            "0",
            "--sweep",
        ],
        true,
    ),
    (&["characterize", "bank.trace", "--requests", "10"], true),
    (
        &["report", "split.toml", "bank.trace", "-o", "report.html"],
        false,
    ),
];

fn said(folder: &TempDir, words: &[&str]) -> String {
    let program = match words[0] {
        "characterize" => "corehop-lab",
        _ => "corehop",
    };
    let output = Command::new(Path::new(crate::BUILT).with_file_name(program))
        .args(words)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    let page = folder.path().join("report.html");
    match std::fs::read_to_string(&page) {
        Ok(text) => {
            std::fs::remove_file(page).unwrap();
            text
        }
        Err(_) => String::from_utf8(output.stdout).unwrap(),
    }
}

/// Asserts the remark of every command about the trace in a folder with these options.
fn every_command_says(
    folder: &TempDir,
    options: &[&str],
    remark: &str,
    (key, value): (&str, Value),
) {
    let plainly = self::folder();
    for (words, has_json) in COMMANDS {
        let plain = said(&plainly, words);
        assert!(!plain.contains(remark), "{words:?}: {plain}");
        let taken = [words, options].concat();
        let told = said(folder, &taken);
        assert!(told.contains(remark), "{taken:?}: {told}");
        if !has_json {
            assert!(told.contains(&options.join(" ")), "how to do it again");
            continue;
        }
        let told = said(folder, &[&taken[..], &["--json"]].concat());
        let told = conforming::read(words, &told);
        assert_eq!(told[key], value, "{taken:?}");
    }
}

#[test]
fn every_command_says_that_the_kernel_was_made_up() {
    every_command_says(
        &folder_with(true),
        &[],
        "[kernel, modelled] is synthetic: what it does was not recorded",
        ("modelled", json!(["[kernel, modelled]"])),
    );
}

#[test]
fn every_command_says_that_addresses_are_physical() {
    every_command_says(
        &folder(),
        &["--index", "physical"],
        "lines are identified by physical addresses",
        ("index", "physical".into()),
    );
}

#[test]
fn a_report_says_where_in_physical_memory_lines_are() {
    let folder = folder();
    let report = ["report", "split.toml", "bank.trace", "-o", "report.html"];
    assert!(!said(&folder, &report).contains("physical memory at 0x9000"));
    let taken = said(&folder, &[&report[..], &["--index", "physical"]].concat());
    assert!(taken.contains("physical memory at 0x9000"));
}

#[test]
fn a_split_shares_what_is_one_page_in_memory() {
    let folder = folder();
    let misses = |index| {
        let explain = [
            "explain",
            "bank.trace",
            "--plan",
            "split.toml",
            "--warm-up",
            "0",
            "--json",
        ];
        let told = said(&folder, &[&explain[..], &["--index", index]].concat());
        let told = conforming::read(&["explain"], &told);
        told["split"]["counters"]["l3"]["load"]["misses"].clone()
    };
    // Virtual: two lines. Physical: one line, which each L2 loads, the second from the L3.
    assert_eq!(
        (misses("virtual"), misses("physical")),
        (2.into(), 1.into())
    );
}
