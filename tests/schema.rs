//! `corehop schema`: its schemas are valid, strict, and say of each key what it means.

use crate::conforming;
use crate::conforming::schema;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

fn corehop(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    command.args(arguments).output().unwrap()
}

/// The schemas by name, as the command lists them.
fn all() -> Vec<(String, Value)> {
    let output = corehop(&["schema"]);
    assert!(output.status.success(), "{output:?}");
    let listed = String::from_utf8(output.stdout).unwrap();
    let lines = listed.lines().map(|line| {
        let (name, title) = line.split_once(' ').expect("a name and a title");
        let schema = schema(name);
        assert_eq!(schema["title"], title.trim());
        (name.to_owned(), schema)
    });
    let all: Vec<_> = lines.collect();
    assert!(all.len() > 20, "{listed}");
    all
}

/// Calls `look` with each part of a schema that is an object, and where it stands.
fn walk(part: &Value, place: &str, look: &mut dyn FnMut(&Value, &str)) {
    match part {
        Value::Object(keys) => {
            look(part, place);
            for (key, value) in keys {
                walk(value, &format!("{place}/{key}"), look);
            }
        }
        Value::Array(parts) => {
            for (index, value) in parts.iter().enumerate() {
                walk(value, &format!("{place}/{index}"), look);
            }
        }
        _ => {}
    }
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
        // It refers to nothing that it does not have.
        let whole = jsonschema::draft202012::new(&schema);
        assert!(whole.is_ok(), "{name}: {}", whole.unwrap_err());
    }
}

#[test]
fn every_object_is_closed_and_every_key_has_a_description() {
    let mut wrong = Vec::new();
    for (name, schema) in all() {
        walk(&schema, &name, &mut |part, place| {
            let Some(properties) = part.get("properties").and_then(Value::as_object) else {
                return;
            };
            // What decides between forms, and what others refer to, is closed by who has it.
            if place.ends_with("/if") || place.ends_with("/$defs/explanation") {
                return;
            }
            let closed = ["additionalProperties", "unevaluatedProperties"];
            if !closed
                .iter()
                .any(|key| part.get(*key) == Some(&Value::Bool(false)))
            {
                wrong.push(format!("{place} takes keys that it does not name"));
            }
            for (key, value) in properties {
                let said = value.get("description").and_then(Value::as_str);
                if said.is_none_or(str::is_empty) {
                    wrong.push(format!("{place}/properties/{key} has no description"));
                }
            }
        });
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_key_is_told_of_in_the_documentation() {
    let mut keys = BTreeSet::new();
    for (_, schema) in all() {
        walk(&schema, "", &mut |part, place| {
            if place.ends_with("/properties") {
                keys.extend(part.as_object().unwrap().keys().cloned());
            }
        });
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let pages = ["guide", "reference"].map(|folder| std::fs::read_dir(docs.join(folder)).unwrap());
    let pages = pages.into_iter().flatten().map(|page| page.unwrap().path());
    let pages = pages.filter(|page| page.extension().is_some_and(|suffix| suffix == "md"));
    let text: String = pages
        .map(|page| std::fs::read_to_string(page).unwrap())
        .collect();
    let quoted = regex::Regex::new("`[^`\n]+`").unwrap();
    let words = quoted.find_iter(&text).flat_map(|words| {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        words.as_str().split(move |letter| !is_part(letter))
    });
    let told: BTreeSet<&str> = words.collect();
    let missing: Vec<_> = keys.iter().filter(|key| !told.contains(&***key)).collect();
    assert!(missing.is_empty(), "docs/ does not tell of {missing:?}");
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
