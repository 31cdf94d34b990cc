//! Worker threads without a fiber spin for the configured time, and then sleep.

use crate::workshop::{self, Finished, Statistics, build_alone, of_two_cores, run};
use std::process::Command;

/// Turns of the program, each with a hop to either core.
const TURNS: u64 = 50;

/// Phases that last until every thread outside them sleeps.
const UNTIL_OTHERS_SLEEP: &str = "0";

/// Runs a program of two phases of this many microseconds, one on each core, with this value of
/// COREHOP_SPIN_US.
fn phases(spin_us: &str, phase_us: &str) -> (Finished, Statistics) {
    let folder = tempfile::tempdir().unwrap();
    let program = of_two_cores(folder.path(), "phases", ["first_phase", "second_phase"]);
    let mut command = Command::new(program);
    command
        .args([&TURNS.to_string(), phase_us])
        .current_dir(folder.path())
        .env("COREHOP_BACKEND", "carrier")
        .env("COREHOP_SPIN_US", spin_us)
        // Regardless of other load on the machine.
        .env("COREHOP_RUN_DELAY", "100")
        .env("COREHOP_STATS", "statistics")
        .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
    if let Some(processors) = workshop::two_processors() {
        command.env("COREHOP_CPUS", processors);
    }
    let ran = run(&mut command);
    assert!(ran.status.success(), "{}", ran.errors);
    let statistics = Statistics::read(&folder.path().join("statistics"));
    // The program counts as being on core 0 from the start.
    assert_eq!(statistics.total("hops"), 2 * TURNS - 1);
    (ran, statistics)
}

/// Returns the sum over both cores.
fn of_waits(statistics: &Statistics, key: &str) -> u64 {
    let waits = statistics.0["waits"].as_array().unwrap();
    assert_eq!(waits.len(), 2);
    waits.iter().map(|wait| wait[key].as_u64().unwrap()).sum()
}

#[test]
fn a_carrier_that_may_not_wait_awake_is_woken_for_each_hop() {
    let (ran, statistics) = phases("0", UNTIL_OTHERS_SLEEP);
    assert_eq!(ran.errors, "");
    let wakes = of_waits(&statistics, "wakes");
    assert!(wakes > TURNS, "{wakes}");
    assert!(of_waits(&statistics, "parks") >= wakes);
    assert_eq!(of_waits(&statistics, "spun_us"), 0);
}

#[test]
fn a_carrier_that_may_wait_awake_for_a_second_does_not_sleep_between_phases() {
    let (ran, statistics) = phases("1000000", "1000");
    assert_eq!(ran.errors, "");
    assert_eq!(of_waits(&statistics, "wakes"), 0);
    assert_eq!(of_waits(&statistics, "parks"), 0);
    assert!(of_waits(&statistics, "spun_us") > 0);
}

#[test]
fn a_stop_of_the_cpu_ends_with_its_time_or_when_a_thread_comes() {
    let folder = tempfile::tempdir().unwrap();
    let program = build_alone(folder.path(), "mwait_emulated");
    for instruction in ["umwait", "mwaitx"] {
        let ran = run(Command::new(&program).arg(instruction));
        assert!(ran.status.success(), "{instruction}: {}", ran.errors);
    }
}

#[test]
fn what_is_no_time_is_said_and_left() {
    for wrong in ["soon", "-1", "5ms", "1000001"] {
        let (ran, _) = phases(wrong, "1000");
        assert!(ran.errors.contains("COREHOP_SPIN_US"), "{}", ran.errors);
    }
}
