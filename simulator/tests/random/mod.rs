//! Random machines of a few lines at each level, where every kind of eviction is frequent, and
//! random programs for them.

#![allow(dead_code)] // Each test uses its part.

pub mod translations;

use corehop_simulator::{Core, Inclusion, Insertion, Level, Machine, Policy, Topology};
use corehop_traces::Kind;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestCaseResult, TestRunner};
use std::fmt::Debug;
use std::io::Write;

/// Number of random cases for a property: `COREHOP_CASES`, or a default for daily runs.
pub fn cases() -> u32 {
    let wanted = std::env::var("COREHOP_CASES");
    wanted.map_or(1024, |cases| cases.parse().expect("a number of cases"))
}

/// Tests a property, and reports the number of cases.
pub fn holds<T: Debug>(
    property: &str,
    values: impl Strategy<Value = T>,
    test: impl Fn(T) -> TestCaseResult,
) {
    let config = ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..ProptestConfig::with_cases(cases())
    };
    if let Err(failure) = TestRunner::new(config).run(&values, test) {
        panic!("{property}: {failure}");
    }
    writeln!(std::io::stderr(), "{property}: {} cases", cases()).expect("standard error");
}

/// Fails a case whose `left` and `right` differ.
pub fn equal<T: PartialEq + Debug>(left: T, right: T) -> TestCaseResult {
    if left == right {
        return Ok(());
    }
    Err(TestCaseError::fail(format!(
        "{left:#?}\nis not\n{right:#?}"
    )))
}

fn policies() -> impl Strategy<Value = Policy> {
    prop_oneof![
        Just(Policy::Lru),
        Just(Policy::Fifo),
        Just(Policy::Plru),
        Just(Policy::Random)
    ]
}

/// Mostly few ways, occasionally more than the bits of a word.
fn ways(policy: Policy) -> BoxedStrategy<u32> {
    match policy {
        Policy::Plru => (0u32..4).prop_map(|power| 1 << power).boxed(),
        Policy::Lru | Policy::Fifo | Policy::Random => {
            prop_oneof![9 => 1u32..6, 1 => 15u32..20].boxed()
        }
    }
}

/// A level whose number of sets is a power of two.
fn levels(latency_cycles: u32) -> impl Strategy<Value = Level> {
    let ways = policies().prop_flat_map(|policy| (Just(policy), ways(policy)));
    (0u32..4, ways).prop_map(move |(power, (policy, ways))| Level {
        policy,
        ..Level::new((64 * u64::from(ways)) << power, ways, latency_cycles)
    })
}

/// An L3 of any number of sets, or none.
fn outer_levels() -> impl Strategy<Value = Option<Level>> {
    let inclusions = prop_oneof![
        Just(Inclusion::Inclusive),
        Just(Inclusion::NonInclusive),
        Just(Inclusion::Exclusive)
    ];
    let level = (levels(41), 1u64..4, inclusions);
    let level = level.prop_map(|(level, times, inclusion)| Level {
        size_bytes: level.size_bytes * times,
        inclusion,
        ..level
    });
    prop::option::weighted(0.8, level)
}

/// A machine that the model allows. An inclusive level that is too small becomes non-inclusive.
pub fn machines() -> impl Strategy<Value = Machine> {
    let shared = (0u32..2, 0u32..2, 0u32..2, 1u32..4);
    let caches = (levels(2), levels(3), levels(11), outer_levels());
    (caches, any::<bool>(), shared).prop_map(|((l1i, l1d, l2, l3), inclusive, shared)| {
        let (i_shared, d_shared, l2_shared, clusters) = shared;
        let sharing = |level: Level, power: u32| Level {
            shared_by: 1 << power,
            ..level
        };
        let l2_shared = i_shared.max(d_shared) + l2_shared;
        let mut machine = Machine {
            name: "tiny".into(),
            cores: clusters << l2_shared,
            l1i: sharing(l1i, i_shared),
            l1d: sharing(l1d, d_shared),
            l2: sharing(l2, l2_shared),
            l3,
            memory_latency_cycles: 199,
            transfer_latency_cycles: 83,
            hop_cost_cycles: 1009,
            core: Core::default(),
            busy_hop_cost_cycles: 503,
            idle_hops: Vec::new(),
            carried_hop_cost_cycles: 1200,
            topology: Topology::default(),
            translation: None,
        };
        let largest_l1 = l1i.size_bytes.max(l1d.size_bytes);
        if !inclusive || l2.size_bytes < largest_l1 {
            machine.l2.inclusion = Inclusion::NonInclusive;
        }
        if let Some(l3) = &mut machine.l3
            && l3.inclusion == Inclusion::Inclusive
            && l3.size_bytes < largest_l1.max(l2.size_bytes)
        {
            l3.inclusion = Inclusion::NonInclusive;
        }
        machine
    })
}

/// One step of a program.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A core (modulo those used) references a line.
    Access(usize, Kind, u64),
    /// A line is prefetched into the L2 of a core (modulo those used).
    Prefetch(usize, u64, Insertion),
    /// A core that is not simulated stores to a line.
    StoreElsewhere(u64),
}

/// Accesses to few or many lines, code and data alike.
pub fn programs() -> impl Strategy<Value = Vec<Step>> {
    let kinds = || {
        prop_oneof![
            3 => Just(Kind::Fetch),
            3 => Just(Kind::Load),
            2 => Just(Kind::Store),
        ]
    };
    (2u64..90).prop_flat_map(move |lines| {
        let access = (0usize..12, kinds(), 0..lines);
        let insertions = prop::sample::select(&[Insertion::Newest, Insertion::Middle][..]);
        let prefetch = (0usize..12, 0..lines, insertions);
        let step = prop_oneof![
            30 => access.prop_map(|(core, kind, line)| Step::Access(core, kind, line)),
            3 => prefetch.prop_map(|(core, line, insertion)| Step::Prefetch(core, line, insertion)),
            1 => (0..lines).prop_map(Step::StoreElsewhere),
        ];
        vec(step, 0..500)
    })
}
