//! A program that a signal ends still writes its statistics, and ends by that signal.

use crate::workshop::{self, Running, Statistics, build, patched, plan_of, start};
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;

/// A patched program that hops once and waits.
struct Waits {
    folder: tempfile::TempDir,
    program: PathBuf,
}

fn waits() -> Waits {
    let folder = tempfile::tempdir().unwrap();
    let plain = build(folder.path(), "waits", &[], &["waits.cpp"]);
    let plan = plan_of(&plain, 2, &[("second_core", 1)]);
    Waits {
        program: patched(&plain, &plan, folder.path()).output,
        folder,
    }
}

impl Waits {
    /// Starts it with this backend in this way, and waits until it prints this.
    fn started(&self, backend: &str, way: &str, says: &str) -> Running {
        // The shell that runs these tests may ignore some signals.
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP,INT,TERM");
        self.started_by(command, (backend, way), says)
    }

    /// The same by a command that ends with the program to start.
    fn started_by(
        &self,
        mut command: Command,
        (backend, way): (&str, &str),
        says: &str,
    ) -> Running {
        command
            .arg(&self.program)
            .arg(way)
            .current_dir(self.folder.path())
            .env("COREHOP_BACKEND", backend)
            .env("COREHOP_STATS", "statistics")
            .env("COREHOP_CONTROL", "control")
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
        if let Some(processors) = workshop::two_processors() {
            command.env("COREHOP_CPUS", processors);
        }
        let mut running = start(&mut command);
        running.until_it_says(says);
        running
    }

    fn statistics(&self) -> Option<Statistics> {
        let file = self.folder.path().join("statistics");
        file.exists().then(|| Statistics::read(&file))
    }

    /// Ends it by this signal; its statistics must have its one call.
    fn ends_by(&self, running: Running, signal: Signal) {
        send(&running, signal);
        let ended = running.finish();
        assert_eq!(ended.status.signal(), Some(signal.as_raw()));
        let statistics = self.statistics().expect("it has left some");
        assert_eq!(statistics.of("second_core").0, 1);
        std::fs::remove_file(self.folder.path().join("statistics")).unwrap();
    }
}

fn send(running: &Running, signal: Signal) {
    let number = Pid::from_raw(running.number().cast_signed()).unwrap();
    kill_process(number, signal).unwrap();
}

#[test]
fn whatever_signal_ends_it_statistics_are_left() {
    let waits = waits();
    for backend in ["count", "affinity", "carrier", "auto"] {
        for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
            let running = waits.started(backend, "", "0 0 0 waits");
            waits.ends_by(running, signal);
        }
    }
}

#[test]
fn a_limit_on_the_size_of_files_ends_no_program() {
    let waits = waits();
    // The program's own output goes to files that another process writes.
    let limited = "exec > >(exec cat) 2> >(exec cat >&2); ulimit -f 0; exec \"$@\"";
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM,XFSZ", "bash", "-c"]);
    command.args([limited, "bash"]);
    let running = waits.started_by(command, ("count", ""), "0 0 0 waits");
    send(&running, Signal::TERM);
    let ended = running.finish();
    assert_eq!(ended.status.signal(), Some(Signal::TERM.as_raw()));
    let files = std::fs::read_dir(waits.folder.path()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = names
        .filter(|name| name.starts_with("statistics"))
        .collect();
    assert_eq!(left, [""; 0]);
}

#[test]
fn a_signal_that_the_program_ignores_stays_ignored() {
    let waits = waits();
    let running = waits.started("carrier", "ignoring", "0 0 1 waits");
    send(&running, Signal::HUP);
    waits.ends_by(running, Signal::TERM);
}

#[test]
fn a_handler_of_the_programs_own_may_give_the_signal_back() {
    let waits = waits();
    for backend in ["count", "carrier"] {
        let running = waits.started(backend, "catching", "catches, waits");
        waits.ends_by(running, Signal::TERM);
    }
}

#[test]
fn a_handler_for_one_signal_may_raise_it_again() {
    let waits = waits();
    for backend in ["count", "carrier"] {
        let running = waits.started(backend, "once", "catches, waits");
        waits.ends_by(running, Signal::TERM);
    }
}

#[test]
fn a_control_file_is_obeyed_and_answered_the_first_time_it_is_written() {
    let waits = waits();
    let mut running = waits.started("count", "", "0 0 0 waits");
    std::fs::write(waits.folder.path().join("control"), "count").unwrap();
    let statistics = running.until(|| waits.statistics());
    assert_eq!(statistics.of("second_core"), (1, 1));
    waits.ends_by(running, Signal::TERM);
}

#[test]
fn what_was_counted_before_a_switch_is_kept() {
    let waits = waits();
    let control = waits.folder.path().join("control");
    for (from, to) in [
        ("count", "carrier"),
        ("carrier", "off"),
        ("affinity", "count"),
        ("auto", "off"),
    ] {
        let mut running = waits.started(from, "", "0 0 0 waits");
        std::fs::write(&control, to).unwrap();
        let is_switched = |statistics: &Statistics| statistics.0["backend"] == to;
        let statistics = running.until(|| waits.statistics().filter(is_switched));
        assert_eq!(statistics.of("second_core").0, 1, "{from}, {to}");
        waits.ends_by(running, Signal::TERM);
        std::fs::remove_file(&control).unwrap();
    }
}
