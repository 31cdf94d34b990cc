//! The keys of a schema as readable text: the place, type, and meaning of each.
//!
//! A nested key is indented; a list has `[]` after the type of its members. A definition with
//! several uses is printed once, in a section with its name, so that the text is not longer than
//! the schema.

use crate::terminal::line::{Lines, line};
use serde_json::{Map, Value};

/// The column of descriptions, unless the key and its type need more space.
const DESCRIPTION_AT: usize = 44;

/// Returns all keys of a complete schema.
pub fn of(schema: &Map<String, Value>) -> Lines {
    let mut lines = Lines::new();
    let title = schema.get("title").and_then(Value::as_str);
    line!(lines, "{}", title.unwrap_or_default());
    line!(lines);
    let top = Value::Object(schema.clone());
    let alone = kind(&top);
    if !alone.is_empty() && alone != "object" {
        line!(lines, "{alone}");
    }
    below(&mut lines, &top, 0);
    let definitions = schema.get("$defs").and_then(Value::as_object);
    for (name, definition) in definitions.into_iter().flatten() {
        line!(lines);
        line!(lines, "{name}: {}", described(definition));
        below(&mut lines, definition, 1);
    }
    lines
}

/// Adds the keys of an object, of each alternative object, or of a list's members.
fn below(lines: &mut Lines, part: &Value, depth: usize) {
    for (key, value) in part
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let name = format!("{:indent$}{key}", "", indent = 2 * depth);
        let head = format!("{name:<26} {}", kind(value));
        line!(
            lines,
            "{head:<width$}  {}",
            described(value),
            width = DESCRIPTION_AT - 2
        );
        below(lines, value, depth + 1);
    }
    for members in ["items", "additionalProperties"] {
        if let Some(members) = part.get(members) {
            below(lines, members, depth);
        }
    }
    for choice in choices(part) {
        below(lines, choice, depth);
    }
}

/// Returns the alternatives of a part.
fn choices(part: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["anyOf", "oneOf"].into_iter();
    let lists = lists.filter_map(|key| part.get(key).and_then(Value::as_array));
    lists.flatten()
}

fn described(part: &Value) -> &str {
    let text = part.get("description").and_then(Value::as_str);
    text.unwrap_or_default()
}

/// Returns the definition that a part refers to.
fn reference(part: &Value) -> Option<&str> {
    part.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

/// Returns the types of a value as text; for a list, those of its members.
fn kind(part: &Value) -> String {
    let mut types: Vec<String> = reference(part).map(String::from).into_iter().collect();
    let is_type = |of: &&Value| of.get("required").is_none();
    types.extend(choices(part).filter(is_type).map(kind));
    let named = part.get("type").into_iter();
    let named = named.flat_map(|of| of.as_array().map_or(std::slice::from_ref(of), |all| all));
    types.extend(named.filter_map(Value::as_str).map(String::from));
    let values = part.get("enum").and_then(Value::as_array);
    types.extend(values.into_iter().flatten().map(Value::to_string));
    types.extend(part.get("const").map(Value::to_string));
    if let Some(members) = part.get("items") {
        let members = kind(members);
        let list = match members.contains(" | ") {
            true => format!("({members})[]"),
            false => format!("{members}[]"),
        };
        types.retain(|of| of != "array");
        types.insert(0, list);
    }
    types.join(" | ")
}
