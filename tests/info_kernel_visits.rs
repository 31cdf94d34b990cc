//! `corehop info --system-calls` on a trace of a machine: why the kernel ran, by its entry points.

use crate::conforming;
use crate::machine_trace;
use serde_json::json;
use std::process::Command;

fn info(option: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    machine_trace::write(&folder.path().join("bank.trace")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(["info", option, "bank.trace"])
        .current_dir(folder.path())
        .output()
        .expect("corehop runs");
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn calls_interrupts_and_exceptions_are_told_apart_each_without_what_interrupts_it() {
    let told = info("--system-calls");
    let table = told.split_once("\n\n").unwrap().1;
    let expected = "\
the kernel, each time                   visits   a request  instructions    accesses
system calls                                 3        1.50            15           4
  read                                       2        1.00            19           5
  fstat                                      1        0.50             6           2
interrupts                                   1        0.50             3           3
  apic_timer_interrupt                       1        0.50             3           3
exceptions                                   1        0.50             3           2
  page_fault                                 1        0.50             3           2

user code between calls      stretches        mean      median
instructions                         2          10          11
accesses                             2           5           5
";
    assert_eq!(table, expected);
    assert!(told.contains("\nsystem calls  3 of 2 kinds\n"), "{told}");
}

#[test]
fn scripts_get_the_same_with_these_keys() {
    let told = conforming::read(&["info"], info("--json"));
    let kinds = &told["kernel_visits"]["by_name"];
    let read = json!({
        "reason": "system-call", "name": "read", "visits": 2, "visits_per_request": 1.0,
        "instructions": 19.0, "accesses": 4.5,
    });
    assert_eq!(kinds[0], read);
    let reasons = [0, 1, 2, 3].map(|kind| kinds[kind]["reason"].as_str().unwrap());
    assert_eq!(
        reasons,
        ["system-call", "system-call", "interrupt", "exception"]
    );
    let between = &told["kernel_visits"]["between_system_calls"]["instructions"];
    assert_eq!(*between, json!({"mean": 9.5, "median": 11}));
}
