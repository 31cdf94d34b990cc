//! Checks that what documents mention exists: commands, options, make targets, variables, and
//! files.
//!
//! A page outlives what it describes: an option is renamed or a file moves, and the sentence stays.
//! Therefore every code span and code block of a document is checked. After `corehop COMMAND`,
//! every `--option` must belong to that command. A separate option must belong to some command.
//! `make TARGET` must be in the Makefile, and a variable must be used in some source file. A path
//! that begins with a folder of the repository must exist. Comments in sources are checked for
//! paths, too.

#[path = "../tests/sources/mod.rs"]
mod sources;

use clap::{Command, CommandFactory};
use regex::Regex;
use sources::sources;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Defines a pattern that is compiled once.
macro_rules! pattern {
    ($name:ident, $text:literal) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($text).expect("a pattern"));
    };
}

pattern!(TARGET, r"(?m)^([a-z][a-z-]*(?: [a-z][a-z-]*)*):");
pattern!(VARIABLE, r"\bCOREHOP_[A-Z_]+\b");
pattern!(OPTION, r"(?:^|[\s\[`|])(--[a-z][a-z0-9-]*)");
pattern!(
    COMMAND,
    r"^(?:\$ |sudo |[A-Z_]+=\S+ )*corehop((?: [a-z][a-z-]*)*)(?:\s|$)"
);
pattern!(MAKE, r"(?:^|\s)make ([a-z][a-z-]*)");
pattern!(PATH, r"(?:^|[\s`(])([a-z_]+(?:/[A-Za-z0-9_.-]+)+)");
pattern!(SPAN, r"`([^`]+)`");
pattern!(OTHER, r#""[^"]*"|'[^']*'|   .*| -- .*|[;|&<].*"#);

/// Everything that documents may mention.
struct Known {
    /// Options by command, such as `partition` or `import drmemtrace`.
    options: BTreeMap<String, BTreeSet<String>>,
    targets: BTreeSet<String>,
    variables: BTreeSet<String>,
    /// The root of the repository.
    root: PathBuf,
    /// The folders of its crates.
    crates: Vec<PathBuf>,
}

/// Options of other programs that pages mention alone: of Docker, of `corehop-lab`.
const OF_OTHERS: [&str; 6] = [
    "--build-arg",
    "--cpus",
    "--cpuset-cpus",
    "--security-opt",
    "--user",
    "--perf-script",
];

impl Known {
    fn here() -> Known {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let makefile = std::fs::read_to_string(root.join("Makefile")).expect("a Makefile");
        let targets = TARGET
            .captures_iter(&makefile)
            .flat_map(|found| found[1].split(' ').map(str::to_owned).collect::<Vec<_>>())
            .collect();
        let mut options = BTreeMap::new();
        collect(&crate::Cli::command(), "", &BTreeSet::new(), &mut options);
        let mut variables = BTreeSet::new();
        for path in sources(&[".rs", ".c", ".py", ".sh", ".yml", ".S", ".h"]) {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            variables.extend(
                VARIABLE
                    .find_iter(&text)
                    .map(|found| found.as_str().to_owned()),
            );
        }
        Known {
            options,
            targets,
            variables,
            root: root.to_path_buf(),
            crates: sources(&["Cargo.toml"])
                .iter()
                .filter(|path| path.ends_with("Cargo.toml"))
                .filter_map(|path| Some(path.parent()?.to_path_buf()))
                .collect(),
        }
    }

    /// Returns what a document mentions that does not exist.
    fn missing(&self, text: &str) -> Vec<String> {
        let mut missing = Vec::new();
        for code in code_of(text) {
            missing.extend(self.missing_options(&code));
            missing.extend(self.missing_targets(&code));
            missing.extend(self.missing_paths(&code));
        }
        for found in VARIABLE.find_iter(text) {
            if !self.variables.contains(found.as_str()) {
                missing.push(format!("variable {}", found.as_str()));
            }
        }
        missing
    }

    fn missing_options(&self, code: &str) -> Vec<String> {
        let options = |text: &str| -> Vec<String> {
            OPTION
                .captures_iter(text)
                .map(|found| found[1].to_owned())
                .collect()
        };
        let code = own_words(code);
        let Some(found) = COMMAND.captures(&code) else {
            let is_alone = code.starts_with("--");
            let all: BTreeSet<&String> = self.options.values().flatten().collect();
            return options(if is_alone { &code } else { "" })
                .into_iter()
                .filter(|name| !all.contains(name) && !OF_OTHERS.contains(&name.as_str()))
                .map(|name| format!("option {name}"))
                .collect();
        };
        let words: Vec<&str> = found[1].split_whitespace().collect();
        let named = |count: usize| words[..count].join(" ");
        let Some(name) = (0..=words.len())
            .rev()
            .map(named)
            .find(|name| self.options.contains_key(name))
        else {
            return vec![];
        };
        if name.is_empty() && !words.is_empty() {
            return vec![format!("command corehop {}", words[0])];
        }
        // In `corehop ... --option`, the command is open, so the option may belong to any command.
        let known = match name.is_empty() {
            true => self.options.values().flatten().cloned().collect(),
            false => self.options[&name].clone(),
        };
        options(&code)
            .into_iter()
            .filter(|option| !known.contains(option))
            .map(|option| format!("option {option} of corehop {name}"))
            .collect()
    }

    fn missing_targets(&self, code: &str) -> Vec<String> {
        MAKE.captures_iter(code)
            .filter(|found| !self.targets.contains(&found[1]))
            .map(|found| format!("target make {}", &found[1]))
            .collect()
    }

    fn missing_paths(&self, code: &str) -> Vec<String> {
        PATH.captures_iter(code)
            .map(|found| found[1].trim_end_matches(['.', '-']).to_owned())
            .filter(|path| {
                let first = path.split('/').next().unwrap_or(path);
                let is_made = ["target", "scratch", "build"].contains(&first);
                // If the line names a crate, a path may begin with the crate's `src`.
                let mut roots = self.crates.iter().filter(|_| first == "src");
                !is_made
                    && self.root.join(first).is_dir()
                    && !self.root.join(path).exists()
                    && !roots.any(|root| root.join(path).exists())
            })
            .map(|path| format!("path {path}"))
            .collect()
    }
}

/// Collects the options of a command and its subcommands, including global options.
fn collect(
    command: &Command,
    name: &str,
    above: &BTreeSet<String>,
    all: &mut BTreeMap<String, BTreeSet<String>>,
) {
    let mut own: BTreeSet<String> = ["--help".into(), "--version".into()].into();
    let mut global = above.clone();
    for argument in command.get_arguments() {
        let names = argument.get_long().into_iter();
        let aliases = argument.get_visible_aliases().unwrap_or_default();
        for long in names.chain(aliases) {
            own.insert(format!("--{long}"));
            if argument.is_global_set() {
                global.insert(format!("--{long}"));
            }
        }
    }
    own.extend(global.iter().cloned());
    all.insert(name.to_owned(), own);
    for below in command.get_subcommands() {
        let path = format!("{name} {}", below.get_name());
        collect(below, path.trim(), &global, all);
    }
}

/// Returns the code spans and blocks of a page; a command over several lines becomes one line.
fn code_of(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut prose, mut command, mut is_fenced) = (String::new(), String::new(), false);
    for line in text.lines() {
        if line.starts_with("```") {
            is_fenced = !is_fenced;
            continue;
        }
        let code = if is_fenced {
            Some(line)
        } else {
            line.strip_prefix("    ")
        };
        match code.map(|code| (code, code.strip_suffix('\\'))) {
            Some((_, Some(part))) => command += &format!("{} ", part.trim()),
            Some((code, None)) => found.push(std::mem::take(&mut command) + code.trim_start()),
            None => {
                prose += line;
                prose.push('\n');
            }
        }
    }
    let spans = SPAN.captures_iter(&prose);
    found.extend(spans.map(|span| span[1].split_whitespace().collect::<Vec<_>>().join(" ")));
    found
}

