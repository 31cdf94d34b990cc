//! `corehop-lab schema`: its schemas are valid, take no other keys, and the pages tell of each key.

use crate::conforming::schema;
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The schemas by name, as the command lists them.
fn all() -> Vec<(String, Value)> {
    let output = Command::new(crate::LAB).arg("schema").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let listed = String::from_utf8(output.stdout).unwrap();
    let named = listed.lines().map(|line| {
        let (name, title) = line.split_once(' ').expect("a name and a title");
        let schema = schema(name);
        assert_eq!(schema["title"], title.trim());
        (name.to_owned(), schema)
    });
    named.collect()
}

/// Calls `look` with each part of a schema that describes an object, and where it stands.
fn walk(part: &Value, place: &str, look: &mut dyn FnMut(&Value, &str)) {
    match part {
        Value::Object(keys) => {
            if part.get("properties").is_some() {
                look(part, place);
            }
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
fn every_schema_is_valid_and_closed_and_describes_its_keys() {
    let all = all();
    assert_eq!(all.len(), 4, "{all:?}");
    let mut wrong = Vec::new();
    for (name, schema) in &all {
        let valid = jsonschema::draft202012::meta::validate(schema);
        assert!(valid.is_ok(), "{name}: {}", valid.unwrap_err());
        walk(schema, name, &mut |part, place| {
            let is_closed = ["additionalProperties", "unevaluatedProperties"]
                .iter()
                .any(|key| part[*key] == Value::Bool(false));
            if !is_closed {
                wrong.push(format!("{place} takes keys that it does not name"));
            }
            let silent = |value: &Value| value["description"].as_str().is_none_or(str::is_empty);
            let keys = part["properties"].as_object().unwrap();
            let silent = keys.iter().filter(|(_, value)| silent(value));
            wrong.extend(silent.map(|(key, _)| format!("{place}: {key} has no description")));
        });
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap();
    let files = files.map(|file| file.unwrap().path());
    files
        .filter(|file| file.extension().is_some_and(|suffix| suffix == "md"))
        .collect()
}

#[test]
fn the_pages_tell_of_every_key() {
    let mut keys = BTreeSet::new();
    for (_, schema) in all() {
        walk(&schema, "", &mut |part, _| {
            keys.extend(part["properties"].as_object().unwrap().keys().cloned());
        });
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = ["research", "docs/reference"].map(|folder| pages(&root.join(folder)));
    let text: String = pages
        .iter()
        .flatten()
        .map(|page| std::fs::read_to_string(page).unwrap())
        .collect();
    let quoted = Regex::new("`[^`\n]+`").unwrap();
    let told: BTreeSet<&str> = quoted
        .find_iter(&text)
        .flat_map(|words| {
            let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            words.as_str().split(move |letter| !is_part(letter))
        })
        .collect();
    let missing: Vec<_> = keys.iter().filter(|key| !told.contains(&***key)).collect();
    assert!(missing.is_empty(), "the pages do not tell of {missing:?}");
}
