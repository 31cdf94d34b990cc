//! Replays with pages in other sets of the L2s. Their counts equal those of the oracle with the
//! same map, directly from the file or prepared, and execution by execution. Watches observe the
//! same misses.

use crate::coloured::{coloured_machines, spread_programs};
use crate::naive::{Placed, played};
use crate::numbered;
use crate::oracle::Event;
use crate::random::{equal, holds};
use crate::recording::{FUNCTIONS, record};
use crate::steps::Step;
use corehop_simulator::{
    CacheLevel, Cause, CoreId, Counters, LineId, Machine, Observer, PageMap, Prepared,
    ReplayOptions, Replayer, Setting, Watch, replay_watched,
};
use corehop_traces::{Kind, Trace};
use proptest::prelude::*;
use proptest::sample::subsequence;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A recorded program, and the parameters of its replay.
#[derive(Clone, Debug)]
struct Case {
    steps: Vec<Step>,
    machine: Machine,
    functions: Vec<u32>,
    map: Linear,
}

/// Maps page number `n` to the page number that a linear function of `n` gives.
#[derive(Clone, Copy, Debug)]
struct Linear(u64, u64);

impl Linear {
    fn page(self, page: u64) -> u64 {
        (page % (1 << 40) * self.0 + self.1) % (1 << 40)
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let functions = subsequence((0..FUNCTIONS).collect::<Vec<_>>(), 0..=6);
    let map = (0u64..8, 0u64..64).prop_map(|(times, plus)| Linear(times, plus));
    let all = (spread_programs(), coloured_machines(), functions, map);
    all.prop_map(|(steps, machine, functions, map)| Case {
        steps,
        machine,
        functions,
        map,
    })
}

impl Case {
    fn functions(&self) -> Vec<(u32, u32)> {
        let cores = (0..self.machine.cores).cycle();
        self.functions.iter().copied().zip(cores).collect()
    }

    /// Returns the oracle's counts of each core, and the L2 misses of each line.
    fn expected(&self) -> (Vec<Counters>, BTreeMap<u64, u64>) {
        let map = self.map;
        let placed = Placed {
            mappings: Vec::new(),
            pages: Vec::new(),
            numbers: Vec::new(),
            functions: self.functions(),
            by_argument: (Vec::new(), 1, Vec::new()),
            at_calls: Vec::new(),
            delegated: Vec::new(),
            start_cores: None,
            page_map: Some(Rc::new(move |page| map.page(page))),
            translated: None,
        };
        let (oracle, _) = played(&self.steps, &self.machine, &placed, (None, 0), 1);
        let mut missed = BTreeMap::new();
        for event in &oracle.events {
            if let &Event::Missed(CacheLevel::L2, _, _, line) = event {
                *missed.entry(line).or_default() += 1;
            }
        }
        (oracle.counters(), missed)
    }
}

/// L2 misses of each line.
#[derive(Default)]
struct Missed {
    numbers: Vec<u64>,
    counts: BTreeMap<u64, u64>,
}

impl Observer for Missed {
    fn missed(&mut self, level: CacheLevel, _: CoreId, _: Kind, _: Cause, line: LineId) {
        if level == CacheLevel::L2 {
            let number = self.numbers[line.index()];
            *self.counts.entry(number).or_default() += 1;
        }
    }
}

impl Watch for Missed {
    fn register(&mut self, numbers: impl Iterator<Item = u64>) {
        self.numbers.extend(numbers);
    }

    fn start_counting(&mut self) {
        self.counts.clear();
    }
}

/// Merges the misses of all set partitions.
fn together(watched: Vec<Missed>) -> BTreeMap<u64, u64> {
    watched.into_iter().flat_map(|of| of.counts).collect()
}

#[test]
fn counters_are_equal_wherever_pages_are() {
    holds("replays with page maps equal the oracle", cases(), |case| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("random.trace");
        record(&case.steps, &[], 7, &path).unwrap();
        let trace = Trace::open(&path).unwrap();
        let (machine, split) = (&case.machine, &numbered::split(case.functions()));
        let linear = case.map;
        let map = PageMap::new(move |page| linear.page(page));
        let (per_core, missed) = case.expected();
        let options = ReplayOptions::default();

        let setting = Setting { machine, split };
        let streamed = replay_watched::<Missed>(&trace, setting, &[&map], &options);
        let (replay, watched) = streamed.unwrap().remove(0);
        equal(&replay.per_core, &per_core)?;
        equal(together(watched), missed.clone())?;

        let prepared = Prepared::for_page_maps(&trace, machine, split, &options).unwrap();
        let (replay, watched) = prepared.replay_watched((machine, split), &map).unwrap();
        equal(&replay.per_core, &per_core)?;
        equal(together(watched), missed)?;

        let replayer = Replayer::new(machine, split).unwrap();
        let mut replayer = replayer.with_page_map(&map);
        let mut executions = trace.executions();
        while let Some(execution) = executions.next().unwrap() {
            replayer.execute(&execution);
        }
        equal(&replayer.finish().per_core, &per_core)
    });
}
