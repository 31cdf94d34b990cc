//! `corehop export`: the accesses of a small trace as text, byte by byte, and its behavior if the
//! reader stops or nothing can be written.

use crate::interrupting::interrupt;
use corehop_traces::{
    CodeBlock, EndReason, Header, Kind, Module, RequestId, Trace, Writer, WriterOptions,
};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// The accesses of the two requests in the small trace: a block whose second instruction spans two
/// lines, and a short one at an address of twelve digits.
const FIRST: &str = "\
I  0040003c,4
 L 00001000,8
I  00400040,4
 S 7ffd3a18f0a0,16
";
const SECOND: &str = "I  7f8e5c2a1040,3\n S 0000003f,2\n L ffffffffffffffff,1\n";

/// A folder with a trace of two threads, each of which serves one request `times` times.
fn folder(times: usize) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    record(&folder.path().join("bank.trace"), times).unwrap();
    folder
}

fn record(path: &Path, times: usize) -> Result<(), corehop_traces::Error> {
    let mut writer = Writer::create(path, &Header::default(), &WriterOptions::default())?;
    let crossing = writer.code_block(&CodeBlock::new(0x40_003c, [3, 5]), None)?;
    let short = writer.code_block(&CodeBlock::new(0x7f8e_5c2a_1040, [3]), None)?;
    let threads = [writer.thread(1, 1)?, writer.thread(1, 2)?];
    // The second thread is written first, but its stamp is later.
    writer.stamp(threads[1], 2)?;
    writer.request(threads[1])?;
    for _ in 0..times {
        writer.execution(threads[1], short)?;
        writer.data(threads[1], 0, Kind::Store, 2, 0x3f)?;
        writer.data(threads[1], 0, Kind::Load, 1, u64::MAX)?;
    }
    writer.stamp(threads[0], 1)?;
    writer.request(threads[0])?;
    writer.execution(threads[0], crossing)?;
    writer.data(threads[0], 0, Kind::Load, 8, 0x1000)?;
    writer.data(threads[0], 1, Kind::Store, 16, 0x7ffd_3a18_f0a0)?;
    writer.finish(EndReason::ServerExited)?;
    Ok(())
}

fn command(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    command.args(["export", "--format", "lackey", "bank.trace"]);
    command.args(arguments).current_dir(folder.path());
    command
}

fn export(folder: &TempDir, arguments: &[&str]) -> Output {
    command(folder, arguments).output().unwrap()
}

