//! The page of interposed functions lists all of them, each with its rule; and the page on
//! DynamoRIO's tests refers to existing tests.

use object::{Object, ObjectSymbol};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// The text in backquotes in the cells of the page's tables, by the first cell of the row.
fn rows() -> Vec<(String, Vec<String>)> {
    let page = text("docs/reference/interposed.md");
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let rule = cells[0].trim_matches('`');
        let is_rule = rule
            .chars()
            .all(|letter| letter.is_uppercase() || letter == '_');
        let names = if is_rule { cells[1] } else { cells[0] };
        let names = names.split(", ").map(|name| name.trim_matches('`').into());
        (if is_rule { rule } else { "" }.into(), names.collect())
    })
    .collect()
}

#[test]
fn every_function_of_the_library_is_on_the_page_once_and_no_other() {
    let library = object::File::parse(corehop_runtime::LIBRARY).unwrap();
    let symbols = library.dynamic_symbols();
    let functions = symbols
        .filter(|symbol| symbol.is_definition())
        .filter_map(|symbol| symbol.name().ok());
    let exported: BTreeSet<&str> = functions
        .filter(|name| !name.starts_with("corehop_"))
        .collect();
    let rows = rows();
    let mut named: Vec<&str> = rows
        .iter()
        .flat_map(|row| &row.1)
        .map(|name| &**name)
        .collect();
    named.sort_unstable();
    assert_eq!(named, exported.into_iter().collect::<Vec<_>>());
}

#[test]
fn every_rule_of_the_header_is_on_the_page_with_its_functions() {
    let mut rules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in text("runtime/interpose/interposed.h").lines() {
        if let Some(words) = line.strip_prefix("INTERPOSED(") {
            let (name, rule) = words.trim_end_matches(')').split_once(", ").unwrap();
            rules.entry(rule.into()).or_default().insert(name.into());
        }
    }
    let page = rows().into_iter().filter(|(rule, _)| !rule.is_empty());
    let page: BTreeMap<_, BTreeSet<_>> = page
        .map(|(rule, names)| (rule, names.into_iter().collect()))
        .collect();
    assert_eq!(page, rules);
}

#[test]
fn every_test_that_the_page_on_dynamorio_names_exists() {
    let page = text("research/notes/dynamorio.md");
    let quoted = page.split('`').skip(1).step_by(2);
    let named: Vec<(&str, &str)> = quoted.filter_map(|word| word.split_once("::")).collect();
    assert!(named.len() > 20, "{named:?}");
    for (module, test) in named {
        let file = text(&format!("patcher/tests/{module}.rs"));
        let begins = format!("fn {}", test.trim_end_matches("..."));
        assert!(file.contains(&begins), "{module}::{test}");
    }
}
