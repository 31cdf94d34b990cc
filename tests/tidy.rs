//! House rules that the compiler does not check, such as short lines, and a comment with the idea
//! at the top of each file.

mod sources;

use regex::Regex;
use sources::sources;
use std::path::{Path, PathBuf};

const LONGEST_LINE: usize = 100;
const CODE: &[&str] = &[
    ".rs", ".c", ".cpp", ".h", ".S", ".js", ".py", ".sh", ".capnp", ".pml",
];

/// Returns the message of `broken` for each source file, after the file's path.
fn violations(suffixes: &[&str], broken: impl Fn(&str) -> Option<String>) -> Vec<String> {
    violations_of(sources(suffixes), broken)
}

/// Does the same for these files.
fn violations_of(
    files: impl IntoIterator<Item = PathBuf>,
    broken: impl Fn(&str) -> Option<String>,
) -> Vec<String> {
    let text = |path: &PathBuf| std::fs::read_to_string(path).expect("a text file");
    let check =
        |path: PathBuf| broken(&text(&path)).map(|why| format!("{}: {why}", path.display()));
    files.into_iter().filter_map(check).collect()
}

#[test]
fn a_line_is_at_most_100_characters_long() {
    let too_wide = |text: &str| {
        let long = |(_, line): &(usize, &str)| line.chars().count() > LONGEST_LINE;
        let numbers: Vec<usize> = (1..)
            .zip(text.lines())
            .filter(long)
            .map(|(n, _)| n)
            .collect();
        (!numbers.is_empty()).then(|| format!("lines {numbers:?} are too long"))
    };
    let found = violations(CODE, too_wide);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_file_opens_with_its_idea() {
    let silent = |text: &str| {
        let first = text
            .lines()
            .find(|l| !l.contains("SPDX-License-Identifier"));
        let starts = ["//!", "/*", "//", "#!", "\"\"\"", "# "];
        let opens = first.is_some_and(|l| starts.iter().any(|start| l.starts_with(start)));
        (!opens).then(|| "does not open with its idea".into())
    };
    let found = violations(
        &[".rs", ".c", ".cpp", ".h", ".S", ".js", ".py", ".sh"],
        silent,
    );
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn no_file_is_called_after_nothing_in_particular() {
    let vague = ["utils", "util", "misc", "common", "helper", "helpers", "v0"];
    let found: Vec<_> = sources(CODE)
        .into_iter()
        .filter(|p| {
            p.file_stem()
                .is_some_and(|s| vague.contains(&&*s.to_string_lossy()))
        })
        .collect();
    assert!(found.is_empty(), "{found:#?}");
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern")
}

/// Returns the test code of a file: all of it, or the part after the first `#[cfg(test)]`.
fn of_tests<'a>(path: &Path, text: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    let path = path
        .strip_prefix(env!("CARGO_MANIFEST_DIR"))
        .unwrap_or(path);
    let folder = path.parent().unwrap_or(path);
    let is_whole = folder.iter().any(|name| name == "tests") || path.ends_with("tests.rs");
    (1..)
        .zip(text.lines())
        .skip_while(move |(_, line)| !is_whole && !line.contains("#[cfg(test)]"))
}

/// A test that sleeps and hopes that an event has happened fails on a busy machine. Every other
/// reason to sleep must be in a comment.
#[test]
fn a_test_that_sleeps_says_what_for() {
    let sleep = [
        r"\b(u|nano)?sleep[_a-z]{0,6}\(|SYS_\w*sleep\b",
        r"\b(alarm|setitimer|timer_settime)\(|\b(recv|wait|park|join)_timeout\(",
    ];
    let sleep = pattern(&sleep.join("|"));
    let reason = pattern(r"(//|#) waits: [a-z].");
    let mut silent = Vec::new();
    for path in sources(&[".rs", ".c", ".cpp", ".h", ".S", ".py", ".sh"]) {
        let text = std::fs::read_to_string(&path).expect("a text file");
        let sleeps = of_tests(&path, &text)
            .filter(|(_, line)| sleep.is_match(line) && !reason.is_match(line));
        silent.extend(sleeps.map(|(number, _)| format!("{}:{number}", path.display())));
    }
    let remedy = "wait for an event, or end the line with a comment `waits: REASON`";
    assert!(silent.is_empty(), "{remedy}: {silent:#?}");
}

#[test]
fn the_repository_speaks_of_itself_alone() {
    let elsewhere = [
        concat!("crates", ".io"),
        concat!("pypi", ".org"),
        concat!("/ro", "ot/"),
    ];
    let named = |text: &str| {
        let word = elsewhere.iter().find(|word| text.contains(**word));
        word.map(|word| format!("names {word}"))
    };
    let found = violations(
        &[
            ".rs", ".c", ".cpp", ".h", ".S", ".js", ".py", ".sh", ".md", "Makefile",
        ],
        named,
    );
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_page_that_is_named_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = pattern(r"\bdocs/[a-z-]+/[A-Za-z-]+\.(md|png|svg)|\]\(([^)#:]+)[^):]*\)");
    let mut missing = Vec::new();
    for path in sources(&[".rs", ".c", ".h", ".capnp", ".py", ".sh", ".md"]) {
        let text = std::fs::read_to_string(&path).expect("a text file");
        let is_page = path.extension().is_some_and(|suffix| suffix == "md");
        for found in page.captures_iter(&text) {
            let named = match found.get(2) {
                Some(link) if is_page => path.with_file_name(link.as_str()),
                Some(_) => continue,
                None => root.join(&found[0]),
            };
            if !named.exists() {
                missing.push(format!("{}: {}", path.display(), &found[0]));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
