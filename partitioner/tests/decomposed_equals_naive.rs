//! The search's shortcut against the obvious way: replaying each split access by access.
//!
//! The naive replay here shares nothing with the search: caches are lists in order of last use, and
//! every store walks over all other cores.

use corehop_partitioner::evaluate::{Choice, Evaluator};
use corehop_partitioner::progress::Silent;
use corehop_partitioner::search::{Strategy as How, search};
use corehop_partitioner::stream::Stream;
use corehop_simulator::Machine;
use corehop_traces::Kind;
use proptest::prelude::*;
use std::path::Path;

/// One cache: per set, lines with the last used at the end.
struct NaiveCache {
    sets: Vec<Vec<u64>>,
    ways: usize,
}

impl NaiveCache {
    fn new(sets: u64, ways: usize) -> Self {
        NaiveCache {
            sets: vec![Vec::new(); sets as usize],
            ways,
        }
    }

    fn set(&mut self, line: u64) -> &mut Vec<u64> {
        let count = self.sets.len() as u64;
        &mut self.sets[(line % count) as usize]
    }

    fn remove(&mut self, line: u64) {
        self.set(line).retain(|&l| l != line);
    }

    /// Uses the line if it is there.
    fn hit(&mut self, line: u64) -> bool {
        let there = self.set(line).contains(&line);
        if there {
            self.remove(line);
            self.set(line).push(line);
        }
        there
    }

    /// Adds the line, and gives the one it displaces.
    fn fill(&mut self, line: u64) -> Option<u64> {
        let ways = self.ways;
        let set = self.set(line);
        set.push(line);
        (set.len() > ways).then(|| set.remove(0))
    }
}

/// One core's private caches.
struct NaiveCore {
    l1i: NaiveCache,
    l1d: NaiveCache,
    l2: NaiveCache,
    l2_misses: u64,
}

impl NaiveCore {
    fn access(&mut self, kind: Kind, line: u64) {
        let NaiveCore {
            l1i,
            l1d,
            l2,
            l2_misses,
        } = self;
        let hit = if kind == Kind::Fetch {
            l1i.hit(line)
        } else {
            l1d.hit(line)
        };
        if hit {
            return;
        }
        if !l2.hit(line) {
            *l2_misses += 1;
            if let Some(displaced) = l2.fill(line) {
                l1i.remove(displaced);
                l1d.remove(displaced);
            }
        }
        let l1 = if kind == Kind::Fetch { l1i } else { l1d };
        l1.fill(line);
    }
}

type Part = (u32, Option<u32>, Vec<(u64, Kind)>);

fn naive_l2_misses(parts: &[Part], split: &Choice, sets: [u64; 3]) -> u64 {
    let core = || NaiveCore {
        l1i: NaiveCache::new(sets[0], 2),
        l1d: NaiveCache::new(sets[1], 2),
        l2: NaiveCache::new(sets[2], 4),
        l2_misses: 0,
    };
    let mut cores: Vec<NaiveCore> = split.iter().map(|_| core()).collect();
    let mut core_of_thread = [0; 4];
    for (thread, candidate, accesses) in parts {
        let here = &mut core_of_thread[*thread as usize];
        if let Some(core) = split.iter().position(|&f| Some(f) == *candidate) {
            *here = core;
        }
        for &(line, kind) in accesses {
            cores[*here].access(kind, line);
            for (other, core) in cores.iter_mut().enumerate() {
                if kind == Kind::Store && other != *here {
                    core.l1i.remove(line);
                    core.l1d.remove(line);
                    core.l2.remove(line);
                }
            }
        }
    }
    cores.iter().map(|core| core.l2_misses).sum()
}

