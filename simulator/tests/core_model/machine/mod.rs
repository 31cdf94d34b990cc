//! A machine with one core and a different latency for every level.

use corehop_simulator::Machine;
use std::path::Path;

/// Returns a machine with an L1 of 4 cycles, an L2 of 12, an L3 of 40, transfers of 70 and memory
/// of 200, and these core parameters.
pub fn machine(instructions_per_cycle: f64, window: u32, stores: u32) -> Machine {
    let text = format!(
        "name = \"small\"\ncores = 1\nline_size_bytes = 64\nmemory_latency_cycles = 200\n\
         transfer_latency_cycles = 70\nhop_cost_cycles = 1000\n\
         l1i = {{ size_bytes = 1024, ways = 2, latency_cycles = 4 }}\n\
         l1d = {{ size_bytes = 1024, ways = 2, latency_cycles = 4 }}\n\
         l2 = {{ size_bytes = 4096, ways = 4, latency_cycles = 12 }}\n\
         l3 = {{ size_bytes = 8192, ways = 4, latency_cycles = 40 }}\n\
         [core]\ninstructions_per_cycle = {instructions_per_cycle:?}\n\
         reorder_window_instructions = {window}\nstore_buffer_entries = {stores}\n"
    );
    Machine::from_toml(&text, Path::new("small.toml")).expect("a sound machine")
}
