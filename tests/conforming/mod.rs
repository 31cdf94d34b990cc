//! Reads the JSON output of a command, and validates it against the schema that `corehop schema`
//! prints.

use jsonschema::Validator;
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex};

/// Options that select another schema for the JSON of a command.
const KINDS: [(&str, &str); 11] = [
    ("--timed", "replay-timed"),
    ("--system-calls", "replay-system-calls"),
    ("--by-argument", "candidates-by-argument"),
    ("--by-argument", "partition-by-argument"),
    ("--perf-script", "characterize-perf-script"),
    ("--sweep", "partition-sweep"),
    ("--what-if", "profile-what-if"),
    ("--suggest", "profile-suggest"),
    ("--verify", "patch-verify"),
    ("--list-unsafe", "patch-list-unsafe"),
    ("--list-machines", "fleet-list-machines"),
];

static COMPILED: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);

/// Returns the output of `corehop schema NAME`, or of `corehop-lab schema NAME` for an experiment.
pub fn schema(name: &str) -> Value {
    let of_experiments = ["characterize", "fleet", "pollute"];
    let is_experiment = of_experiments.iter().any(|of| name.starts_with(of));
    let program = if is_experiment {
        "corehop-lab"
    } else {
        "corehop"
    };
    let mut command = Command::new(Path::new(crate::BUILT).with_file_name(program));
    let output = command.args(["schema", name]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the schema name for the output of a command line.
fn name_of(words: &[&str]) -> String {
    let command = words[0];
    let of_option = |(option, name): &&(&str, &str)| {
        words.contains(option) && name.starts_with(&format!("{command}-"))
    };
    let kind = KINDS.iter().find(of_option);
    kind.map_or(command, |(_, name)| name).to_owned()
}

fn compiled(name: &str) -> Arc<Validator> {
    let mut all = COMPILED.lock().unwrap_or_else(|broken| broken.into_inner());
    let new = || Arc::new(jsonschema::draft202012::new(&schema(name)).unwrap());
    all.entry(name.to_owned()).or_insert_with(new).clone()
}

/// Returns where the value and its schema disagree, in both directions.
pub fn deviations(name: &str, value: &Value) -> Vec<String> {
    let validator = compiled(name);
    let errors = validator.iter_errors(value);
    let told = errors.map(|error| format!("{}: {}", error.instance_path(), error.masked()));
    told.collect()
}

/// Reads the JSON that a command printed. `words` contain its name, and at least the options that
/// select the kind of output.
#[track_caller]
pub fn read(words: &[&str], printed: impl AsRef<[u8]>) -> Value {
    let value = serde_json::from_slice(printed.as_ref()).expect("one JSON value");
    let name = name_of(words);
    let wrong = deviations(&name, &value);
    assert!(wrong.is_empty(), "schemas/{name}.json: {wrong:#?}");
    value
}
