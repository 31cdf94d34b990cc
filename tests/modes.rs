//! `corehop replay` on a trace of a machine: user code and the kernel apart, in tables and keys.

mod machine_trace;

use serde_json::{Value, json};
use std::process::Command;

fn replay(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    machine_trace::write(&folder.path().join("bank.trace")).unwrap();
    std::fs::write(folder.path().join("tiny.toml"), machine_trace::MACHINE).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(["replay", "bank.trace", "--machine", "tiny.toml"])
        .args(arguments)
        .current_dir(folder.path())
        .output()
        .expect("corehop runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn both_modes_stand_side_by_side_with_what_they_replace() {
    let said = replay(&[]);
    let (_, tables) = said.split_once("\n\n                ").unwrap();
    let expected = "\
                 user code      the kernel   kernel's
accesses                                12              16    57.14 %
L1I misses                               7              12    63.16 %
L1D misses                               3               4    57.14 %
L2 misses                                8              16    66.67 %
  of fetches                             5              12    70.59 %
  of loads and stores                    3               4    57.14 %
L3 misses                                4               9    69.23 %
cycles                                 992           2 080    67.71 %
lines a request, median                  4               9
  of code                                2               6
  of data                                2               3

lines replaced                by user code               by the kernel
                      user's      kernel's        user's      kernel's
L1I                        0             6             6             4
L1D                        0             0             1             2
L2                         2             4             6             8
L3                         0             0             0             0

lines, each visit of the kernel                 it references         it replaces: user code's / all
                                  visits   code   data   both          L1I          L1D           L2
read                                   2      3      2      5        1 / 3        1 / 1        2 / 4
fstat                                  1      2      0      2        2 / 2        0 / 0        1 / 2
apic_timer_interrupt                   1      2      1      3        0 / 1        0 / 1        1 / 3
page_fault                             1      2      0      2        2 / 2        0 / 0        1 / 2
";
    // The heading begins with blanks, which a continued line would lose.
    assert_eq!(tables.trim_start(), expected.trim_start());
}

#[test]
fn scripts_get_the_same_counts() {
    let said: Value = serde_json::from_str(&replay(&["--json"])).unwrap();
    let modes = &said["modes"];
    let replaced = json!({
        "user_by_user": 2, "kernel_by_user": 4, "user_by_kernel": 6, "kernel_by_kernel": 8,
    });
    assert_eq!(modes["replaced"]["l2"], replaced);
    let [user, kernel] = ["user", "kernel"].map(|mode| &modes[mode]);
    let misses = [user, kernel].map(|mode| mode["counters"]["l2"]["misses"].as_u64().unwrap());
    assert_eq!(misses, [8, 16]);
    assert_eq!(said["counters"]["l2"]["misses"], 24);
    let lines = json!({
        "requests": 2,
        "code_lines": {"median": 6, "largest": 6},
        "data_lines": {"median": 3, "largest": 3},
        "lines": {"median": 9, "largest": 9},
        "size_bytes": {"median": 576, "largest": 576},
    });
    assert_eq!(kernel["working_set"], lines);
    let timer = json!({
        "reason": "interrupt", "name": "apic_timer_interrupt", "visits": 1,
        "code_lines": 2, "data_lines": 1, "lines": 3,
        "l1i": {"user": 0, "all": 1}, "l1d": {"user": 0, "all": 1}, "l2": {"user": 1, "all": 3},
        "l3": {"user": 0, "all": 0},
    });
    assert_eq!(modes["visits"][2], timer);
}
