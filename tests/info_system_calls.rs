//! `corehop info --system-calls`: calls by name and by request, and the work between them.

use crate::conforming;
use corehop_traces::{CodeBlock, EndReason, Header, Kind, ThreadId, Writer, WriterOptions};
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// One step of the thread.
enum Step {
    Request(u64),
    Execute,
    /// With a load.
    Load,
    Call(i64, Option<i64>),
}

/// Requests 1, 2, and 5 of a server; the last is cut off.
fn write(path: &Path) -> Result<(), corehop_traces::Error> {
    use Step::{Call, Execute, Load, Request};
    let again = -i64::from(libc::EAGAIN);
    let steps = [
        Request(1),
        Execute,
        Call(libc::SYS_read, Some(5)),
        Execute,
        Load,
        Call(libc::SYS_write, Some(again)),
        Request(2),
        Execute,
        Call(libc::SYS_clock_gettime, Some(0)),
        Execute,
        Call(libc::SYS_read, Some(7)),
        Request(5),
        Execute,
        Call(libc::SYS_read, Some(9)),
        Execute,
        Call(libc::SYS_exit_group, None),
    ];
    let mut writer = Writer::create(path, &Header::default(), &WriterOptions::default())?;
    let block = writer.code_block(&CodeBlock::new(0x1000, [4, 4, 4]), None)?;
    let thread = writer.thread(1, 1)?;
    assert_eq!(thread, ThreadId(0));
    writer.stamp(thread, 1)?;
    for step in steps {
        match step {
            Request(number) => writer.numbered_request(thread, number)?,
            Execute => writer.execution(thread, block)?,
            Load => {
                writer.execution(thread, block)?;
                writer.data(thread, 1, Kind::Load, 8, 0x8000)?;
            }
            Call(number, result) => writer.system_call(thread, number as i32, result)?,
        }
    }
    writer.finish(EndReason::Interrupted).map(|_| ())
}

fn info(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("bank.trace")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_corehop"))
        .arg("info")
        .args(arguments)
        .arg("bank.trace")
        .current_dir(folder.path())
        .output()
        .expect("corehop runs");
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn calls_are_told_by_name_and_request_and_what_lies_between_unless_it_was_left_out() {
    let told = info(&["--system-calls"]);
    let table = told.split_once("\n\n").unwrap().1;
    let expected = "\
system call                      calls   a request      failed  not returned
read                                 3        1.00           0             0
write                                1        0.50           1             0
clock_gettime                        1        0.50           0             0
exit_group                           1        0.00           0             1
all                                  6        2.00

from one to the next         stretches        mean      median
instructions                         4           4           3
accesses                             4           2           1

the clock's left out         stretches        mean      median
instructions                         3           5           6
accesses                             3           2           2
";
    assert_eq!(table, expected);
    assert!(told.contains("\nsystem calls  6 of 4 kinds\n"), "{told}");
}

#[test]
fn a_trace_from_before_traces_told_system_calls_says_so() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(["info", "--system-calls"])
        .arg(root.join("traces/samples/mariadb-tpcc.trace"))
        .output()
        .expect("corehop runs");
    let told = String::from_utf8(output.stdout).unwrap();
    let table = told.split_once("\n\n").unwrap().1;
    let expected = "no system calls: none was made, or the trace was imported, or recorded by a \
                    version that kept none\n";
    assert_eq!(table, expected);
}

#[test]
fn scripts_get_the_same_with_these_keys() {
    let told = conforming::read(&["info"], info(&["--json"]));
    let named = |name, number, calls, share, failed, not_returned| {
        json!({
            "name": name, "number": number, "calls": calls, "calls_per_request": share,
            "failed": failed, "not_returned": not_returned,
        })
    };
    let expected = json!({
        "calls": 6,
        "by_name": [
            named("read", 0, 3, 1.0, 0, 0),
            named("write", 1, 1, 0.5, 1, 0),
            named("clock_gettime", 228, 1, 0.5, 0, 0),
            named("exit_group", 231, 1, 0.0, 0, 1),
        ],
        "between": {
            "stretches": 4,
            "instructions": {"mean": 3.75, "median": 3},
            "accesses": {"mean": 1.5, "median": 1},
        },
        "between_without_clock": {
            "stretches": 3,
            "instructions": {"mean": 5.0, "median": 6},
            "accesses": {"mean": 2.0, "median": 2},
        },
    });
    assert_eq!(told["system_calls"], expected);
}
