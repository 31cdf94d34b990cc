//! `corehop calibrate` as a shell sees it, and `--machine host` afterwards. No time is asserted.

use corehop_simulator::Machine;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

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

/// Whether the kernel describes this machine's caches, without which there is no `host`.
fn is_described() -> bool {
    Machine::named_or_path("host").is_ok()
}

#[test]
fn what_it_writes_is_machine_host_from_then_on() {
    if !is_described() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let host = folder.path().join("corehop/host.toml");
    let replay = || corehop(&host, &["replay", SAMPLE, "--machine", "host", "--json"]);
    assert_eq!(said(&replay()), "");
    // A second one takes the first one's place.
    for _ in 0..2 {
        let calibrated = corehop(&host, &["calibrate", "--quick", "--force", "--json"]);
        assert!(calibrated.status.success(), "{calibrated:?}");
        let told: Value = serde_json::from_slice(&calibrated.stdout).unwrap();
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
