//! The runtime has layers: no file includes or calls a file of a higher layer, and there are no
//! cycles of files, within a layer or across layers.
//!
//! Calls and uses of data are read from the symbols of each file's object. The compiler does not
//! optimize, so the object contains all symbols that the file uses. A call of an interposed libc
//! function counts as a call of libc: such symbols are visible outside the runtime, unlike the
//! runtime's own. Calls of a lower layer through a pointer are not detected; its header describes
//! who sets the pointer.

use object::{Object, ObjectSymbol, SymbolScope};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const RUNTIME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../runtime");
const PAGE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../docs/internals/architecture.md"
);

/// Folders of the runtime, the lowest layer first, and the contents of each.
const LAYERS: [(&str, &str); 9] = [
    (
        "system",
        "system calls, messages, settings, clock, stacks and kernel threads without libc",
    ),
    (
        "threads",
        "the program and its CPUs, each thread's place and counters, the watchdog's thread",
    ),
    (
        "hooks",
        "where hooks arrive: calls that go back, objects with cores, backends that move nobody",
    ),
    (
        "run_queues",
        "fibers and cores: handing over, taking in turn, waiting, a core's ring",
    ),
    (
        "carrier",
        "the carriers, leaving home and coming back, load; affinity, which replaces them",
    ),
    (
        "posted",
        "system calls on other cores, or in batches by the rings",
    ),
    (
        "decisions",
        "which backend moves threads, by measuring or by orders; statistics, forks",
    ),
    (
        "interpose",
        "functions that stand in for libc's, which bring threads home first",
    ),
    ("start", "what runs before `main()`, and opens the hooks"),
];

/// A file of the runtime, such as `hooks/calls.c`.
type File = String;

/// How one file uses another: by a symbol that the other defines, or by including it.
type Uses = BTreeMap<File, BTreeMap<File, String>>;

fn layer_of(file: &str) -> usize {
    let folder = file.split('/').next().unwrap();
    let known = LAYERS.iter().position(|(name, _)| *name == folder);
    known.unwrap_or_else(|| panic!("runtime/{folder}/ is in no layer: name it in LAYERS"))
}

fn is_code(file: &str) -> bool {
    file.ends_with(".c") || file.ends_with(".S")
}