#[track_caller]
fn said(folder: &TempDir, arguments: &[&str]) -> String {
    let output = export(folder, arguments);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn refused(folder: &TempDir, code: i32, arguments: &[&str]) -> String {
    let output = export(folder, arguments);
    assert_eq!(output.status.code(), Some(code));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    String::from_utf8(output.stderr).unwrap()
}

/// Returns the names of the files in the folder.
fn names(folder: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    let names = entries.map(|entry| name(entry).into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn records_are_the_accesses_of_a_replay_in_its_order() {
    let folder = folder(1);
    let all = format!("{FIRST}{SECOND}");
    assert_eq!(said(&folder, &[]), all);
    assert_eq!(said(&folder, &["-o", "-"]), all);
    assert_eq!(said(&folder, &["-o", "bank.lackey"]), "");
    let written = std::fs::read_to_string(folder.path().join("bank.lackey")).unwrap();
    assert_eq!(written, all);
    assert_eq!(names(&folder), ["bank.lackey", "bank.trace"]);
}

#[test]
fn chosen_requests_are_written_alone() {
    let folder = folder(1);
    assert_eq!(said(&folder, &["--requests", "0"]), FIRST);
    assert_eq!(said(&folder, &["--requests", "1"]), SECOND);
    assert_eq!(
        refused(&folder, 3, &["--requests", "1-9"]),
        "corehop: bank.trace: request 9 does not exist: the trace has 2 requests, numbered \
         from 0\n  remedy: `corehop info` prints their number\n"
    );
}

/// Writes a trace of two requests of one thread. Each runs a loop of two blocks twice, calls a
/// library, and goes back. Another library is loaded, but never called.
fn record_branches(path: &Path) -> Result<(), corehop_traces::Error> {
    let mut writer = Writer::create(path, &Header::default(), &WriterOptions::default())?;
    for (path, start) in [
        ("/usr/bin/server", 0x40_0000),
        ("/usr/lib/library.so", 0x7f00_0000),
        ("/usr/lib/unused.so", 0x7f10_0000),
    ] {
        writer.module(&Module {
            path: path.into(),
            build_id: "0a1b".into(),
            load_bias: start,
            start,
            end: start + 0x1000,
        })?;
    }
    let mut block = |start, sizes: &[u8]| {
        let block = CodeBlock::new(start, sizes.iter().copied());
        writer.code_block(&block, None)
    };
    let [head, tail] = [block(0x40_0100, &[4, 2])?, block(0x40_0106, &[3, 2])?];
    let called = block(0x7f00_0020, &[1])?;
    let thread = writer.thread(1, 1)?;
    for request in 0..2 {
        writer.stamp(thread, request)?;
        writer.request(thread)?;
        for block in [head, tail, head, tail, called] {
            writer.execution(thread, block)?;
        }
    }
    writer.finish(EndReason::ServerExited)?;
    Ok(())
}

#[test]
fn a_profile_for_bolt_has_taken_branches_and_what_runs_between_them() {
    let folder = tempfile::tempdir().unwrap();
    record_branches(&folder.path().join("bank.trace")).unwrap();
    let bolt = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
        command.args(["export", "bank.trace"]).args(arguments);
        let output = command.current_dir(folder.path()).output().unwrap();
        let [said, told] = [output.stdout, output.stderr].map(|of| String::from_utf8(of).unwrap());
        (output.status.code(), said, told)
    };
    let server = "B X:0 100 1 0\nB 109 X:0 2 0\nB 109 100 2 0\nF 100 109 4\n";
    assert_eq!(
        bolt(&["--format", "bolt"]),
        (Some(0), server.into(), String::new())
    );
    let library = "B X:0 20 2 0\nB 20 X:0 1 0\nF 20 20 1\n";
    let named = ["--format", "bolt", "--module", "library.so"];
    assert_eq!(bolt(&named), (Some(0), library.into(), String::new()));
    let one = "B 109 X:0 1 0\nB 109 100 1 0\nF 100 109 2\n";
    let first = [
        "--format",
        "bolt",
        "--module",
        "/usr/bin/server",
        "--requests",
        "0",
    ];
    assert_eq!(bolt(&first), (Some(0), one.into(), String::new()));
    let (code, said, told) = bolt(&["--format", "bolt", "--module", "bank"]);
    assert_eq!((code, said.as_str()), (Some(2), ""));
    assert_eq!(
        told,
        "corehop: --module bank: bank.trace has no such file\n  \
         remedy: name one of these files:\n    /usr/bin/server\n    /usr/lib/library.so\n    \
         /usr/lib/unused.so\n"
    );
    let unused = ["--format", "bolt", "--module", "unused.so"];
    let told = "corehop: bank.trace: no branch of /usr/lib/unused.so was taken, so there is no \
                profile\n  remedy: name another file with --module, or record the server again, \
                under load\n";
    assert_eq!(bolt(&unused), (Some(3), String::new(), told.into()));
    let (code, _, told) = bolt(&["--module", "server"]);
    assert_eq!(code, Some(2));
    assert!(
        told.starts_with("corehop: --module needs --format bolt\n"),
        "{told}"
    );
    let elsewhere = self::folder(1);
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    command.args([
        "export",
        "--format",
        "bolt",
        "bank.trace",
        "-o",
        "bank.bolt",
    ]);
    let output = command.current_dir(elsewhere.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("no code of a file was executed")
    );
    assert_eq!(names(&elsewhere), ["bank.trace"]);
}

#[test]
fn an_existing_file_is_replaced_only_when_told_to() {
    let folder = folder(1);
    let path = folder.path().join("bank.lackey");
    std::fs::write(&path, "mine").unwrap();
    assert_eq!(
        refused(&folder, 4, &["-o", "bank.lackey"]),
        "corehop: bank.lackey exists already\n  \
         remedy: name another file with -o, or add --force to replace it\n"
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    assert_eq!(said(&folder, &["--force", "-o", "bank.lackey"]), "");
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        format!("{FIRST}{SECOND}")
    );
    let said = refused(&folder, 4, &["-o", "missing/bank.lackey"]);
    assert!(
        said.starts_with("corehop: missing/bank.lackey: cannot write: "),
        "{said}"
    );
}

#[test]
fn a_reader_that_stops_ends_it_quietly() {
    let folder = folder(300_000);
    let mut exporting = command(&folder, &[]);
    let exporting = exporting.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut exporting = exporting.spawn().unwrap();
    let mut begin = [0; FIRST.len()];
    let mut stdout = exporting.stdout.take().unwrap();
    stdout.read_exact(&mut begin).unwrap();
    drop(stdout);
    assert_eq!(begin, FIRST.as_bytes());
    let output = exporting.wait_with_output().unwrap();
    assert!(!output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn an_interrupt_leaves_no_file_behind() {
    let folder = folder(3_000_000);
    let mut exporting = command(&folder, &["-o", "bank.lackey"]);
    let mut exporting = exporting.stderr(Stdio::piped()).spawn().unwrap();
    // The unfinished file appears just before the first record is written.
    interrupt(&mut exporting, || names(&folder).len() > 1);
    let output = exporting.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, "corehop: interrupted; nothing was written\n");
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(names(&folder), ["bank.trace"]);
}

#[test]
fn the_sample_has_as_many_records_as_accesses() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/traces/samples/mariadb-tpcc.trace"
    );
    let trace = Trace::open(Path::new(path)).unwrap();
    let mut executions = trace.executions_of(&[RequestId(7)]);
    let mut accesses = 0;
    while let Some(execution) = executions.next().unwrap() {
        accesses += execution.accesses.len();
    }
    let folder = folder(1);
    std::fs::copy(path, folder.path().join("bank.trace")).unwrap();
    assert_eq!(
        said(&folder, &["--requests", "7"]).lines().count(),
        accesses
    );
}

/// A trace of user code and the kernel, with one request.
fn of_a_machine(folder: &TempDir) {
    let path = folder.path().join("bank.trace");
    let mut writer = Writer::create(&path, &Header::default(), &WriterOptions::default()).unwrap();
    let blocks = [0x40_0000, 0xffff_ffff_8100_0000].map(|start| {
        writer
            .code_block(&CodeBlock::new(start, [4]), None)
            .unwrap()
    });
    let thread = writer.thread(1, 1).unwrap();
    writer.stamp(thread, 1).unwrap();
    writer.request(thread).unwrap();
    for block in blocks {
        writer.execution(thread, block).unwrap();
        writer.data(thread, 0, Kind::Load, 8, 0x1000).unwrap();
    }
    writer.finish(EndReason::ServerExited).unwrap();
}

#[test]
fn the_kernel_can_be_left_out_of_text_and_of_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    of_a_machine(&folder);
    let of_the_server = "I  00400000,4\n L 00001000,8\n";
    let of_the_kernel = "I  ffffffff81000000,4\n L 00001000,8\n";
    assert_eq!(
        said(&folder, &[]),
        format!("{of_the_server}{of_the_kernel}")
    );
    assert_eq!(said(&folder, &["--without-kernel"]), of_the_server);
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    command.args(["export", "--format", "corehop", "--without-kernel"]);
    command.args(["bank.trace", "-o", "user.trace"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.starts_with("user.trace: 1 request, 2 accesses, "),
        "{told}"
    );
    std::fs::rename(
        folder.path().join("user.trace"),
        folder.path().join("bank.trace"),
    )
    .unwrap();
    assert_eq!(said(&folder, &[]), of_the_server);
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    command.args(["export", "--format", "corehop", "bank.trace"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("to standard output"), "{told}");
    assert_eq!(output.status.code(), Some(2));
}
