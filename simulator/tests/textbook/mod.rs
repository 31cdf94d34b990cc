//! A machine small enough to follow by hand, and runs of single accesses on it.

use corehop_simulator::{CoreId, Counters, Geometry, Hierarchy, Machine};
use corehop_traces::Kind;
use std::collections::HashMap;
use std::path::Path;

/// Direct-mapped L1s of two lines, an L2 of four lines in one set, an L3 of eight in one set.
pub fn machine() -> Machine {
    let text = "\
name = \"textbook\"
cores = 3
line_size_bytes = 64
memory_latency_cycles = 100
transfer_latency_cycles = 50
hop_cost_cycles = 1000
l1i = { size_bytes = 128, ways = 1, latency_cycles = 1 }
l1d = { size_bytes = 128, ways = 1, latency_cycles = 2 }
l2 = { size_bytes = 256, ways = 4, latency_cycles = 10 }
l3 = { size_bytes = 512, ways = 8, latency_cycles = 30 }
";
    Machine::from_toml(text, Path::new("textbook.toml")).unwrap()
}

/// Returns the counters of each core after these accesses, which are (core, kind, line).
pub fn run(machine: &Machine, cores: u32, accesses: &[(usize, Kind, u64)]) -> Vec<Counters> {
    let mut hierarchy = Hierarchy::new(&Geometry::new(machine, cores, 1));
    let mut ids = HashMap::new();
    let mut made = vec![[0; 3]; cores as usize];
    for &(core, kind, line) in accesses {
        let id = *ids.entry(line).or_insert_with(|| hierarchy.line(line));
        hierarchy.access(CoreId::from_index(core), kind, id, &mut ());
        made[core][kind as usize] += 1;
    }
    let of_core = hierarchy.tally().iter().zip(made);
    of_core
        .map(|(tally, made)| tally.counters(made, 0, machine))
        .collect()
}
