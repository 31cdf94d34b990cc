//! Shared parts of search tests: the search parameters, a limit that ends it early, and all
//! existing splits.

#![allow(dead_code)] // each test file is a crate of its own and uses a part of this

use corehop_partitioner::evaluate::{IndexedPlacement, cores_of};
use corehop_partitioner::progress::{Progress, Silent};
use corehop_partitioner::strategy::{Search, Strategy};
use corehop_partitioner::weights::Weighted;
use corehop_partitioner::{Outcome, Settings, partition};
use corehop_simulator::Machine;
use corehop_traces::Trace;
use proptest::test_runner::Config;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering};

/// Returns a configuration with `count` cases that stores no failures in a file.
pub fn cases(count: u32) -> Config {
    Config {
        failure_persistence: None,
        ..Config::with_cases(count)
    }
}

/// A search for the three best splits.
pub fn wanted((functions, cores): (u32, u32), strategy: Option<Strategy>) -> Search<'static> {
    Search {
        cores,
        functions,
        strategy,
        seed: 1,
        keep: 3,
        until: None,
        progress: &Silent,
    }
}

/// Runs a whole search and returns its outcome.
pub fn found(trace: &Trace, machines: &[Weighted], settings: &Settings<'_>) -> Outcome {
    partition(trace, machines, settings, &Silent).unwrap()
}

/// Returns the machine with eight cores whose private caches are not shared.
pub fn alone(machine: Machine) -> Machine {
    let mut machine = Machine {
        cores: 8,
        ..machine
    };
    let levels = [&mut machine.l1i, &mut machine.l1d, &mut machine.l2];
    levels.into_iter().for_each(|level| level.shared_by = 1);
    machine
}

/// Stops the search after this many checks.
pub struct Patience(pub AtomicI64);

impl Progress for Patience {
    fn begin(&self, _: &str, _: Option<u64>) {}
    fn advance(&self, _: u64) {}
    fn end(&self) {}
    fn is_stopped(&self) -> bool {
        self.0.fetch_sub(1, Ordering::Relaxed) <= 0
    }
}

/// Returns every split of `chosen` of `functions` functions over `cores` cores, once. It enumerates
/// functions in binary and cores in base `cores`, and keeps splits whose cores are numbered by
/// their first functions.
pub fn all_splits(functions: u32, chosen: u32, cores: u32) -> Vec<IndexedPlacement> {
    let named = |mask: u32| (0..functions).filter(move |f| mask >> f & 1 == 1);
    let masks = (0..1u32 << functions).filter(|mask| mask.count_ones() == chosen);
    let numbers = 0..cores.pow(chosen);
    let placed = masks.flat_map(|mask| {
        let placed = move |number: u32| -> IndexedPlacement {
            let core = move |place: u32| number / cores.pow(place) % cores;
            named(mask).zip((0..).map(core)).collect()
        };
        numbers.clone().map(placed)
    });
    placed
        .filter(|split| cores_of(split) as u32 == cores && is_numbered(split))
        .collect()
}

/// Whether each core's first function comes after those of all lower cores.
fn is_numbered(split: &IndexedPlacement) -> bool {
    let is_next = |place: usize| split[place].1 as usize <= used(&split[..place]);
    (0..split.len()).all(is_next)
}

fn used(split: &[(u32, u32)]) -> usize {
    let cores: BTreeSet<u32> = split.iter().map(|&(_, core)| core).collect();
    cores.len()
}
