//! What the published text says of many connections: section 4 of "Automatic staged computation".
//!
//! Its figures 4 and 5 are pictures; the numbers here are those of its words. They are changes
//! against MySQL as it is, on four cores of the machine below with L2 prefetchers off. The control
//! is the text's own scheduler without thread migration, all on one core, with one connection.

use serde_json::{Value, json};

/// The machine, as this repository describes it.
pub const MACHINE: &str = "xeon-e5-2620-v4";
/// How many of its cores the server had.
pub const CORES: u32 = 4;
/// Its base clock, in cycles a microsecond (Intel's product specification: 2.1 GHz).
pub const CYCLES_PER_US: f64 = 2100.0;
/// Cycles that a hop is simulated to cost. The text does not say what its kernel's hand-over to a
/// core that waits for it took; between carriers that are awake it took 185 ns, 390 cycles of this
/// clock (research/notes/hops.md), and its cores have to leave `mwait` besides.
pub const HOP_CYCLES: u32 = 500;
/// Throughput with thread migration, in percent, by connections: the most and the least.
pub const THROUGHPUT_PERCENT: [(u32, f64); 2] = [(1, 13.0), (4, 5.2)];
/// The mean over all numbers of connections.
pub const MEAN_THROUGHPUT_PERCENT: f64 = 8.6;
/// The same of L2 misses a transaction.
pub const MEAN_MISSES_PERCENT: f64 = -52.3;
/// The control's throughput and L2 misses, with one connection.
pub const CONTROL_PERCENT: [f64; 2] = [4.5, -6.7];

/// For programs.
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