/// Returns a command line without quoted text, explanations after several spaces, and arguments of
/// other programs.
fn own_words(line: &str) -> String {
    OTHER.replace_all(line.trim(), "").into_owned()
}

#[test]
fn what_documents_mention_exists() {
    let known = Known::here();
    let mut missing = Vec::new();
    for path in sources(&[".md"]) {
        let name = path.strip_prefix(&known.root).expect("within").to_owned();
        // The changelog describes former versions, and research describes another program.
        if name == Path::new("CHANGELOG.md") || name.starts_with("research") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a page");
        let found = known.missing(&text).into_iter();
        missing.extend(found.map(|what| format!("{}: {what}", name.display())));
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn paths_that_comments_name_lead_somewhere() {
    let known = Known::here();
    let mut missing = Vec::new();
    for path in sources(&[".rs", ".c", ".h", ".py", ".sh", ".S"]) {
        let text = std::fs::read_to_string(&path).expect("a source file");
        let comments = text.lines().filter(|line| {
            let line = line.trim_start();
            ["//", "*", "#", "/*"]
                .iter()
                .any(|mark| line.starts_with(mark))
        });
        let comments = comments.collect::<Vec<_>>().join("\n");
        let spans = code_of(&comments);
        let found = spans.iter().flat_map(|code| known.missing_paths(code));
        missing.extend(found.map(|what| format!("{}: {what}", path.display())));
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn a_mistake_of_each_kind_is_found() {
    let known = Known::here();
    for (text, expected) in [
        (
            "    corehop partitoin --cores 2",
            "command corehop partitoin",
        ),
        (
            "    corehop partition --kores 2",
            "option --kores of corehop partition",
        ),
        (
            "    corehop record -o a \\\n        --bogus x",
            "option --bogus of corehop record",
        ),
        ("With `--bogus`, it ends.", "option --bogus"),
        ("Run `make everything-else`.", "target make everything-else"),
        (
            concat!("`COREHOP_", "NO_SUCH_THING=1` does it."),
            concat!("variable COREHOP_", "NO_SUCH_THING"),
        ),
        ("See `src/no_such_file.rs`.", "path src/no_such_file.rs"),
    ] {
        assert_eq!(known.missing(text), [expected], "{text}");
    }
    for right in [
        "    corehop record -o bank.trace --requests 10 -- server --bogus",
        "`--cores` and `--json`, `make test`, `src/lib.rs`, `COREHOP_BACKEND`",
    ] {
        assert_eq!(known.missing(right), [""; 0], "{right}");
    }
}
