//! All schemas of a program, their keys, and the keys that it does not list.

use crate::conforming::schema;
use serde_json::Value;
use std::process::Command;

/// Returns the schemas by name, as `PROGRAM schema` lists them.
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

/// Calls `look` with each object in a schema, and its place.
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

/// Returns the faults of a part that describes an object: it is open, or a key has no description.
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

/// Returns the keys that `PROGRAM schema NAME --keys` does not list with their meanings.
pub fn keys_not_listed(program: &str, all: &[(String, Value)]) -> Vec<String> {
    let mut missing = Vec::new();
    for (name, schema) in all {
        let output = Command::new(program)
            .args(["schema", name, "--keys"])
            .output();
        let listed = String::from_utf8(output.unwrap().stdout).unwrap();
        let listed: Vec<&str> = listed.lines().map(str::trim_start).collect();
        walk(schema, name, &mut |part, place| {
            if !place.ends_with("/properties") {
                return;
            }
            for (key, value) in part.as_object().unwrap() {
                let meaning = value["description"].as_str().unwrap_or_default();
                let key = format!("{key} ");
                let is_listed = |line: &&&str| line.starts_with(&key) && line.ends_with(meaning);
                if !listed.iter().any(|line| is_listed(&line)) {
                    missing.push(format!("{place}/{key}"));
                }
            }
        });
    }
    missing
}
