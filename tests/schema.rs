//! `corehop schema`: its schemas are valid, strict, and describe each key.

use crate::conforming;
use crate::schemas;
use serde_json::Value;
use std::process::{Command, Output};

fn corehop(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    command.args(arguments).output().unwrap()
}

fn all() -> Vec<(String, Value)> {
    let all = schemas::of_program(env!("CARGO_BIN_EXE_corehop"));
    assert!(all.len() > 20, "{all:?}");
    all
}

#[test]
fn every_schema_is_one_of_draft_2020_12() {
    for (name, schema) in all() {
        assert_eq!(
            schema["$schema"],
            "https://json-schema.org/draft/2020-12/schema"
        );
        let valid = jsonschema::draft202012::meta::validate(&schema);
        assert!(valid.is_ok(), "{name}: {}", valid.unwrap_err());
        // It contains everything that it refers to.
        let whole = jsonschema::draft202012::new(&schema);
        assert!(whole.is_ok(), "{name}: {}", whole.unwrap_err());
    }
}

#[test]
fn every_object_is_closed_and_every_key_has_a_description() {
    let mut wrong = Vec::new();
    for (name, schema) in all() {
        schemas::walk(&schema, &name, &mut |part, place| {
            // A part that selects between forms, or that others refer to, is closed by its user.
            if place.ends_with("/if") || place.ends_with("/$defs/explanation") {
                return;
            }
            wrong.extend(schemas::faults(part, place));
        });
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_key_is_listed_with_its_meaning() {
    let missing = schemas::keys_not_listed(env!("CARGO_BIN_EXE_corehop"), &all());
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn keys_are_listed_by_where_they_stand() {
    let output = corehop(&["schema", "doctor", "--keys"]);
    insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap());
}

#[test]
fn keys_without_a_name_are_a_usage_error() {
    let output = corehop(&["schema", "--keys"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn an_unknown_name_is_a_usage_error_that_lists_the_names() {
    let output = corehop(&["schema", "partitions"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("partition-sweep"), "{said}");
}

#[test]
fn a_key_too_many_or_too_few_is_an_error() {
    let output = corehop(&["candidates", "--json", "--requests", "3"]);
    let told = conforming::read(&["candidates"], &output.stdout);
    let deviations = |told: &Value| conforming::deviations("candidates", told).len();
    let mut more = told.clone();
    more["candidates"][0]["calls"]["mode"] = 1.into();
    assert_eq!(deviations(&more), 1);
    let mut less = told;
    less["candidates"][0]
        .as_object_mut()
        .unwrap()
        .remove("share");
    assert_eq!(deviations(&less), 1);
}
