//! `corehop calibrate` as a shell sees it, and `--machine host` afterwards. No time is asserted.

#[path = "../patcher/tests/workshop/busy.rs"]
mod busy;

use crate::conforming;
use crate::interrupting::interrupt;
use busy::Busy;
use corehop_simulator::Machine;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const SAMPLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/traces/samples/mariadb-tpcc.trace"
);

/// Runs corehop, which keeps calibrations here.
fn corehop(host: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    command.args(arguments).env("COREHOP_HOST", host);
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Where a calibration can be kept, in a folder that is not there yet; `None` where the kernel does
/// not describe this machine's caches, without which there is no `host`.
fn place() -> Option<(TempDir, PathBuf)> {
    Machine::named_or_path("host").ok()?;
    let folder = tempfile::tempdir().unwrap();
    let host = folder.path().join("corehop/host.toml");
    Some((folder, host))
}

#[test]
fn what_it_writes_is_machine_host_from_then_on() {
    let Some((_folder, host)) = place() else {
        return;
    };
    let replay = || corehop(&host, &["replay", SAMPLE, "--machine", "host", "--json"]);
    assert_eq!(said(&replay()), "");
    // A second one takes the first one's place.
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
        ignored.contains("not taken for machine host: it is of 'another'"),
        "{ignored}"
    );
}

#[test]
fn a_file_that_is_there_is_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kept.toml");
    std::fs::write(&file, "kept").unwrap();
    let refused = corehop("".as_ref(), &["calibrate", "-o", file.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(4));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
    let nowhere = corehop("".as_ref(), &["calibrate", "--quick"]);
    assert_eq!(nowhere.status.code(), Some(4));
    assert!(said(&nowhere).contains("name a file with -o"));
}

#[test]
fn on_a_busy_machine_nothing_is_written() {
    let Some((_folder, host)) = place() else {
        return;
    };
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
    let Some((folder, host)) = place() else {
        return;
    };
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
    // The folder for the result is made before anything is measured, which takes half a minute.
    interrupt(&mut running, || host.parent().unwrap().exists());
    let status = running.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    assert!(!host.parent().unwrap().exists());
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
}
