//! A calibration of this machine. If the kernel does not describe the caches, there is no machine
//! `host`, and the runner counts these tests as skipped.

use super::busy::Busy;
use super::{SAMPLE, corehop, said};
use crate::conforming;
use crate::interrupting::interrupt;
use corehop_simulator::Machine;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Returns a path for a calibration, in a folder that does not exist yet.
fn place() -> (TempDir, PathBuf) {
    Machine::named_or_path("host").expect("run the tests where the kernel describes the caches");
    let folder = tempfile::tempdir().unwrap();
    let host = folder.path().join("corehop/host.toml");
    (folder, host)
}

#[test]
fn what_it_writes_is_machine_host_from_then_on() {
    let (_folder, host) = place();
    let replay = || corehop(&host, &["replay", SAMPLE, "--machine", "host", "--json"]);
    assert_eq!(said(&replay()), "");
    // The second calibration replaces the first.
    for _ in 0..2 {
        let calibrated = corehop(&host, &["calibrate", "--quick", "--force", "--json"]);
        assert!(calibrated.status.success(), "{calibrated:?}");
        let told = conforming::read(&["calibrate"], &calibrated.stdout);
        assert_eq!(told["file"], host.to_str().unwrap());
        let text = std::fs::read_to_string(&host).unwrap();
        let machine = Machine::from_toml(&text, &host).unwrap();
        assert_eq!(told["hop_cost_cycles"], machine.hop_cost_cycles);
        assert_eq!(told["is_quick"], true);
    }
    let expected = format!("corehop: machine host: as measured, {}\n", host.display());
    assert_eq!(said(&replay()), expected);
    let text = std::fs::read_to_string(&host).unwrap();
    let other = text.replace("cpu_model = ", "cpu_model = \"another\" #");
    std::fs::write(&host, other).unwrap();
    let ignored = said(&replay());
    assert!(
        ignored.contains("ignored for machine host: calibrated for 'another'"),
        "{ignored}"
    );
}

#[test]
fn on_a_busy_machine_nothing_is_written() {
    let (_folder, host) = place();
    let others = Busy::start(std::thread::available_parallelism().unwrap().get());
    let refused = corehop(&host, &["calibrate", "--quick"]);
    drop(others);
    assert_eq!(refused.status.code(), Some(5), "{refused:?}");
    let said = said(&refused);
    assert!(
        said.contains("nothing was written: the machine was busy"),
        "{said}"
    );
    assert!(said.contains("add --force"), "{said}");
    assert!(!host.parent().unwrap().exists());
}

#[test]
fn an_interrupted_calibration_leaves_nothing() {
    let (folder, host) = place();
    let temporary = folder.path().join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    command.args(["calibrate", "--force"]);
    command.env("COREHOP_HOST", &host).env("TMPDIR", &temporary);
    let mut running = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The folder for the result is created before the measurement, which takes half a minute.
    interrupt(&mut running, || host.parent().unwrap().exists());
    let status = running.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    assert!(!host.parent().unwrap().exists());
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
}
