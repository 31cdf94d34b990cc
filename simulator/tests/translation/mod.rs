//! Address translation: the counts of replays equal those of naive TLBs, edge cases have the
//! computed counts, and machine files are checked.

mod edges;
mod equals_the_oracle;
mod files;

use corehop_simulator::{Error, Machine};
use std::path::Path;

/// A machine of two cores with large caches, with further text of its file.
fn machine(more: &str) -> Result<Machine, Error> {
    let text = format!(
        "\
name = \"tiny\"
cores = 2
line_size_bytes = 64
memory_latency_cycles = 200
hop_cost_cycles = 1000
l1i = {{ size_bytes = 32768, ways = 8, latency_cycles = 4 }}
l1d = {{ size_bytes = 32768, ways = 8, latency_cycles = 4 }}
l2 = {{ size_bytes = 262144, ways = 8, latency_cycles = 12 }}
{more}"
    );
    Machine::from_toml(&text, Path::new("tiny.toml"))
}
