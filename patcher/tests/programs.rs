//! Programs with hooks at all functions compute the same as without hooks.

use crate::workshop::{self, Statistics, build, patched, plan_of_all, run};
use std::path::Path;
use std::process::Command;

const SHAPES: [&str; 2] = ["shapes.cpp", "registers.S"];

/// Runs the fixture unpatched and with each backend; returns the statistics of `count`.
fn same_with_every_backend(flags: &[&str]) -> Statistics {
    let folder = tempfile::tempdir().unwrap();
    let binary = build(folder.path(), "shapes", flags, &SHAPES);
    let plain = run(&mut Command::new(&binary));
    assert!(plain.status.success());
    assert!(
        plain.output.contains("0 3 42\n50 10 479001600\n"),
        "{}",
        plain.output
    );
    let plan = plan_of_all(&binary, 2);
    assert!(plan.functions.len() > 20);
    let patched = patched(&binary, &plan, folder.path());
    let mut statistics = ["off", "count", "affinity", "auto"].map(|backend| {
        let file = folder.path().join(backend);
        let mut command = Command::new(&patched.output);
        command
            .env("COREHOP_BACKEND", backend)
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
            .env("COREHOP_STATS", &file);
        if let Some(processors) = workshop::two_processors() {
            command.env("COREHOP_CPUS", processors);
        }
        let hooked = run(&mut command);
        assert_eq!(
            (hooked.output, hooked.errors),
            (plain.output.clone(), String::new())
        );
        assert_eq!(hooked.status, plain.status);
        file.exists().then(|| Statistics::read(&file))
    });
    let [off, count, affinity, _] = &mut statistics;
    assert!(off.is_none(), "off writes no statistics");
    let (count, affinity) = (count.take().unwrap(), affinity.take().unwrap());
    assert_eq!(affinity.total("failed_hops"), 0);
    assert_eq!(count.total("hops"), affinity.total("hops"));
    assert_eq!(count.0["functions"], affinity.0["functions"]);
    count
}

#[test]
fn every_call_is_counted_and_nothing_else_changes() {
    let statistics = same_with_every_backend(&["-pie", "-fPIE", "-fcf-protection=none"]);
    let calls = |symbol| statistics.of(symbol).0;
    assert_eq!(calls("main"), 1);
    assert_eq!(calls("catches"), 100 + 12 * 1000);
    assert_eq!(calls("throws_if_odd"), 100 + 12 * 1000);
    assert_eq!(calls("loops_to_entry"), 10);
    assert_eq!(calls("red_zone_end"), 1);
    assert_eq!(calls("switches"), 8);
    assert_eq!(calls("keeps_registers"), 64);
    // One call each by a tail call, through memory, and for errno, and 12 000 by the threads. The
    // forked child's call is not in its parent's count.
    assert_eq!(calls("doubled"), 3 + 12 * 1000);
}

#[test]
fn a_program_for_a_fixed_address_is_patched_too() {
    same_with_every_backend(&["-no-pie", "-fno-pie", "-fcf-protection=none"]);
}

#[test]
fn entries_keep_the_landing_mark_of_indirect_calls() {
    let flags = ["-pie", "-fPIE", "-fcf-protection=full"];
    let statistics = same_with_every_backend(&flags);
    assert_eq!(statistics.of("doubled").0, 3 + 12 * 1000);
}

#[test]
fn without_optimisation_every_frame_is_a_frame() {
    same_with_every_backend(&["-pie", "-fPIE", "-O0"]);
}

#[test]
fn a_stripped_program_is_patched_by_its_unwind_tables() {
    let statistics = same_with_every_backend(&["-pie", "-fPIE", "-s"]);
    assert!(statistics.called() > 20);
    assert!(statistics.total("calls") > 40_000);
}

#[test]
fn a_full_dynamic_section_moves() {
    let folder = tempfile::tempdir().unwrap();
    let none_spare = "-Wl,--spare-dynamic-tags=0";
    let binary = build(folder.path(), "shapes", &["-pie", "-fPIE"], &SHAPES);
    let full = build(
        folder.path(),
        "full",
        &["-pie", "-fPIE", none_spare],
        &SHAPES,
    );
    let place = |path: &Path| {
        let patched = patched(path, &plan_of_all(path, 2), folder.path());
        let listed = run(Command::new("readelf").args(["-lW"]).arg(&patched.output)).output;
        let line = listed
            .lines()
            .find(|l| l.contains("DYNAMIC"))
            .unwrap()
            .to_string();
        let plain = run(Command::new("readelf").args(["-lW"]).arg(path)).output;
        assert!(run(&mut Command::new(&patched.output)).status.success());
        plain.contains(&line)
    };
    assert!(place(&binary), "with spare entries it stays");
    assert!(!place(&full), "without any it moves");
}
