//! Packs redis alone, and measures with it for some seconds, as on another machine: with an empty
//! environment, another current folder, no network, and another user than root.
//!
//! The results must fit the schema, servers must use no file but packed ones and glibc's, and an
//! interrupted run must print what it found and leave no process.

mod alone;
mod run;

use crate::pack::{self, Extent, SIZE_LIMIT_BYTES};
use crate::{Outcome, running};
use run::{Ended, Run};
use serde_json::Value;
use std::fs::File;
use std::path::Path;

const SCHEMA: &str = include_str!("../schema.json");

/// Fails if any of it does not work.
pub fn check() -> Outcome<()> {
    let folder = running::folder()?;
    check_limit(&folder.path().join("large"))?;
    let packed = folder.path().join("packed");
    pack::pack(&packed, &Extent::BRIEF)?;
    let out = folder.path().join("out.json");
    let whole = Run::start(&packed, &["--brief", "--out", &out.display().to_string()])?;
    let Ended {
        status,
        json,
        foreign,
    } = whole.wait()?;
    assert_eq!(status.code(), Some(0), "{json}");
    assert_eq!(
        json,
        serde_json::from_slice::<Value>(&std::fs::read(&out)?)?
    );
    assert_eq!(foreign, [""; 0], "files of this machine are used");
    check_schema(&json);
    assert_eq!(json["complete"], true, "{json}");
    check_figures(&json);
    let interrupted = Run::start(&packed, &["--seconds", "60"])?;
    let Ended { status, json, .. } = interrupted.interrupt()?;
    assert_eq!(status.code(), Some(130), "{json}");
    check_schema(&json);
    assert_eq!(json["complete"], false, "{json}");
    assert!(json["machine"]["cpus"].is_string(), "{json}");
    let refused = Run::start(&packed, &["--cpus", "9999"])?.wait()?;
    assert_eq!(refused.status.code(), Some(2));
    Ok(())
}

/// A folder of the limit's size is accepted, and one more byte is not.
fn check_limit(folder: &Path) -> Outcome<()> {
    std::fs::create_dir(folder)?;
    let file = File::create(folder.join("file"))?;
    file.set_len(SIZE_LIMIT_BYTES)?;
    assert_eq!(
        pack::check_size(folder, SIZE_LIMIT_BYTES)?,
        SIZE_LIMIT_BYTES
    );
    file.set_len(SIZE_LIMIT_BYTES + 1)?;
    let refused = pack::check_size(folder, SIZE_LIMIT_BYTES)
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("above the limit") && refused.contains("large/file"),
        "{refused}"
    );
    Ok(())
}

fn check_schema(json: &Value) {
    let schema = serde_json::from_str(SCHEMA).expect("schema.json is JSON");
    let schema = jsonschema::draft202012::new(&schema).expect("schema.json is a schema");
    let errors: Vec<String> = schema
        .iter_errors(json)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:#?} in {json}");
}

/// What can be measured on every machine is there; what cannot has a reason.
fn check_figures(json: &Value) {
    assert!(
        json["calibration"]["found"].is_object(),
        "{}",
        json["calibration"]
    );
    for hop in json["hops"].as_array().into_iter().flatten() {
        let is_there = hop["cpus"].is_array();
        assert_eq!(is_there, hop["reason"].is_null(), "{hop}");
        assert_eq!(is_there, hop["word_ns"].is_array(), "{hop}");
    }
    // mariadbd is not packed.
    for cores in json["connections"].as_array().into_iter().flatten() {
        assert!(cores["reason"].is_string(), "{cores}");
    }
    let redis = &json["servers"][0];
    let is_one_core = json["machine"]["cores"] == 1;
    for row in redis["rows"].as_array().into_iter().flatten() {
        let is_there = row["ratio"].is_number() && row["starts"] == 1;
        let lacks_hops = row["backend"] == "carrier" && row["reasons"][0].is_string();
        assert!(is_there || lacks_hops || is_one_core, "{redis}");
    }
    assert!(redis["reason"].is_null() || is_one_core, "{redis}");
    let counters = &json["counters"];
    assert_eq!(
        counters["reason"].is_null(),
        counters["per_request"].is_object(),
        "{counters}"
    );
}
