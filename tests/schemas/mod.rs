//! All schemas of a program, their keys, and which of these no page names.

use crate::conforming::schema;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The schemas by name, as `PROGRAM schema` lists them.
pub fn of_program(program: &str) -> Vec<(String, Value)> {
    let output = Command::new(program).arg("schema").output().unwrap();
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

/// Calls `look` with each part of a schema that is an object, and where it stands.
pub fn walk(part: &Value, place: &str, look: &mut dyn FnMut(&Value, &str)) {
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

/// What is wrong with a part that describes an object: it is open, or a key has no description.
pub fn faults(part: &Value, place: &str) -> Vec<String> {
    let Some(properties) = part.get("properties").and_then(Value::as_object) else {
        return Vec::new();
    };
    let mut wrong = Vec::new();
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
    wrong
}

/// The pages in a folder.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap();
    let files = files.map(|file| file.unwrap().path());
    files
        .filter(|file| file.extension().is_some_and(|suffix| suffix == "md"))
        .collect()
}

/// The keys of schemas that no page in these folders has in code.
pub fn keys_without_a_page(all: &[(String, Value)], folders: &[PathBuf]) -> Vec<String> {
    let mut keys = BTreeSet::new();
    for (_, schema) in all {
        walk(schema, "", &mut |part, place| {
            if place.ends_with("/properties") {
                keys.extend(part.as_object().unwrap().keys().cloned());
            }
        });
    }
    let pages = folders.iter().flat_map(|folder| pages(folder));
    let text: String = pages
        .map(|page| std::fs::read_to_string(page).unwrap())
        .collect();
    let quoted = regex::Regex::new("`[^`\n]+`").unwrap();
    let words = quoted.find_iter(&text).flat_map(|words| {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        words.as_str().split(move |letter| !is_part(letter))
    });
    let told: BTreeSet<&str> = words.collect();
    keys.into_iter()
        .filter(|key| !told.contains(&**key))
        .collect()
}
