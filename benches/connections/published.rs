//! Published results for many connections: section 4 of "Automatic staged computation".
//!
//! Its figures 4 and 5 are pictures, so the numbers here are from its prose. They are changes
//! relative to unmodified MySQL, on four cores of the machine below with L2 prefetchers off. The
//! control is the paper's own scheduler without thread migration, on one core, with one connection.

use serde_json::{Value, json};

/// The machine's name in this repository.
pub const MACHINE: &str = "xeon-e5-2620-v4";
/// Number of cores that the server used.
pub const CORES: u32 = 4;
/// Base clock, in cycles per microsecond (Intel's product specification: 2.1 GHz).
pub const CYCLES_PER_US: f64 = 2100.0;
/// Simulated cost of a hop, in cycles. The paper does not give the cost of its kernel's hand-over
/// to a waiting core. Between awake worker threads, it was 185 ns, or 390 cycles of this clock
/// (research/notes/hops.md). The paper's cores must also leave `mwait`.
pub const HOP_CYCLES: u32 = 500;
/// Change of throughput with thread migration, in percent, by connections: the largest and
/// smallest.
pub const THROUGHPUT_PERCENT: [(u32, f64); 2] = [(1, 13.0), (4, 5.2)];
/// Mean over all numbers of connections.
pub const MEAN_THROUGHPUT_PERCENT: f64 = 8.6;
/// Mean change of L2 misses per transaction.
pub const MEAN_MISSES_PERCENT: f64 = -52.3;
/// Changes of the control's throughput and L2 misses, with one connection.
pub const CONTROL_PERCENT: [f64; 2] = [4.5, -6.7];

/// Renders JSON.
pub fn json() -> Value {
    let throughput: Vec<Value> = THROUGHPUT_PERCENT
        .into_iter()
        .map(|(connections, percent)| json!({"connections": connections, "percent": percent}))
        .collect();
    json!({
        "machine": MACHINE, "cores": CORES, "throughput": throughput,
        "mean_throughput_percent": MEAN_THROUGHPUT_PERCENT,
        "mean_l2_misses_percent": MEAN_MISSES_PERCENT,
        "control_throughput_percent": CONTROL_PERCENT[0],
        "control_l2_misses_percent": CONTROL_PERCENT[1],
    })
}
