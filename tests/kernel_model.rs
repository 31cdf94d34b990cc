//! `corehop replay --kernel-model`: what is synthetic is called so, and what it cannot do is
//! refused.

use crate::conforming;
use crate::machine_trace;
use corehop_traces::{CodeBlock, EndReason, Error, Header, Writer, WriterOptions};
use std::path::Path;
use std::process::{Command, Output};

/// Two reads and a look at the clock.
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

fn replay(write: fn(&Path) -> Result<(), Error>, more: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("bank.trace")).unwrap();
    Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(["replay", "bank.trace", "--kernel-model", "soares"])
        .args(more)
        .current_dir(folder.path())
        .output()
        .expect("corehop runs")
}

#[test]
fn what_a_modelled_kernel_does_is_called_synthetic() {
    let said = replay(write, &["--detail"]).stdout;
    let said = String::from_utf8(said).unwrap();
    let heading = "everything counted from cold caches: 1 361 accesses\n\
                   the kernel is synthetic, modelled after soares: what it did was not recorded\n";
    assert!(said.contains(heading), "{said}");
    assert!(said.contains("  read (modelled)\n"), "{said}");

    let said = replay(write, &["--json"]).stdout;
    let said = conforming::read(&["replay"], &said);
    assert_eq!(said["kernel_model"], "soares");
    let read = &said["modes"]["visits"][0];
    assert_eq!(
        (&read["name"], &read["visits"]),
        (&"read".into(), &2.into())
    );
    assert_eq!(read["lines"], 2 * 679);
}

#[test]
fn a_trace_with_a_kernel_or_without_system_calls_is_refused() {
    let refused = |write| {
        let output = replay(write, &[]);
        assert_eq!(output.status.code(), Some(3));
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
