//! Address translation: replays count what the naive TLBs count, edge cases count what arithmetic
//! says, and machine files say what they may.

mod edges;
mod equals_the_oracle;
mod files;

use corehop_simulator::{Error, Machine};
use std::path::Path;

/// A machine of two cores with large caches, and what its file says besides.
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
