//! On a circular path larger than the cache, every policy of machine files but random misses
//! always. A calibration distinguishes policies by that.

use corehop_simulator::{Machine, Replayer, Split};
use corehop_traces::{Access, Execution, Kind, ThreadId};

const PASSES: usize = 20;

/// Returns the share of L2 accesses that miss, on a path a quarter larger than the L2.
fn miss_share(policy: &str) -> f64 {
    let machine = format!(
        r#"
        name = "one core"
        cores = 1
        line_size_bytes = 64
        memory_latency_cycles = 200
        hop_cost_cycles = 100
        l1i = {{ size_bytes = 64, ways = 1, latency_cycles = 4 }}
        l1d = {{ size_bytes = 64, ways = 1, latency_cycles = 4 }}
        l2 = {{ size_bytes = 4096, ways = 16, latency_cycles = 12, policy = "{policy}" }}
        l3 = {{ size_bytes = 65536, ways = 16, latency_cycles = 40 }}
        "#
    );
    let machine = Machine::from_toml(&machine, "one-core.toml".as_ref()).unwrap();
    let split = Split::default();
    let mut replayer = Replayer::new(&machine, &split).unwrap();
    let load = |line: u64| Access {
        address: line * 64,
        pc: 0,
        size_bytes: 8,
        kind: Kind::Load,
    };
    let path: Vec<Access> = (0..80).map(load).collect();
    for pass in 0..PASSES {
        replayer.execute(&Execution {
            thread: ThreadId(0),
            stamp: 0,
            request: None,
            number: pass as u64,
            code_block: 0,
            template: 0,
            entry: None,
            accesses: &path,
        });
    }
    let misses = replayer.finish().counters.l2.misses();
    misses as f64 / (path.len() * PASSES) as f64
}

#[test]
fn a_circular_path_larger_than_the_cache_misses_always_or_all_but_always() {
    for policy in ["lru", "fifo"] {
        assert_eq!(miss_share(policy), 1.0, "{policy}");
    }
    // Tree PLRU differs slightly from LRU, and counts as always missing.
    let by_tree = miss_share("plru");
    assert!((0.95..1.0).contains(&by_tree), "{by_tree}");
}

#[test]
fn a_cache_that_replaces_at_random_keeps_more_than_half_of_it() {
    let share = miss_share("random");
    assert!((0.4..0.5).contains(&share), "{share}");
}
