//! `corehop-lab kernel-model`: synthetic parts are labelled so in every replay, and traces that
//! cannot be modelled are rejected.

use crate::conforming;
use crate::machine_trace;
use corehop_traces::{CodeBlock, EndReason, Error, Header, Writer, WriterOptions};
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// Writes two reads and a clock query.
fn write(path: &Path) -> Result<(), Error> {
    let mut writer = Writer::create(path, &Header::default(), &WriterOptions::default())?;
    let block = writer.code_block(&CodeBlock::new(0x1000, [4]), None)?;
    let thread = writer.thread(1, 1)?;
    writer.stamp(thread, 1)?;
    for call in [libc::SYS_read, libc::SYS_clock_gettime, libc::SYS_read] {
        writer.execution(thread, block)?;
        writer.system_call(thread, call as i32, Some(0))?;
    }
    writer.finish(EndReason::ServerExited)?;
    Ok(())
}

fn folder(write: fn(&Path) -> Result<(), Error>) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("bank.trace")).unwrap();
    folder
}

/// Makes the copy.
fn model(folder: &TempDir, more: &[&str]) -> Output {
    Command::new(crate::LAB)
        .args(["kernel-model", "bank.trace", "-o", "modelled.trace"])
        .args(more)
        .current_dir(folder.path())
        .output()
        .expect("corehop-lab runs")
}

/// Returns the product's output for the copy.
fn replayed(folder: &TempDir, more: &[&str]) -> Vec<u8> {
    let output = Command::new(crate::product())
        .args(["replay", "modelled.trace"])
        .args(more)
        .current_dir(folder.path())
        .output()
        .expect("corehop runs");
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

#[test]
fn what_a_modelled_kernel_does_is_called_synthetic() {
    let folder = folder(write);
    let made = model(&folder, &[]);
    assert!(made.status.success(), "{made:?}");

    let said = String::from_utf8(replayed(&folder, &["--detail"])).unwrap();
    let heading = "everything counted from cold caches: 1 361 accesses\n\
                   [kernel, modelled] is synthetic: what it does was not recorded\n";
    assert!(said.contains(heading), "{said}");
    assert!(said.contains("  read (modelled)\n"), "{said}");

    let said = conforming::read(&["replay"], replayed(&folder, &["--json"]));
    assert_eq!(said["modelled"][0], "[kernel, modelled]");
    let read = &said["modes"]["visits"][0];
    assert_eq!(
        (&read["name"], &read["visits"]),
        (&"read".into(), &2.into())
    );
    assert_eq!(read["lines"], 2 * 679);

    let info = Command::new(crate::product())
        .args(["info", "modelled.trace"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let info = String::from_utf8(info.stdout).unwrap();
    let note = "what the kernel does is modelled after soares: it was not recorded";
    assert!(info.contains(note), "{info}");
}

#[test]
fn posted_calls_are_replayed_by_a_modelled_kernel() {
    let folder = folder(write);
    assert!(model(&folder, &["--model", "soares"]).status.success());
    let said = replayed(&folder, &["--system-calls", "read@1"]);
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("[kernel, modelled] is synthetic"), "{said}");
}

#[test]
fn a_trace_with_a_kernel_or_without_system_calls_is_refused() {
    let refused = |write| {
        let folder = folder(write);
        let output = model(&folder, &[]);
        assert_eq!(output.status.code(), Some(3));
        assert!(!folder.path().join("modelled.trace").exists());
        String::from_utf8(output.stderr).unwrap()
    };
    let with_kernel = refused(machine_trace::write);
    assert!(with_kernel.contains("bank.trace: the trace already has the kernel"));
    let without_calls = refused(|path| {
        Writer::create(path, &Header::default(), &WriterOptions::default())?
            .finish(EndReason::ServerExited)
            .map(|_| ())
    });
    assert!(without_calls.contains("bank.trace: it has no system calls to model"));
}

#[test]
fn a_trace_that_is_there_is_kept() {
    let folder = folder(write);
    let there = folder.path().join("modelled.trace");
    std::fs::write(&there, "mine").unwrap();
    assert_eq!(model(&folder, &[]).status.code(), Some(4));
    assert_eq!(std::fs::read_to_string(&there).unwrap(), "mine");
    assert!(model(&folder, &["--force"]).status.success());
    replayed(&folder, &[]);
}
