//! Checks that the files of a crate do not depend on each other in circles, so that each can be
//! read after its dependencies.
//!
//! A file depends on another if a path in its imports or code leads there. A re-exported name (`pub
//! use`) leads to the file that defines it, so the re-exports of a crate or folder add no circle.
//! Tests and generated files are excluded.

use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A file, identified by its module path within the crate.
type Module = Vec<String>;

/// The content of one file.
struct Source {
    /// All paths in imports, each with its local name and whether it is re-exported.
    imports: Vec<Import>,
    /// The remaining code, without comments and tests.
    body: String,
}

struct Import {
    path: Vec<String>,
    name: String,
    is_handed_on: bool,
}

struct Crate {
    files: BTreeMap<Module, Source>,
    paths: Regex,
}

impl Crate {
    fn read(folder: &Path) -> Crate {
        let mut files = BTreeMap::new();
        for path in rust_files(folder) {
            let module = module_of(path.strip_prefix(folder).expect("a file of the folder"));
            let text = std::fs::read_to_string(&path).expect("a readable source");
            files.insert(module, Source::read(&text));
        }
        let paths = Regex::new(r"\b[a-z_]\w*(?:::\w+)+").expect("a pattern");
        Crate { files, paths }
    }

    /// Returns the file that a path in `from` leads to; `None` outside the crate.
    fn target(&self, from: &Module, path: &[String], steps: usize) -> Option<Module> {
        let (mut module, mut rest) = (from.clone(), path);
        match path.first()?.as_str() {
            "crate" => (module, rest) = (Module::new(), &path[1..]),
            "self" => rest = &path[1..],
            "super" => {}
            child => {
                module.push(child.into());
                self.files.get(&module)?;
                rest = &path[1..];
            }
        }
        while let ["super", ..] = rest.first().map(String::as_str).as_slice() {
            module.pop()?;
            rest = &rest[1..];
        }
        while let Some(next) = rest.first() {
            module.push(next.clone());
            if !self.files.contains_key(&module) {
                module.pop();
                break;
            }
            rest = &rest[1..];
        }
        let handed_on = rest.first().filter(|_| steps > 0).and_then(|name| {
            let mut imports = self.files.get(&module)?.imports.iter();
            let import = imports.find(|import| import.name == *name)?;
            self.target(&module, &import.path, steps - 1)
        });
        Some(handed_on.unwrap_or(module))
    }

    /// Returns the files that a file depends on.
    fn uses(&self, module: &Module) -> BTreeSet<Module> {
        const STEPS: usize = 8;
        let Source { imports, body } = &self.files[module];
        let is_used = |import: &&Import| {
            let name = || {
                let name = format!(r"\b{}\b", regex::escape(&import.name));
                Regex::new(&name).expect("a name")
            };
            !import.is_handed_on || name().is_match(body)
        };
        let imported = imports.iter().filter(is_used).map(|i| i.path.clone());
        let named = self
            .paths
            .find_iter(body)
            .map(|found| split(found.as_str()));
        let all = imported.chain(named);
        let mut found: BTreeSet<Module> = all
            .filter_map(|path| self.target(module, &path, STEPS))
            .collect();
        found.remove(module);
        found
    }

    /// Returns the sets of files that depend on each other, directly or indirectly.
    fn circles(&self) -> BTreeSet<BTreeSet<Module>> {
        let uses: BTreeMap<_, _> = self.files.keys().map(|m| (m, self.uses(m))).collect();
        let reached = |from| {
            let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
            while let Some(module) = open.pop() {
                for next in uses.get(module).into_iter().flatten() {
                    if reached.insert(next) {
                        open.push(next);
                    }
                }
            }
            reached
        };
        let all: BTreeMap<_, _> = self.files.keys().map(|m| (m, reached(m))).collect();
        let circle = |module: &Module| {
            let mutual = all[module]
                .iter()
                .filter(|other| all[**other].contains(module));
            mutual.map(|module| (*module).clone()).collect()
        };
        let circles = self.files.keys().map(circle);
        circles
            .filter(|circle: &BTreeSet<_>| circle.len() > 1)
            .collect()
    }
}

impl Source {
    fn read(text: &str) -> Source {
        let text = text
            .split("#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or(text);
        let comment = Regex::new("//.*").expect("a pattern");
        let text = comment.replace_all(text, "");
        let import = Regex::new(r"(?m)^\s*(pub(?:\([^)]*\))? )?use ([^;]+);").expect("a pattern");
        let mut imports = Vec::new();
        for found in import.captures_iter(&text) {
            let tree: String = found[2].split_whitespace().collect::<Vec<_>>().join(" ");
            flatten("", &tree, &mut |path: &str| {
                let (path, name) = path.split_once(" as ").unwrap_or((path, ""));
                let path = split(path);
                let last = path.last().expect("a path has a part").clone();
                let name = if name.is_empty() {
                    last
                } else {
                    name.to_string()
                };
                let is_handed_on = found.get(1).is_some();
                imports.push(Import {
                    path,
                    name,
                    is_handed_on,
                });
            });
        }
        let body = import.replace_all(&text, "").into_owned();
        Source { imports, body }
    }
}

/// Calls `each` with every path of an import's tree of braces.
fn flatten(before: &str, tree: &str, each: &mut impl FnMut(&str)) {
    let (mut depth, mut start) = (0, 0);
    let ends = tree.char_indices().chain([(tree.len(), ',')]);
    for (place, character) in ends {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let part = tree[start..place].trim();
                start = place + 1;
                match part.split_once('{') {
                    Some((path, inner)) => {
                        let inner = inner.strip_suffix('}').expect("braces that close");
                        flatten(&format!("{before}{path}"), inner, each);
                    }
                    None if part.is_empty() => {}
                    None => each(&format!("{before}{part}")),
                }
            }
            _ => {}
        }
    }
}

/// Returns the parts of a path. A final `self` stands for its parent.
fn split(path: &str) -> Vec<String> {
    let path = path.trim().trim_end_matches("::self");
    path.split("::").map(str::to_string).collect()
}

fn module_of(file: &Path) -> Module {
    let file = file.with_extension("");
    let mut parts: Module = file
        .iter()
        .map(|part| part.to_string_lossy().into())
        .collect();
    let last = parts.last().map_or("", String::as_str);
    if last == "mod" || parts.len() == 1 && ["lib", "main"].contains(&last) {
        parts.pop();
    }
    parts
}

/// Returns the Rust files below a folder, except tests and generated files.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() {
            found.extend(rust_files(&path));
        } else if path.extension().is_some_and(|suffix| suffix == "rs")
            && name != "tests.rs"
            && name != "trace_capnp.rs"
        {
            found.push(path);
        }
    }
    found
}

/// Returns the folder of each crate of the workspace, from Cargo.toml.
fn crates() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).expect("a manifest");
    let members = manifest.split("members = [").nth(1).expect("a workspace");
    let members = members.split(']').next().unwrap_or("");
    members
        .split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_string)
        .collect()
}

#[test]
fn no_files_of_a_crate_import_each_other_in_a_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut wrong = Vec::new();
    for folder in crates() {
        for circle in Crate::read(&root.join(&folder).join("src")).circles() {
            let names: Vec<String> = circle.iter().map(shown).collect();
            wrong.push(format!("{folder}: {}", names.join(", ")));
        }
    }
    assert!(wrong.is_empty(), "files that import each other: {wrong:#?}");
}

/// Returns the module path as in code.
fn shown(module: &Module) -> String {
    let parts = ["crate"]
        .into_iter()
        .chain(module.iter().map(String::as_str));
    parts.collect::<Vec<_>>().join("::")
}
