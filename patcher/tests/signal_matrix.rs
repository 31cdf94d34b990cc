//! Signals reach their targets, wherever the thread is at that moment.
//!
//! The tests are a matrix of four dispositions, three targets and five states of the thread. Each
//! cell runs unpatched and with each way to move threads: the fixture must print the same and end
//! in the same way. `waiting` is a wait in a call; with asynchronous calls, it is a wait in a ring.

use crate::workshop::{self, Finished, build, patched, plan_of, run};
use std::path::{Path, PathBuf};
use std::process::Command;

const DISPOSITIONS: [&str; 4] = ["blocked", "handler", "default", "ignored"];
const TARGETS: [&str; 3] = ["process", "thread", "oneself"];
const STATES: [&str; 5] = ["running", "hopping", "waiting", "handling", "queued"];

struct Matrix {
    plain: PathBuf,
    program: PathBuf,
    bare: Vec<([&'static str; 3], Finished)>,
    _folder: tempfile::TempDir,
}

impl Matrix {
    fn new() -> Matrix {
        let folder = tempfile::tempdir().unwrap();
        let flags = ["-std=c++20"];
        let plain = build(
            folder.path(),
            "signal_matrix",
            &flags,
            &["signal_matrix.cpp"],
        );
        let plan = plan_of(&plain, 2, &[("first_core", 0), ("second_core", 1)]);
        let program = patched(&plain, &plan, folder.path()).output;
        let bare = cells().map(|cell| (cell, run(&mut command(&plain, cell))));
        Matrix {
            bare: bare.collect(),
            plain,
            program,
            _folder: folder,
        }
    }

    /// Every cell has the same result as the unpatched program.
    fn holds(&self, backend: &str, calls: Option<&str>) {
        assert_ne!(self.plain, self.program);
        let mut wrong = Vec::new();
        for (cell, bare) in &self.bare {
            let mut command = command(&self.program, *cell);
            workshop::hops_by(&mut command, backend);
            if let Some(calls) = calls {
                command.env("COREHOP_SYSCALLS", calls);
            }
            let moved = run(&mut command);
            let is_same = (moved.status, &moved.output) == (bare.status, &bare.output);
            if !is_same || !moved.errors.is_empty() {
                wrong.push(format!(
                    "{cell:?}: {:?}, bare {:?}\n{}{}bare:\n{}",
                    moved.status, bare.status, moved.output, moved.errors, bare.output
                ));
            }
        }
        assert!(wrong.is_empty(), "{backend}:\n{}", wrong.join("\n"));
    }
}

/// A waiting thread does not run, so it does not signal itself.
fn cells() -> impl Iterator<Item = [&'static str; 3]> {
    let pairs = DISPOSITIONS
        .iter()
        .flat_map(|disposition| TARGETS.iter().map(move |target| (disposition, target)));
    let all = pairs.flat_map(|(disposition, target)| {
        STATES
            .iter()
            .map(move |state| [*disposition, *target, *state])
    });
    all.filter(|[_, target, state]| (*target, *state) != ("oneself", "waiting"))
}

fn command(program: &Path, cell: [&str; 3]) -> Command {
    let mut command = Command::new(program);
    command.args(cell);
    command.env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
    command
}

#[test]
fn bare_signals_do_what_the_program_says() {
    for ([disposition, target, state], bare) in Matrix::new().bare {
        let what = format!("{disposition} {target} {state}: {}", bare.output);
        match disposition {
            "default" => assert!(!bare.output.contains("it went on"), "{what}"),
            "ignored" => assert!(bare.output.contains("handled: 0"), "{what}"),
            _ => assert!(bare.output.contains("handled: 1"), "{what}"),
        }
        assert_eq!(bare.status.success(), disposition != "default", "{what}");
        assert_eq!(
            bare.output.contains("Interrupted"),
            (disposition, state) == ("handler", "waiting"),
            "{what}"
        );
    }
}

#[test]
fn signals_come_as_bare_on_carriers() {
    Matrix::new().holds("carrier", None);
}

#[test]
fn signals_come_as_bare_under_affinity() {
    Matrix::new().holds("affinity", None);
}

#[test]
fn signals_come_as_bare_while_auto_tries_hops() {
    Matrix::new().holds("auto", None);
}

#[test]
fn signals_come_as_bare_to_waits_in_a_ring() {
    Matrix::new().holds("carrier", Some("read@batch"));
}

/// Each of the sixteen combinations of a jump out of the handler, a blocked signal, an alternate
/// stack and a timer has the same result as the unpatched program.
#[test]
fn handlers_have_their_masks_stacks_and_jumps_as_bare() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["-std=c++20"];
    let plain = build(
        folder.path(),
        "signal_options",
        &flags,
        &["signal_options.cpp"],
    );
    let plan = plan_of(&plain, 2, &[("first_core", 0), ("second_core", 1)]);
    let program = patched(&plain, &plan, folder.path()).output;
    for options in 0..16 {
        let options = options.to_string();
        let bare = run(Command::new(&plain).arg(&options));
        assert!(
            bare.output.ends_with("it went on\n"),
            "{options}: {}",
            bare.output
        );
        for backend in ["carrier", "affinity", "auto"] {
            let mut command = Command::new(&program);
            command.arg(&options);
            workshop::hops_by(&mut command, backend);
            let moved = run(&mut command);
            let printed = format!("{}{}", moved.output, moved.errors);
            assert_eq!(printed, bare.output, "{options} under {backend}");
            assert!(moved.status.success(), "{options} under {backend}");
        }
    }
}