/// Returns all C and assembly files.
fn files() -> Vec<File> {
    let mut found = Vec::new();
    for folder in std::fs::read_dir(RUNTIME).unwrap() {
        let folder = folder.unwrap();
        // The header that programs include is in no layer.
        if !folder.file_type().unwrap().is_dir() || folder.file_name() == "include" {
            continue;
        }
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            let path = format!("{}/{name}", folder.file_name().to_str().unwrap());
            if is_code(&path) || name.ends_with(".h") {
                layer_of(&path);
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn included(files: &[File], uses: &mut Uses) {
    let by_name = |name: &str| {
        files
            .iter()
            .find(|file| file.ends_with(&format!("/{name}")))
    };
    for file in files {
        let text = std::fs::read_to_string(format!("{RUNTIME}/{file}")).unwrap();
        for line in text.lines().filter_map(|line| line.strip_prefix('#')) {
            let Some(name) = line.trim_start().strip_prefix("include") else {
                continue;
            };
            let name = name.trim().trim_matches(['"', '<', '>']);
            if let Some(header) = by_name(name) {
                let of = uses.entry(file.clone()).or_default();
                of.insert(header.clone(), "includes".into());
            }
        }
    }
}

/// Compiles files of one kind into a separate folder.
fn compile(folder: &Path, files: &[&File]) {
    let output = Command::new("cc")
        .current_dir(folder)
        .args(["-std=gnu11", "-O0", "-w", "-fPIC", "-c"])
        .args(["-mgeneral-regs-only", "-fvisibility=hidden"])
        .arg("-DCOREHOP_ABI=0")
        .args(LAYERS.map(|(layer, _)| format!("-I{RUNTIME}/{layer}")))
        .args(files.iter().map(|file| format!("{RUNTIME}/{file}")))
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
}

fn called(files: &[File], uses: &mut Uses) {
    let mut objects = BTreeMap::new();
    for suffix in ["c", "S"] {
        let folder = tempfile::tempdir().unwrap();
        let kind = files.iter().filter(|file| file.ends_with(suffix));
        let kind: Vec<&File> = kind.collect();
        compile(folder.path(), &kind);
        for file in kind {
            let stem = Path::new(file).file_stem().unwrap();
            let object = folder.path().join(stem).with_extension("o");
            let bytes = std::fs::read(object).unwrap();
            let is_first = objects.insert(file.clone(), bytes).is_none();
            assert!(is_first, "{file}: another file has its name");
        }
    }
    let mut definer = BTreeMap::new();
    let mut wanted = Vec::new();
    for (file, bytes) in &objects {
        for symbol in object::File::parse(&**bytes).unwrap().symbols() {
            let name = symbol.name().unwrap().to_owned();
            if symbol.is_undefined() {
                wanted.push((file, name));
            } else if symbol.is_global() && symbol.scope() == SymbolScope::Linkage {
                definer.insert(name, file);
            }
        }
    }
    for (file, symbol) in wanted {
        if let Some(other) = definer.get(&symbol) {
            let of = uses.entry(file.clone()).or_default();
            of.insert((*other).clone(), format!("uses `{symbol}` of"));
        }
    }
}

fn uses() -> Uses {
    let files = files();
    let mut uses: Uses = files.iter().map(|f| (f.clone(), BTreeMap::new())).collect();
    included(&files, &mut uses);
    called(&files, &mut uses);
    uses
}

/// Follows uses from the end of a path until one leads back to the path.
fn circle_from(uses: &Uses, path: &mut Vec<File>, done: &mut BTreeSet<File>) -> Option<String> {
    let file = path.last().unwrap().clone();
    for other in uses[&file].keys() {
        if let Some(begin) = path.iter().position(|before| before == other) {
            let step = |from: &File, to: &File| {
                let how = &uses[from][to];
                format!("runtime/{from} {how} runtime/{to}\n")
            };
            let steps = path[begin..]
                .windows(2)
                .map(|pair| step(&pair[0], &pair[1]));
            let mut circle: String = steps.collect();
            circle += &step(&file, other);
            return Some(circle);
        }
        if !done.contains(other) {
            path.push(other.clone());
            let found = circle_from(uses, path, done);
            path.pop();
            if found.is_some() {
                return found;
            }
        }
    }
    done.insert(file);
    None
}

#[test]
fn no_file_of_the_runtime_includes_or_calls_one_of_a_higher_layer() {
    let mut wrong = String::new();
    for (file, others) in &uses() {
        for (other, how) in others {
            let (own, higher) = (layer_of(file), layer_of(other));
            if higher > own {
                let (own, higher) = (LAYERS[own].0, LAYERS[higher].0);
                writeln!(
                    wrong,
                    "runtime/{file}, of the layer {own}, {how} runtime/{other}, of the higher \
                     layer {higher}"
                )
                .unwrap();
            }
        }
    }
    let remedy = "move what is used down, or its user up; where only start-up knows both, have \
                  start.c set a pointer in the lower one's header";
    assert!(wrong.is_empty(), "\n{wrong}{remedy}");
}

#[test]
fn no_files_of_the_runtime_include_and_call_each_other_in_a_circle() {
    let uses = uses();
    assert!(uses.len() > 80, "{}", uses.len());
    let mut done = BTreeSet::new();
    for file in uses.keys() {
        if !done.contains(file) {
            let circle = circle_from(&uses, &mut vec![file.clone()], &mut done);
            let circle = circle.unwrap_or_default();
            assert!(circle.is_empty(), "each uses the next:\n{circle}");
        }
    }
}

/// Returns a layer's code files, each after those that it uses; ties are resolved by name.
fn in_order(uses: &Uses, layer: usize) -> Vec<File> {
    let mut left: BTreeSet<&File> = uses.keys().filter(|file| is_code(file)).collect();
    left.retain(|file| layer_of(file) == layer);
    let mut placed = Vec::new();
    while !left.is_empty() {
        let is_next = |file: &&&File| uses[**file].keys().all(|other| !left.contains(other));
        let next = *left
            .iter()
            .find(is_next)
            .expect("files use each other in a circle");
        left.remove(next);
        placed.push(next.rsplit('/').next().unwrap().to_owned());
    }
    placed
}

/// Returns the layers as listed on the page, the highest first.
fn drawing(uses: &Uses) -> String {
    let mut drawing =
        "| layer | what is in it | its files, each behind those that it uses | uses |\n\
                       |---|---|---|---|\n"
            .to_owned();
    for (layer, (folder, what)) in LAYERS.iter().enumerate().rev() {
        let files = in_order(uses, layer).join("`, `");
        let own = uses.iter().filter(|(file, _)| layer_of(file) == layer);
        let others = own.flat_map(|(_, others)| others.keys().map(|other| layer_of(other)));
        let lower: BTreeSet<usize> = others.filter(|other| *other != layer).collect();
        let lower: Vec<_> = lower
            .iter()
            .rev()
            .map(|lower| format!("`{}`", LAYERS[*lower].0))
            .collect();
        let lower = lower.join(", ");
        writeln!(drawing, "| `{folder}` | {what} | `{files}` | {lower} |").unwrap();
    }
    drawing
}

#[test]
fn the_page_on_architecture_draws_the_layers_of_the_runtime_as_they_are() {
    let drawing = drawing(&uses());
    let page = std::fs::read_to_string(PAGE).unwrap();
    let remedy = "docs/internals/architecture.md is to have this table:";
    assert!(page.contains(&drawing), "{remedy}\n{drawing}");
}

/// Headers of the runtime with pointers to functions, through which lower layers may call.
fn headers_with_pointers() -> BTreeSet<File> {
    let is_pointer = |line: &str| {
        let before = line.split_once("(*").map_or("/*", |(before, _)| before);
        !before.contains(['(', '*']) && line.ends_with(';')
    };
    let code = |line: &str| line.split("/*").next().unwrap().trim_end().to_owned();
    let mut headers: BTreeSet<File> = files().into_iter().filter(|f| f.ends_with(".h")).collect();
    headers.retain(|file| {
        let text = std::fs::read_to_string(format!("{RUNTIME}/{file}")).unwrap();
        text.lines().any(|line| is_pointer(&code(line)))
    });
    headers
}

#[test]
fn the_page_on_architecture_names_every_header_with_a_pointer_that_may_lead_up() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (_, section) = page.split_once("## Layers of the runtime").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let quoted = section.lines().filter(|line| line.starts_with("- "));
    let quoted = quoted.flat_map(|line| line.split('`').skip(1).step_by(2));
    let named: BTreeSet<File> = quoted
        .filter(|word| word.ends_with(".h"))
        .map(Into::into)
        .collect();
    assert_eq!(named, headers_with_pointers());
}