/// A machine of 2-way L1 caches and a 4-way L2 with these numbers of sets.
fn machine([l1i, l1d, l2]: [u64; 3]) -> Machine {
    let bytes = |sets: u64, ways: u64| sets * ways * 64;
    let text = format!(
        r#"
        name = "tiny"
        cores = 8
        line_size_bytes = 64
        memory_latency_cycles = 200
        hop_cost_cycles = 1000
        l1i = {{ size_bytes = {}, ways = 2, latency_cycles = 4 }}
        l1d = {{ size_bytes = {}, ways = 2, latency_cycles = 4 }}
        l2 = {{ size_bytes = {}, ways = 4, latency_cycles = 12 }}
        l3 = {{ size_bytes = 1048576, ways = 16, latency_cycles = 40 }}
        "#,
        bytes(l1i, 2),
        bytes(l1d, 2),
        bytes(l2, 4)
    );
    Machine::from_toml(&text, Path::new("tiny.toml")).expect("a possible machine")
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Fetch), Just(Kind::Load), Just(Kind::Store)]
}

fn parts(functions: u32) -> impl Strategy<Value = Vec<Part>> {
    let accesses = proptest::collection::vec((0u64..40, kinds()), 0..30);
    let part = (
        0u32..3,
        proptest::option::weighted(0.6, 0..functions),
        accesses,
    );
    proptest::collection::vec(part, 1..40)
}

fn set_counts() -> impl Strategy<Value = [u64; 3]> {
    prop_oneof![
        Just([1, 1, 1]),
        Just([1, 2, 4]),
        Just([2, 2, 2]),
        Just([4, 2, 8])
    ]
}

fn stream_of(parts: &[Part], machine: &Machine) -> Stream {
    Stream::from_parts(
        parts.iter().map(|(t, c, a)| (*t, *c, a.as_slice())),
        machine,
    )
}

/// Every split of `functions` functions over `cores` cores, found by counting in binary.
fn all_splits(functions: u32, cores: u32) -> Vec<Choice> {
    let chosen = |mask: u32| (0..functions).filter(|f| mask >> f & 1 == 1).collect();
    (0..1u32 << functions)
        .filter(|m| m.count_ones() == cores)
        .map(chosen)
        .collect()
}

fn cases() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(1000)
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_sum_over_cores_equals_a_replay(
        parts in parts(5), sets in set_counts(), cores in 1u32..5,
    ) {
        let machine = machine(sets);
        let stream = stream_of(&parts, &machine);
        let splits = all_splits(5, cores);
        let misses = Evaluator::new(&stream, &machine, 5).evaluate(&splits);
        for (split, misses) in splits.iter().zip(misses) {
            prop_assert_eq!(misses, naive_l2_misses(&parts, split, sets), "split {:?}", split);
        }
    }

    #[test]
    fn an_exhaustive_search_finds_what_brute_force_finds(
        parts in parts(6), sets in set_counts(), cores in 2u32..4,
    ) {
        let machine = machine(sets);
        let stream = stream_of(&parts, &machine);
        let mut evaluator = Evaluator::new(&stream, &machine, 6);
        let ranking = search(&mut evaluator, (6, cores), 1, 3, &Silent);
        let naive = |split: Choice| (naive_l2_misses(&parts, &split, sets), split);
        let mut brute: Vec<_> = all_splits(6, cores).into_iter().map(naive).collect();
        brute.sort();
        brute.truncate(3);
        prop_assert_eq!(ranking.strategy, How::Exhaustive);
        prop_assert_eq!(ranking.best, brute);
    }
}

#[test]
fn repeated_accesses_are_condensed_and_stores_after_loads_are_kept() {
    let accesses = [
        (5, Kind::Load),
        (5, Kind::Load),
        (5, Kind::Store),
        (5, Kind::Load),
    ];
    let machine = machine([2, 2, 2]);
    let stream = Stream::from_parts([(0, None, &accesses[..])], &machine);
    let kept: Vec<_> = stream
        .accesses
        .iter()
        .map(|a| (stream.lines[a.line() as usize], a.kind()))
        .collect();
    assert_eq!(kept, [(5, Kind::Load), (5, Kind::Store)]);
    let stored: Vec<_> = stream
        .stores
        .iter()
        .map(|&id| stream.lines[id as usize])
        .collect();
    assert_eq!((stream.uncondensed, stored), (4, vec![5]));
}
