//! Loads, stores, and first-level misses by source line are cachegrind's, which simulates the same
//! L1D and reads the same DWARF by code of its own.

use crate::valgrind::{Counts, Program};
use corehop_profile::{By, PlaceKind, profile};
use corehop_simulator::{Machine, ReplayOptions, Split};
use corehop_traces::{Kind, Trace};
use std::collections::BTreeMap;
use std::path::Path;

/// L1Ds that the tables overflow: direct-mapped, of some ways, and fully associative.
const L1DS: [(u64, u32); 3] = [(1 << 10, 1), (4 << 10, 4), (2 << 10, 32)];

fn machine((size_bytes, ways): (u64, u32)) -> Machine {
    let text = format!(
        "name = \"cachegrind\"\ncores = 1\nline_size_bytes = 64\nmemory_latency_cycles = 100\n\
         hop_cost_cycles = 1000\n\
         l1i = {{ size_bytes = 32768, ways = 8, latency_cycles = 1 }}\n\
         l1d = {{ size_bytes = {size_bytes}, ways = {ways}, latency_cycles = 1 }}\n\
         l2 = {{ size_bytes = 65536, ways = 8, latency_cycles = 10, \
         inclusion = \"non-inclusive\" }}\n"
    );
    Machine::from_toml(&text, Path::new("cachegrind.toml")).unwrap()
}

/// By source line, what the profile says; line 0 is `_start`, which has none.
fn counted(trace: &Trace, machine: &Machine) -> BTreeMap<u32, Counts> {
    let on = (machine, &Split::default());
    let profile = profile(trace, on, &ReplayOptions::default(), &[By::Line]).unwrap();
    let mut counted = BTreeMap::<u32, Counts>::new();
    for row in &profile.views[0].rows {
        let line = match row.place.kind {
            PlaceKind::Line => row.place.frames[0].line.unwrap(),
            _ => 0,
        };
        let misses = row.cost.data_causes().total();
        let [loads, stores] = [Kind::Load, Kind::Store].map(|kind| row.cost.accesses_of(kind));
        let sums = counted.entry(line).or_default();
        for (sum, more) in sums.iter_mut().zip([loads, stores, misses]) {
            *sum += more;
        }
    }
    counted.retain(|_, counts| *counts != [0; 4]);
    counted
}

#[test]
fn loads_stores_and_misses_of_each_line_are_cachegrinds() {
    let program = Program::compile();
    let trace = program.trace();
    for l1d in L1DS {
        let its = program.cachegrind(l1d);
        let its: BTreeMap<u32, Counts> = its
            .into_iter()
            .map(|(line, [loads, stores, of_loads, of_stores])| {
                (line, [loads, stores, of_loads + of_stores, 0])
            })
            .collect();
        assert_eq!(counted(&trace, &machine(l1d)), its, "{l1d:?}");
        // The loop, the store, and both places where the price is looked up.
        assert!(its.len() >= 3, "{its:?}");
        assert!(its.values().any(|counts| counts[2] > 100), "{its:?}");
    }
}
