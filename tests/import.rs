//! `corehop import`: traces of other tools from files and pipes, its messages, and broken,
//! existing, or interrupted traces.

use crate::conforming;
use crate::interrupting::interrupt;
use crate::server;
use std::io::Write;
use std::process::{ChildStdin, Command, Output, Stdio};
use tempfile::TempDir;

const TEXT: &str = "I  00401000,4\n L 7ffd3a10,8\nI  00401004,4\n M 7ffd3a18,8\n";

fn corehop(folder: &TempDir, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(arguments)
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that refuses its arguments does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

#[track_caller]
fn said(folder: &TempDir, arguments: &[&str], input: &[u8]) -> (String, String) {
    let output = corehop(folder, arguments, input);
    let [out, error] = [output.stdout, output.stderr].map(|b| String::from_utf8(b).unwrap());
    assert_eq!(output.status.code(), Some(0), "{error}");
    (out, error)
}

#[track_caller]
fn refused(folder: &TempDir, code: i32, arguments: &[&str], input: &[u8]) -> String {
    let output = corehop(folder, arguments, input);
    assert_eq!(output.status.code(), Some(code));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    String::from_utf8(output.stderr).unwrap()
}

fn names(folder: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

const LACKEY: [&str; 5] = ["import", "--format", "lackey", "-o", "x.trace"];

#[test]
fn a_text_from_a_file_or_a_pipe_is_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.lackey"), TEXT).unwrap();
    let from_file = [&LACKEY[..], &["x.lackey"]].concat();
    let (_, error) = said(&folder, &from_file, b"");
    assert!(
        error.starts_with("x.trace: 0 requests, 5 accesses, "),
        "{error}"
    );
    let (from_a_file, _) = said(&folder, &["export", "x.trace"], b"");
    let requests = ["--request-at", "0x401004", "--join", "--force", "-"];
    let from_pipe = [&LACKEY[..], &requests].concat();
    let (_, error) = said(&folder, &from_pipe, TEXT.as_bytes());
    assert!(
        error.starts_with("x.trace: 1 request, 5 accesses, "),
        "{error}"
    );
    let (from_a_pipe, _) = said(&folder, &["export", "x.trace"], b"");
    assert_eq!(from_a_file, from_a_pipe);
    assert_eq!(
        from_a_file,
        TEXT.replace(" M 7ffd3a18,8\n", " L 7ffd3a18,8\n S 7ffd3a18,8\n")
    );
}

#[test]
fn info_says_of_an_imported_trace_what_is_known_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    said(&folder, &[&LACKEY[..], &["-"]].concat(), TEXT.as_bytes());
    let (info, _) = said(&folder, &["info", "x.trace"], b"");
    insta::assert_snapshot!(info);
    said(&folder, &["check", "x.trace"], b"");
}

#[test]
fn what_needs_functions_names_the_trace_without_any_and_advises_no_wider_choice() {
    let folder = tempfile::tempdir().unwrap();
    let requests = ["--request-at", "0x401004", "-"];
    // The second request completes the first.
    let text = format!("{TEXT}I  00401004,4\n");
    said(&folder, &[&LACKEY[..], &requests].concat(), text.as_bytes());
    for command in [
        &["functions", "x.trace"][..],
        &["candidates", "--requests", "1", "x.trace"],
        &["partition", "--cores", "2", "--requests", "1", "x.trace"],
    ] {
        let error = refused(&folder, 3, command, b"");
        let missing = "corehop: x.trace: the trace has no functions: ";
        assert!(error.starts_with(missing), "{command:?}: {error}");
    }
}

#[test]
fn an_import_without_accesses_or_requests_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let messages = b"==7== Memcheck, a memory error detector\n";
    let error = refused(&folder, 3, &[&LACKEY[..], &["-"]].concat(), messages);
    assert_eq!(
        error,
        "corehop: standard input: line 1: no access up to here: run Valgrind with --tool=lackey \
         --trace-mem=yes\n  \
         remedy: nothing was written; docs/reference/exchange.md describes the formats\n"
    );
    assert_eq!(names(&folder), [""; 0]);
    let never = [&LACKEY[..], &["--request-at", "0x2000", "-"]].concat();
    let (_, told) = said(&folder, &never, b"I  1000,4\n L 9000,8\n");
    let warning = "warning: x.trace: no request: nothing was executed at 0x2000 (--request-at)\n";
    assert!(told.ends_with(warning), "{told}");
    let (_, told) = said(&folder, &[&LACKEY[..], &["--force", "-"]].concat(), b"");
    let warning = "warning: x.trace: no access: the input is empty\n";
    assert!(told.ends_with(warning), "{told}");
}

