//! A program that walks along pages: its misses in each TLB can be computed.

use crate::recording::Recording;
use serde_json::Value;

const PAGES: u64 = 64;
const REQUESTS: u64 = 6;

/// Each request loads from each page in order. The stack's page is used in between, and is
/// therefore among the two most recent pages.
const SOURCE: &str = r#"
#include <stdio.h>
enum { PAGES = 64, REQUESTS = 6 };
static volatile char pages[PAGES * 4096] __attribute__((aligned(4096)));
__attribute__((noinline)) void serve(void) {
    for (long page = 0; page < PAGES; page++) {
        volatile char here = 0;
        here = pages[page * 4096];
    }
}
int main(void) {
    printf("%p\n", (void *)pages);
    fflush(stdout);
    for (int request = 0; request < REQUESTS; request++) serve();
    return 0;
}
"#;

/// Returns a machine whose caches fit everything, with TLBs of this number of pages.
fn machine(first: u64, second: u64) -> String {
    format!(
        "\
name = \"strides\"
cores = 1
line_size_bytes = 64
memory_latency_cycles = 200
hop_cost_cycles = 1000
l1i = {{ size_bytes = 1048576, ways = 16, latency_cycles = 4 }}
l1d = {{ size_bytes = 1048576, ways = 16, latency_cycles = 4 }}
l2 = {{ size_bytes = 16777216, ways = 16, latency_cycles = 12 }}

[[translation.tlb]]
level = 1
of = \"fetches\"
page_sizes = [\"4K\", \"2M\"]
entries = 1024

[[translation.tlb]]
level = 1
of = \"data\"
page_sizes = [\"4K\", \"2M\"]
entries = {first}

[[translation.tlb]]
level = 2
page_sizes = [\"4K\", \"2M\"]
entries = {second}

[[translation.walk_cache]]
level = 2
entries = 64
"
    )
}

/// Returns the counts of `serve` after the first request: data lookups, L1 misses, walks, and the
/// entries that walks read.
fn counted(recording: &Recording, tlbs: (u64, u64), more: &[&str]) -> [u64; 4] {
    let file = recording.folder().join("strides.toml");
    std::fs::write(&file, machine(tlbs.0, tlbs.1)).unwrap();
    let options = ["--machine", "strides.toml", "--warm-up", "1"];
    let words = [
        &["replay", "--json", "--tlb", "--detail"],
        &options[..],
        more,
    ]
    .concat();
    let told: Value = serde_json::from_str(&recording.told_by(&words)).unwrap();
    let functions = told["functions"].as_array().unwrap();
    let serve = functions.iter().find(|of| of["symbol"] == "serve").unwrap();
    let tlb = &serve["tlb"];
    let data = |key: &str| tlb["data"][key].as_u64().unwrap();
    assert_eq!(tlb["fetch"]["walks"], 0);
    let reads = tlb["walk_loads"].as_u64().unwrap();
    [data("lookups"), data("l1_misses"), data("walks"), reads]
}

#[test]
fn misses_of_a_walk_along_pages_are_those_of_arithmetic() {
    let mut recording = Recording::of(SOURCE);
    let trace = recording.trace();
    assert_eq!(trace.requests().len() as u64, REQUESTS);
    let start = recording.stdout();
    let start = u64::from_str_radix(start.trim().strip_prefix("0x").unwrap(), 16).unwrap();
    assert_eq!(start % 4096, 0);
    let loads = PAGES * (REQUESTS - 1);

    // Pages are accessed in a cycle, so a smaller TLB always misses.
    let [lookups, misses, walks, reads] = counted(&recording, (16, 32), &[]);
    assert!(lookups >= 2 * loads, "{lookups}");
    assert_eq!((misses, walks), (loads, loads));
    // The page-walk cache contains the one or two page directory entries of all pages.
    assert_eq!(reads, walks);

    let [_, misses, walks, reads] = counted(&recording, (16, 1024), &[]);
    assert_eq!((misses, walks, reads), (loads, 0, 0));

    let [_, misses, walks, _] = counted(&recording, (1024, 1024), &[]);
    assert_eq!((misses, walks), (0, 0));

    // The pages are in one or two huge pages.
    let region = format!("{start:#x}-{:#x}", start + PAGES * 4096 - 1);
    let [_, misses, walks, _] = counted(&recording, (16, 32), &["--huge-pages", &region]);
    assert_eq!((misses, walks), (0, 0));
}
