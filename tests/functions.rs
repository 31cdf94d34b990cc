//! The symbolizer and the patcher read the same functions from a binary.
//!
//! Each reads symbols and unwind tables separately. The symbolizer, in Python, reads all names for
//! people. The patcher reads what it needs to patch an entry safely, in servers on machines without
//! Python. Plans pass between them as offsets. A function known to both must therefore be
//! identical, and a named one must not be known to one alone. Debug files may name more functions,
//! so they are excluded.

use corehop_patcher::Analysis;
use object::{Object, ObjectSection};
use std::collections::BTreeSet;
use std::path::Path;

const BINARIES: [&str; 6] = [
    "/usr/bin/redis-server",
    "/usr/sbin/nginx",
    "/usr/bin/memcached",
    "/usr/sbin/mariadbd",
    "/bin/bash",
    "/usr/lib/x86_64-linux-gnu/libc.so.6",
];

#[test]
fn the_symbolizer_and_the_patcher_know_the_same_functions() {
    // SAFETY: this program has no other test, so no other thread reads the environment.
    unsafe { std::env::set_var("COREHOP_DEBUG_FILES", "") };
    let mut differences = Vec::new();
    for path in BINARIES.map(Path::new) {
        let named = corehop_symbolizer::of(path).unwrap();
        let named: BTreeSet<u64> = named.iter().map(|function| function.offset).collect();
        let analysis = Analysis::of(path).unwrap();
        let known = analysis.functions().iter();
        let known: BTreeSet<u64> = known.map(|function| function.offset).collect();
        let stubs = linkage_stubs(path);
        let few = format!("{}: {} functions", path.display(), named.len());
        assert!(named.len() > 100, "{few}");
        for (reader, one, other) in [("symbolizer", &named, &known), ("patcher", &known, &named)] {
            let alone = one
                .difference(other)
                .filter(|offset| !stubs.contains(offset));
            let told = |offset: &u64| format!("{}: {reader} alone: {offset:x}", path.display());
            differences.extend(alone.map(told));
        }
    }
    assert_eq!(differences, [""; 0]);
}

/// Returns the starts of sections with linker stubs for calls to other files. One description
/// covers a whole section, so the patcher treats it as a function. No plan can contain it, because
/// the symbolizer excludes it.
fn linkage_stubs(path: &Path) -> BTreeSet<u64> {
    let bytes = std::fs::read(path).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let sections = file.sections();
    let stubs = sections.filter(|section| section.name().unwrap().starts_with(".plt"));
    stubs.map(|section| section.address()).collect()
}
