//! The models of the hand-over (runtime/model) match the existing code.
//!
//! A model's part has a line `mirrors: FILE FUNCTION...` for the C functions that it models. If
//! such a function is renamed or removed, this test names the model to change.

use std::path::{Path, PathBuf};

/// A model, with its mutations and the expected result of a search with each.
pub struct Model {
    pub name: String,
    pub path: PathBuf,
    pub text: String,
    pub mutations: Vec<(String, String)>,
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

pub fn model(name: &str) -> Model {
    let path = root().join(format!("runtime/model/{name}.pml"));
    let path = path.canonicalize().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let expected = |line: &str| {
        let (name, error) = line.strip_prefix(" * ")?.split_once(": ")?;
        let is_mutation = name.starts_with("MUTATE_");
        is_mutation.then(|| (name.to_owned(), error.to_owned()))
    };
    Model {
        name: name.into(),
        mutations: text.lines().filter_map(expected).collect(),
        path,
        text,
    }
}

pub fn models() -> Vec<Model> {
    let folder = std::fs::read_dir(root().join("runtime/model")).unwrap();
    let paths = folder.map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = paths
        .filter(|path| path.extension().is_some_and(|suffix| suffix == "pml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names.iter().map(|name| model(name)).collect()
}

/// Whether a C or assembly file defines the function.
fn defines(text: &str, function: &str) -> bool {
    let is_label = |line: &str| line == format!("{function}:");
    let begins = |line: &str| {
        let at = line.find(&format!("{function}("))?;
        let before = &line[..at];
        let is_type = !before.trim().is_empty() && before.ends_with([' ', '*']);
        (is_type && !line.starts_with([' ', '#', '/']) && !line.ends_with(';')).then_some(())
    };
    text.lines()
        .any(|line| is_label(line) || begins(line).is_some())
}

#[test]
fn each_part_of_a_model_names_a_function_that_there_is() {
    let mut missing = Vec::new();
    for model in models() {
        let named: Vec<&str> = model
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("/* mirrors: ")?.strip_suffix(" */"))
            .collect();
        assert!(!named.is_empty(), "{} mirrors nothing", model.name);
        for mirrored in named {
            let (file, functions) = mirrored.split_once(' ').unwrap();
            let text = std::fs::read_to_string(root().join(file)).unwrap_or_default();
            let absent = functions.split(' ').filter(|name| !defines(&text, name));
            missing.extend(absent.map(|name| format!("{}: {file} {name}", model.name)));
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_process_of_a_model_says_what_it_mirrors_or_stands_for() {
    for model in models() {
        let lines: Vec<&str> = model.text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            if line.starts_with("proctype ") || line.starts_with("inline ") {
                let before = lines[at - 1];
                let is_said = before.ends_with("*/") || before.starts_with("#define ");
                assert!(is_said, "{}: {line}", model.name);
            }
        }
    }
}

#[test]
fn each_mutation_of_a_model_is_one_that_its_heading_names() {
    for model in models() {
        let ifs = ["#ifdef MUTATE_", "#ifndef MUTATE_"];
        let of = |line: &str| {
            let is_if = ifs.iter().any(|condition| line.starts_with(condition));
            is_if.then(|| line.split_once(' ').unwrap().1.to_owned())
        };
        let mut used: Vec<String> = model.text.lines().filter_map(of).collect();
        let mut named: Vec<String> = model.mutations.iter().map(|one| one.0.clone()).collect();
        used.sort();
        used.dedup();
        named.sort();
        assert_eq!(used, named, "{}", model.name);
    }
}
