//! The warning for a trace of several processes that does not record which memory they share.

use corehop_traces::{CodeBlock, EndReason, Header, Writer, WriterOptions};
use std::process::Command;

#[test]
fn of_processes_whose_memory_is_not_told_apart_it_warns() {
    let folder = tempfile::tempdir().unwrap();
    let said = |has_address_spaces, qemu_version: &str| {
        let header = Header {
            has_address_spaces,
            qemu_version: qemu_version.into(),
            ..Header::default()
        };
        let path = folder.path().join("processes.trace");
        let mut writer = Writer::create(&path, &header, &WriterOptions::default()).unwrap();
        let block = writer
            .code_block(&CodeBlock::new(0x40_0000, [4]), None)
            .unwrap();
        for process in [7, 9] {
            let thread = writer.thread(process, process).unwrap();
            writer.stamp(thread, process.into()).unwrap();
            writer.execution(thread, block).unwrap();
        }
        writer.finish(EndReason::ServerExited).unwrap();
        let mut replay = Command::new(env!("CARGO_BIN_EXE_corehop"));
        let output = replay.arg("replay").arg(&path).output().unwrap();
        assert!(output.status.success());
        std::fs::remove_file(path).unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(said(true, "7.2"), "");
    for (qemu_version, remedy) in [("7.2", "record it again\n"), ("", "`corehop export`\n")] {
        let said = said(false, qemu_version);
        assert!(said.contains("of 2 processes"), "{said}");
        assert!(said.ends_with(remedy), "{said}");
    }
}
