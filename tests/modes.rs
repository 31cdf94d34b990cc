//! `corehop replay` on a trace of a machine: user code and the kernel separately, in tables and
//! keys.

use crate::conforming;
use crate::machine_trace;
use serde_json::{Value, json};
use std::process::Command;
use tempfile::TempDir;

/// Both functions of the server, each on a separate core.
const PLAN: &str = "\
version = 1
machine = \"tiny.toml\"
trace = \"bank.trace\"
cores = 2
seed = 1
[[function]]
module = \"/usr/bin/server\"
build_id = \"0a1b\"
offset = 0
symbol = \"serve\"
core = 0
mode = \"enter\"

[[function]]
module = \"/usr/bin/server\"
build_id = \"0a1b\"
offset = 64
symbol = \"answer\"
core = 1
mode = \"enter\"
";

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    machine_trace::write(&folder.path().join("bank.trace")).unwrap();
    for (name, text) in [("tiny.toml", machine_trace::MACHINE), ("split.toml", PLAN)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn said(folder: &TempDir, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(arguments)
        .current_dir(folder.path())
        .output()
        .expect("corehop runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8(output.stdout).unwrap()
}

fn replay(arguments: &[&str]) -> String {
    let replay = ["replay", "bank.trace", "--machine", "tiny.toml"];
    said(&folder(), &[&replay, arguments].concat())
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
    // The heading begins with spaces, which a continued line would lose.
    assert_eq!(tables.trim_start(), expected.trim_start());
}

#[test]
fn scripts_get_the_same_counts() {
    let said = conforming::read(&["replay"], replay(&["--json"]));
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

/// The machine is given, because the plan refers to it as a file in the same folder.
const EXPLAIN: [&str; 6] = [
    "explain",
    "--plan",
    "split.toml",
    "bank.trace",
    "--machine",
    "tiny.toml",
];

#[test]
fn an_explanation_has_both_modes_on_one_core_and_with_the_plan() {
    let told = said(&folder(), &EXPLAIN);
    let from = told.find("a request, by mode").expect("a table of modes");
    let table: Vec<&str> = told[from..].lines().take(11).collect();
    let expected = "\
a request, by mode                one core         split    change
accesses of user code                  5.0           5.0    +0.0 %
  L1I misses                           3.0           2.0   -33.3 %
  L1D misses                           2.0           1.0   -50.0 %
  L2 misses                            4.0           2.0   -50.0 %
  L3 misses                            1.0           1.0    +0.0 %
accesses of the kernel                 6.0           6.0    +0.0 %
  L1I misses                           5.0           5.0    +0.0 %
  L1D misses                           1.0           1.0    +0.0 %
  L2 misses                            6.0           6.0    +0.0 %
  L3 misses                            1.0           1.0    +0.0 %";
    assert_eq!(table.join("\n"), expected);
    let told = said(&folder(), &[&EXPLAIN[..], &["--json"]].concat());
    let told = conforming::read(&["explain"], &told);
    for side in ["baseline", "split"] {
        let of = |part: &Value| part["l2"]["misses"].as_u64().unwrap();
        let modes = &told["modes"][side];
        let both = of(&modes["user"]) + of(&modes["kernel"]);
        assert_eq!(both, of(&told[side]["counters"]));
    }
}

#[test]
fn a_report_draws_both_modes() {
    let folder = folder();
    let report = [
        "report",
        "split.toml",
        "bank.trace",
        "--machine",
        "tiny.toml",
    ];
    said(
        &folder,
        &[&report[..], &["--csv", "numbers", "--svg", "pictures"]].concat(),
    );
    let read = |name: &str| {
        let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
        text.replace('\r', "")
    };
    let misses = "\
level,of,one core,split,change
L1I,user code,3.00,2.00,-1.0
L1I,the kernel,5.00,5.00,
L1D,user code,2.00,1.00,-1.0
L1D,the kernel,1.00,1.00,
L2,user code,4.00,2.00,-2.0
L2,the kernel,6.00,6.00,
L3,user code,1.00,1.00,
L3,the kernel,1.00,1.00,
";
    assert_eq!(read("numbers/misses-by-mode.csv"), misses);
    let lines = "\
what,of,one core,split,change
lines,user code,4.00,4.00,
lines,the kernel,6.00,6.00,
";
    assert_eq!(read("numbers/working-sets-by-mode.csv"), lines);
    let picture = read("pictures/misses-by-mode.svg");
    let bars = ["class=\"user\"", "class=\"kernel\""].map(|bar| picture.contains(bar));
    assert_eq!(bars, [true; 2]);
}