#[test]
fn a_recorded_server_goes_out_and_comes_back_in_drmemtraces_records() {
    let folder = tempfile::tempdir().unwrap();
    server::record(&folder.path().join("bank.trace")).unwrap();
    let export = [
        "export",
        "--format",
        "drmemtrace",
        "bank.trace",
        "-o",
        "records",
    ];
    said(&folder, &export, b"");
    let import = [
        "import",
        "--format",
        "drmemtrace",
        "records",
        "-o",
        "again.trace",
    ];
    said(&folder, &import, b"");
    let of = |trace| {
        let (told, _) = said(&folder, &["info", "--json", trace], b"");
        let told = conforming::read(&["info"], &told);
        [
            "loads",
            "stores",
            "threads",
            "requests",
            "complete_requests",
        ]
        .map(|key| {
            let value = &told[key];
            value.as_u64().unwrap()
        })
    };
    assert_eq!(of("again.trace"), of("bank.trace"));
    assert_eq!(of("again.trace"), [3200, 4, 2, 4, 4]);
    let records = std::fs::read(folder.path().join("records")).unwrap();
    let again = ["export", "--format", "drmemtrace", "again.trace", "-o", "-"];
    assert!(corehop(&folder, &again, b"").stdout == records);
}

#[test]
fn records_of_champsim_are_a_trace_with_functions_and_say_what_they_lack() {
    let folder = tempfile::tempdir().unwrap();
    let packed = include_bytes!("../fuzz/seeds/small.champsim.xz");
    std::fs::write(folder.path().join("x.champsimtrace.xz"), packed).unwrap();
    let champsim = ["import", "--format", "champsim", "-o", "x.trace"];
    let from = ["--request-at", "0x401000", "x.champsimtrace.xz"];
    let (_, error) = said(&folder, &[&champsim[..], &from].concat(), b"");
    assert!(error.starts_with("x.trace: 3 requests, "), "{error}");
    for told in [
        "  instructions: 20\n",
        "no sizes of loads and stores: each of the 12 is read as one of 1 byte",
        "their sizes are unknown",
    ] {
        assert!(error.contains(told), "{told}: {error}");
    }
    said(&folder, &["check", "x.trace"], b"");
    let (told, _) = said(&folder, &["info", "--json", "x.trace"], b"");
    let told = conforming::read(&["info"], &told);
    let counts = ["functions", "loads", "stores"].map(|key| told[key].clone());
    assert_eq!(counts, [1, 6, 6]);
    // Cut off within the packed data, and within a record.
    let packed = &packed[..packed.len() - 30];
    let plain = include_bytes!("../fuzz/seeds/small.champsim");
    for (input, said) in [
        (packed, "the xz data is"),
        (
            &plain[..100],
            "record 2 (byte 64): the file ends within a record, after 36 of 64 bytes",
        ),
    ] {
        let words = [&champsim[..], &["--force", "-"]].concat();
        let error = refused(&folder, 3, &words, input);
        assert!(error.contains(said), "{error}");
        let remedy = "remedy: nothing was written; copy the file again from its source\n";
        assert!(error.ends_with(remedy), "{error}");
    }
    assert_eq!(names(&folder), ["x.champsimtrace.xz", "x.trace"]);
}

#[test]
fn a_broken_input_leaves_no_trace_behind() {
    let folder = tempfile::tempdir().unwrap();
    let broken = [&LACKEY[..], &["-"]].concat();
    assert_eq!(
        refused(&folder, 3, &broken, b"I  1000,4\nmilk, eggs\n"),
        "corehop: standard input: line 2: \"milk, eggs\" is not a record: `I`, `L`, `S` or `M`, \
         then ADDRESS,SIZE; run Valgrind with --log-file=FILE to keep out what the program \
         prints\n  \
         remedy: nothing was written; docs/reference/exchange.md describes the formats\n"
    );
    assert_eq!(names(&folder), [""; 0]);
    assert!(
        refused(&folder, 3, &[&LACKEY[..], &["missing"]].concat(), b"")
            .starts_with("corehop: missing: cannot read: ")
    );
}

#[test]
fn an_existing_trace_is_replaced_only_when_told_to() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.trace"), "mine").unwrap();
    let import = [&LACKEY[..], &["-"]].concat();
    assert_eq!(
        refused(&folder, 4, &import, TEXT.as_bytes()),
        "corehop: x.trace exists already\n  \
         remedy: name another file with -o, or add --force to replace it\n"
    );
    assert_eq!(
        std::fs::read(folder.path().join("x.trace")).unwrap(),
        b"mine"
    );
}

#[test]
fn an_interrupt_leaves_no_trace_behind() {
    interrupted(|mut input| {
        while input.write_all(TEXT.as_bytes()).is_ok() {}
        None
    });
}

#[test]
fn an_interrupt_ends_the_wait_for_a_silent_writer() {
    interrupted(Some);
}

