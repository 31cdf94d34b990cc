//! The symbolizer and the patcher read the same functions from a binary.
//!
//! Each reads symbols and unwind tables by itself: the symbolizer, in Python, for all the names
//! that people use; the patcher for what it must know of an entry before it may change it, in
//! servers that start where there is no Python. Plans go from one to the other as offsets, so a
//! function that both know must be the same one, and a named one must not be known to one alone.

use corehop_patcher::Analysis;
use std::collections::BTreeMap;
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
    for path in BINARIES.map(Path::new) {
        let named = corehop_symbols::of(path).unwrap();
        let named: BTreeMap<u64, u64> = named.iter().map(|f| (f.offset, f.size)).collect();
        let analysis = Analysis::of(path).unwrap();
        let known = analysis.functions().iter();
        let known: BTreeMap<u64, u64> = known.map(|f| (f.offset, f.size_bytes)).collect();
        assert!(
            named.len() > 100,
            "{}: {} functions",
            path.display(),
            named.len()
        );
        let alone = |one: &BTreeMap<u64, u64>, other: &BTreeMap<u64, u64>| -> Vec<String> {
            let alone = one.keys().filter(|offset| !other.contains_key(offset));
            alone.map(|offset| format!("{offset:x}")).collect()
        };
        assert_eq!(
            alone(&named, &known),
            [""; 0],
            "{}: symbolizer alone",
            path.display()
        );
        assert_eq!(
            alone(&known, &named),
            [""; 0],
            "{}: patcher alone",
            path.display()
        );
    }
}
