//! `corehop schema`: prints the JSON Schema of each command's JSON.
//!
//! The schemas are hand-written, strict files of `configs/schemas/`: an unknown key is an error,
//! and the tests validate the output of the commands. Shared parts are in `definitions.json`. A
//! printed schema contains a copy of the parts that it refers to, so that it needs no other file.

mod keys;

use crate::failure::Failure;
use crate::terminal::console;
use crate::terminal::line::{Lines, line};
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::{Map, Value};

/// Print the JSON Schema of a command's JSON, or its keys, or list the schemas
///
/// The schemas use draft 2020-12. A command with several kinds of output has a schema for each.
#[derive(Args)]
#[command(after_help = "\
Example: corehop schema
         corehop schema partition --keys
         corehop schema partition > partition.schema.json")]
pub struct Arguments {
    /// Schema to print; default: list all
    #[arg(value_parser = PossibleValuesParser::new(NAMED.map(|(name, _)| name)))]
    name: Option<String>,
    /// List the schema's keys with their types and meanings, as text
    #[arg(long, requires = "name")]
    keys: bool,
}

/// Reads the texts of schemas by name, each from the file of that name.
macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../configs/schemas/", $name, ".json")))),*]
    };
}

/// In the order of the commands.
const NAMED: [(&str, &str); 26] = files![
    "optimize",
    "screen",
    "control",
    "info",
    "check",
    "diff",
    "replay",
    "replay-timed",
    "replay-system-calls",
    "profile",
    "profile-what-if",
    "profile-suggest",
    "functions",
    "candidates",
    "candidates-by-argument",
    "partition",
    "partition-sweep",
    "partition-by-argument",
    "explain",
    "report",
    "patch",
    "patch-verify",
    "patch-list-unsafe",
    "measure",
    "calibrate",
    "doctor",
];

/// Definitions shared by several schemas. A program of experiments has additional ones.
pub const DEFINITIONS: &str = include_str!("../../configs/schemas/definitions.json");

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    console::print(&match &arguments.name {
        Some(name) if arguments.keys => keys(&NAMED, &[DEFINITIONS], name),
        Some(name) => printed(&NAMED, &[DEFINITIONS], name),
        None => listed(&NAMED),
    })
}

/// Returns a line for each of these schemas, which are texts by name.
pub fn listed(named: &[(&str, &str)]) -> Lines {
    let mut lines = Lines::new();
    for (name, text) in named {
        let schema = object(text);
        let title = schema["title"].as_str().unwrap_or_default();
        line!(lines, "{name:<26}{title}");
    }
    lines
}

/// Returns one of these schemas, with the definitions that it refers to.
pub fn printed(named: &[(&str, &str)], definitions: &[&str], name: &str) -> Lines {
    let schema = found(named, definitions, name);
    Lines::of_text(&format!("{:#}", Value::Object(schema)))
}

/// Returns the keys of one of these schemas as text.
pub fn keys(named: &[(&str, &str)], definitions: &[&str], name: &str) -> Lines {
    keys::of(&found(named, definitions, name))
}

/// Returns the complete schema of this name.
fn found(named: &[(&str, &str)], definitions: &[&str], name: &str) -> Map<String, Value> {
    let text = named.iter().find(|(known, _)| *known == name);
    whole(object(text.map_or("{}", |(_, text)| text)), definitions)
}

/// Parses a file of the folder. The tests parse each file, so none is invalid.
fn object(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap_or_default()
}

/// Adds the definitions that the schema refers to, directly or indirectly.
fn whole(mut schema: Map<String, Value>, definitions: &[&str]) -> Map<String, Value> {
    let shared: Vec<_> = definitions.iter().map(|text| object(text)).collect();
    let mut definitions = match schema.remove("$defs") {
        Some(Value::Object(own)) => own,
        _ => Map::new(),
    };
    let mut wanted = Vec::new();
    refer(&Value::Object(schema.clone()), &mut wanted);
    definitions.values().for_each(|own| refer(own, &mut wanted));
    while let Some(name) = wanted.pop() {
        if definitions.contains_key(&name) {
            continue;
        }
        if let Some(definition) = shared.iter().find_map(|of| of["$defs"].get(&name)) {
            refer(definition, &mut wanted);
            definitions.insert(name, definition.clone());
        }
    }
    if !definitions.is_empty() {
        schema.insert("$defs".into(), definitions.into());
    }
    schema
}

/// Adds the names of the definitions that a part of a schema refers to.
fn refer(part: &Value, wanted: &mut Vec<String>) {
    match part {
        Value::Object(keys) => {
            let reference = keys.get("$ref").and_then(Value::as_str);
            let name = reference.and_then(|path| path.strip_prefix("#/$defs/"));
            wanted.extend(name.map(ToOwned::to_owned));
            keys.values().for_each(|value| refer(value, wanted));
        }
        Value::Array(parts) => parts.iter().for_each(|value| refer(value, wanted)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, CommandFactory};

    /// Returns the names of all commands under this one that have the option --json.
    fn with_json(command: &Command, name: &str) -> Vec<String> {
        let has_json = command.get_arguments().any(|one| one.get_id() == "json");
        let below = command.get_subcommands().flat_map(|below| {
            let name = match name {
                "" => below.get_name().to_owned(),
                name => name.to_owned(),
            };
            with_json(below, &name)
        });
        let own = has_json.then(|| name.to_owned());
        own.into_iter().chain(below).collect()
    }

    #[test]
    fn every_command_with_json_has_a_schema() {
        let commands = with_json(&crate::Cli::command(), "");
        assert!(commands.len() > 10, "{commands:?}");
        for command in commands {
            let has_schema = NAMED.iter().any(|(name, _)| *name == command);
            assert!(has_schema, "schemas/{command}.json is missing");
        }
    }

    #[test]
    fn every_file_of_the_folder_is_there_for_a_name() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/schemas");
        let files = std::fs::read_dir(folder).unwrap();
        let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut files: Vec<String> = files.collect();
        let named = NAMED.iter().map(|(name, _)| *name).chain(["definitions"]);
        let mut named: Vec<String> = named.map(|name| format!("{name}.json")).collect();
        files.sort();
        named.sort();
        assert_eq!(files, named);
    }

    #[test]
    fn every_definition_is_referred_to_and_every_reference_is_to_one() {
        let shared = object(DEFINITIONS);
        let shared = shared["$defs"].as_object().unwrap();
        let mut used = std::collections::BTreeSet::new();
        for (name, text) in NAMED {
            let schema = whole(object(text), &[DEFINITIONS]);
            let mut wanted = Vec::new();
            refer(&Value::Object(schema.clone()), &mut wanted);
            for of in wanted {
                let is_there = schema["$defs"].get(&of).is_some();
                assert!(is_there, "schemas/{name}.json: no definition of {of}");
                used.insert(of);
            }
        }
        let unused: Vec<_> = shared.keys().filter(|name| !used.contains(*name)).collect();
        assert!(unused.is_empty(), "{unused:?}");
    }
}
