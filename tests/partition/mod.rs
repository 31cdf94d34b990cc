//! `corehop partition` as a user and a script see it, on the bundled sample.

mod backends;
mod delegated;
mod interrupted;
mod points;
mod report;
mod space;

use crate::conforming::read;
use crate::made_once::made_once;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::LazyLock;

fn partition(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    command.arg("partition").args(arguments);
    command.output().expect("the command starts")
}

/// Returns the exit code and the message of a refusal.
fn refused(arguments: &[&str]) -> (i32, String) {
    let output = partition(arguments);
    assert!(output.stdout.is_empty(), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), said)
}

pub const SAMPLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/traces/samples/mariadb-tpcc.trace"
);

/// Three requests keep these searches short.
const SHORT: [&str; 4] = ["--cores", "2", "--requests", "3"];

/// The first 100 requests of the sample, for tests that work with any requests: they take half the
/// time.
fn beginning() -> &'static str {
    static PATH: LazyLock<String> = LazyLock::new(|| {
        let folder = made_once("partition", export_beginning);
        folder.join("partition.trace").to_str().unwrap().to_owned()
    });
    &PATH
}

fn export_beginning(folder: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    let as_trace = ["export", "--format", "corehop", "--requests", "0-99"];
    command.args(as_trace).arg("-o");
    command.arg(folder.join("partition.trace")).arg(SAMPLE);
    assert!(command.status().unwrap().success());
}

/// Runs one resample, unless `more` sets another number.
fn json(more: &[&str]) -> Value {
    let draws = match more.contains(&"--resamples") {
        true => &[][..],
        false => &["--resamples", "1"],
    };
    let of = ["--json", beginning()];
    let output = partition(&[&SHORT[..], &of, draws, more].concat());
    assert!(output.status.success(), "{output:?}");
    read(&["partition"], &output.stdout)
}

/// Returns the result of a search that several tests look at, as `json` does.
fn searched(more: &[&str]) -> Value {
    let folder = made_once(&format!("searched{}", more.concat()), |folder| {
        std::fs::write(folder.join("found.json"), json(more).to_string()).unwrap();
    });
    let text = std::fs::read_to_string(folder.join("found.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_plan_counts_requests_where_the_recording_did() {
    let found = searched(&[]);
    let request = &found["request"];
    assert!(
        request["symbol"]
            .as_str()
            .unwrap()
            .contains("dispatch_command"),
        "{request}"
    );
    assert_eq!(request["build_id"], found["plan"][0]["build_id"]);
}