/// Interrupts an import that has begun to read. What `write` returns stays open until it has ended.
fn interrupted(write: impl FnOnce(ChildStdin) -> Option<ChildStdin>) {
    let folder = tempfile::tempdir().unwrap();
    let mut importing = Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args([&LACKEY[..], &["-"]].concat())
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The unfinished file appears just before the first byte is read.
    interrupt(&mut importing, || !names(&folder).is_empty());
    let open = write(importing.stdin.take().unwrap());
    let output = importing.wait_with_output().unwrap();
    drop(open);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, "corehop: interrupted; nothing was written\n");
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(names(&folder), [""; 0]);
}

/// Records of one thread that calls 0x2000 from 0x1000, which calls 0x2800, 24 times; both load 300
/// separate lines.
fn records() -> Vec<u8> {
    let mut records = Vec::new();
    let mut put = |kind: u16, size: u16, value: u64| {
        records.extend(kind.to_le_bytes());
        records.extend(size.to_le_bytes());
        records.extend(value.to_le_bytes());
    };
    put(25, 0, 5);
    put(22, 0, 7);
    put(24, 0, 5);
    for _ in 0..24 {
        put(14, 5, 0x1000);
        put(1, 8, 0x9000);
        put(10, 4, 0x2000);
        (0..300).for_each(|line| put(0, 8, 0x2_0000 + 64 * line));
        put(14, 5, 0x2004);
        put(1, 8, 0x8ff8);
        put(10, 4, 0x2800);
        (0..300).for_each(|line| put(0, 8, 0x4_0000 + 64 * line));
        put(16, 1, 0x2804);
        put(0, 8, 0x8ff8);
        put(16, 1, 0x2009);
        put(0, 8, 0x9000);
        put(11, 2, 0x1005);
    }
    put(26, 0, 0);
    records
}

const RECORDS: [&str; 5] = ["import", "--format", "drmemtrace", "-o", "x.trace"];

#[test]
fn a_plan_is_searched_and_explained_on_a_folder_of_drmemtraces() {
    let folder = tempfile::tempdir().unwrap();
    let traced = folder.path().join("traced/trace");
    std::fs::create_dir_all(&traced).unwrap();
    std::fs::write(traced.join("drmemtrace.bank.7.trace"), records()).unwrap();
    std::fs::write(traced.join("notes"), "Bought at the market.").unwrap();
    std::fs::write(traced.join("funclist.log"), "0,1,0x2000,bank!serve\n").unwrap();
    let requests = [&RECORDS[..], &["--request-at", "serve", "traced"]].concat();
    let (_, error) = said(&folder, &requests, b"");
    let mut lines = error.lines();
    let first = lines.next().unwrap();
    assert!(first.starts_with("x.trace: 24 requests, "), "{error}");
    let rest: Vec<&str> = lines.collect();
    assert_eq!(
        rest,
        [
            "  instructions: 168",
            "  left out: 1 files that are no traces"
        ]
    );
    let (candidates, _) = said(&folder, &["candidates", "x.trace"], b"");
    assert!(candidates.contains("serve"), "{candidates}");
    assert!(candidates.contains("0x2800"), "{candidates}");
    // There is no gain: --force writes the plan anyway.
    let partition = ["partition", "--cores", "2", "-o", "p.toml", "x.trace"];
    said(&folder, &[&partition[..], &["--force"]].concat(), b"");
    let (explained, _) = said(&folder, &["explain", "--plan", "p.toml", "x.trace"], b"");
    assert!(explained.contains("0x2800"), "{explained}");
    said(
        &folder,
        &["report", "p.toml", "x.trace", "-o", "p.html"],
        b"",
    );
}

#[test]
fn what_no_drmemtrace_can_be_is_told_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("traced/raw")).unwrap();
    let from_folder = [&RECORDS[..], &["traced"]].concat();
    assert_eq!(
        refused(&folder, 3, &from_folder, b""),
        "corehop: traced: only raw records, which are not converted yet\n  \
         remedy: convert them: drrun -t drmemtrace -indir traced\n"
    );
    let from_pipe = [&RECORDS[..], &["-"]].concat();
    assert_eq!(
        refused(&folder, 3, &from_pipe, &records()[..100]),
        "corehop: standard input: record 9 (byte 96): the file ends within a record, after 4 of \
         12 bytes\n  \
         remedy: nothing was written; copy the file again from its source\n"
    );
    let nobody = [&RECORDS[..], &["--request-at", "nobody", "-"]].concat();
    let error = refused(&folder, 2, &nobody, &records());
    assert!(
        error.starts_with("corehop: --request-at nobody: no address such as 0x401a30"),
        "{error}"
    );
    assert_eq!(names(&folder), ["traced"]);
}
