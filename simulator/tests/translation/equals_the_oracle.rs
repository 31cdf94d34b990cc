//! Random TLBs on random machines: the counts of replays of random traces equal those of the
//! oracle, on any number of host threads, as totals and by function.

use crate::naive::{Placed, played};
use crate::numbered;
use crate::oracle::paging::Region;
use crate::random::translations::translations;
use crate::random::{equal, holds, machines};
use crate::recording::{FUNCTIONS, KERNEL, mappings, record_processes, requests_of};
use crate::steps::{Step, steps_of};
use corehop_simulator::detail::{Segments, replay_by_function, replay_in_detail};
use corehop_simulator::{
    Counters, Machine, PageSize, PageSizes, Replay, ReplayOptions, Setting, TlbCounters, replay_all,
};
use corehop_traces::{Mapping, Trace};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::subsequence;
use rayon::ThreadPoolBuilder;

#[derive(Clone, Debug)]
struct Case {
    steps: Vec<Step>,
    mappings: Vec<Mapping>,
    machine: Machine,
    regions: Vec<Region>,
    functions: Vec<u32>,
    delegated: Vec<u32>,
    warm_up: usize,
    thread_per_core: bool,
}

/// Few pages, adjacent or far apart, often with addresses at their ends.
fn addresses() -> impl Strategy<Value = u64> {
    let base = prop_oneof![
        4 => Just(0u64),
        2 => (0u64..3).prop_map(|n| n << 21),
        1 => (0u64..3).prop_map(|n| n << 30),
        1 => (0u64..3).prop_map(|n| n << 39),
        1 => Just(KERNEL),
    ];
    let place = prop_oneof![3 => 0u64..4096, 1 => 4080u64..4096];
    (base, 0u64..6, place).prop_map(|(base, page, place)| base + page * 4096 + place)
}

fn programs() -> impl Strategy<Value = Vec<Step>> {
    let data = vec((addresses(), any::<bool>()), 0..6);
    vec(steps_of(0u32..2, 0.2, 0..FUNCTIONS, data), 1..80)
}

fn regions() -> impl Strategy<Value = Vec<Region>> {
    let size = prop_oneof![Just(PageSize::Large), Just(PageSize::Huge)];
    let run = prop_oneof![
        1 => Just((0, u64::MAX)),
        3 => (addresses(), 0u64..(3 << 21)).prop_map(|(first, more)| (first, first + more)),
    ];
    let region = (run, size).prop_map(|((first, last), size)| (first, last, size));
    vec(region, 0..4)
}

fn cases() -> impl Strategy<Value = Case> {
    let some = || subsequence((0..FUNCTIONS).collect::<Vec<_>>(), 0..=6);
    let machine = (machines(), translations()).prop_map(|(machine, translation)| Machine {
        translation: Some(translation),
        ..machine
    });
    let replays = (some(), some(), 0usize..4, prop::bool::weighted(0.2));
    let all = (programs(), mappings(), machine, regions(), replays);
    all.prop_map(|(steps, mappings, machine, regions, replays)| {
        let (functions, delegated, warm_up, thread_per_core) = replays;
        Case {
            steps,
            mappings,
            machine,
            regions,
            functions,
            delegated,
            warm_up,
            thread_per_core,
        }
    })
}

impl Case {
    fn functions(&self) -> Vec<(u32, u32)> {
        match self.thread_per_core {
            true => Vec::new(),
            false => {
                let cores = (0..self.machine.cores).cycle();
                self.functions.iter().copied().zip(cores).collect()
            }
        }
    }

    fn placed(&self, translated: bool) -> Placed {
        Placed {
            mappings: self.mappings.clone(),
            pages: Vec::new(),
            numbers: vec![1; self.steps.len()],
            functions: self.functions(),
            by_argument: (Vec::new(), 1, Vec::new()),
            at_calls: Vec::new(),
            delegated: self.delegated.clone(),
            start_cores: self.thread_per_core.then_some(self.machine.cores),
            page_map: None,
            translated: translated.then(|| self.regions.clone()),
        }
    }

    fn page_sizes(&self) -> PageSizes {
        let all = self.regions.iter();
        all.fold(PageSizes::default(), |sizes, &(first, last, size)| {
            sizes.at_least((first, last), size)
        })
    }

    fn expected(&self, warm_up: usize, translated: bool, requests: u64) -> Replay {
        let placed = self.placed(translated);
        let (oracle, hops) = played(&self.steps, &self.machine, &placed, (None, warm_up), 1);
        let per_core = oracle.counters();
        let counters: Counters = per_core.iter().copied().sum();
        Replay {
            accesses: counters.accesses(),
            counters,
            per_core,
            hops,
            requests,
            tlbs: oracle.tlbs(),
        }
    }
}

#[test]
fn every_counter_of_every_core_is_the_oracles() {
    holds("translations equal the oracle's", cases(), |case| {
        equal(case.machine.check(), Ok(()))?;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("random.trace");
        let numbers: Vec<u64> = (1..=case.steps.len() as u64).collect();
        record_processes(&case.steps, &numbers, (&case.mappings, &[]), 7, &path).unwrap();
        let trace = Trace::open(&path).unwrap();
        let requests = requests_of(&case.steps).iter().flatten().max().copied();
        let requests = requests.map_or(0, |last| last as usize + 1);
        let warm_up = case.warm_up.min(requests.saturating_sub(1));
        let split = match case.thread_per_core {
            true => corehop_simulator::Split::thread_per_core(case.machine.cores),
            false => {
                let delegated = case.delegated.iter().copied();
                let delegated = delegated.map(corehop_traces::FunctionId);
                numbered::split(case.functions()).delegating(delegated)
            }
        };
        let page_sizes = case.page_sizes();
        let options = ReplayOptions {
            warm_up_requests: warm_up,
            page_sizes: Some(&page_sizes),
            ..ReplayOptions::default()
        };
        let counted = (requests - warm_up) as u64;
        let expected = case.expected(warm_up, true, counted);
        let setting = Setting {
            machine: &case.machine,
            split: &split,
        };
        for threads in [1, 3] {
            let pool = ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().unwrap();
            let replays = pool.install(|| replay_all(&trace, &[setting; 2], &options));
            equal(replays.unwrap(), vec![expected.clone(), expected.clone()])?;
        }

        let by_function = replay_by_function(&trace, &case.machine, &split, &options).unwrap();
        equal(&by_function.replay, &expected)?;
        let segments = Segments::default();
        let (replay, detail) =
            replay_in_detail(&trace, &case.machine, &split, &segments, &options).unwrap();
        equal(&replay, &expected)?;
        let tlbs: TlbCounters = expected.tlbs.iter().copied().sum();
        for functions in [&by_function.functions, &detail.functions] {
            let of = |counters: Counters| Counters {
                invalidated_lines: 0,
                ..counters
            };
            let sum: Counters = functions
                .iter()
                .map(|function| function.cost.counters)
                .sum();
            equal(of(sum), of(expected.counters))?;
            equal(functions.iter().map(|of| of.cost.tlbs).sum(), tlbs)?;
        }
        equal(detail.segments[0].tlbs, tlbs)?;

        // A machine with translation has the same counts as without if translation is not
        // requested.
        let untranslated = ReplayOptions {
            page_sizes: None,
            ..options.clone()
        };
        let replays = replay_all(&trace, &[setting], &untranslated).unwrap();
        equal(&replays[0], &case.expected(warm_up, false, counted))
    });
}
