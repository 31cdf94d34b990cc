//! `corehop calibrate` as a shell sees it, and then `--machine host`. No test asserts times.

#[path = "../patcher/tests/workshop/busy.rs"]
mod busy;
mod needs_described_caches;

use std::path::Path;
use std::process::{Command, Output};

const SAMPLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/traces/samples/mariadb-tpcc.trace"
);

/// Runs corehop with `host` as its calibration file.
fn corehop(host: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    command.args(arguments).env("COREHOP_HOST", host);
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
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
