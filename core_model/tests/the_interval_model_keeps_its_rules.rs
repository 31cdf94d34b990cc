//! The interval model equals a naive second implementation of the rules in its header, and what a
//! reader of the rules expects of a few loads and stores.

mod naive;

use corehop_core_model::{CoreModel, Interval, Reference, ServedBy};
use corehop_simulator::Machine;
use corehop_traces::Kind;
use naive::Naive;
use proptest::prelude::*;
use std::path::Path;

const KINDS: [Kind; 3] = [Kind::Fetch, Kind::Load, Kind::Store];
const SERVED_BY: [ServedBy; 5] = [
    ServedBy::L1,
    ServedBy::L2,
    ServedBy::L3,
    ServedBy::OtherL2,
    ServedBy::Memory,
];
/// Of what serves, in that order; a hit's is never used.
const LATENCIES: [u64; 5] = [4, 12, 40, 70, 200];

/// A machine of those latencies whose core is so.
fn machine(instructions_per_cycle: f64, window: u32, stores: u32) -> Machine {
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

#[derive(Clone, Copy, Debug)]
enum Step {
    Instructions(u32),
    Reference(usize, usize, u8, u32),
    Switch,
    WaitUntil(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let back = prop_oneof![3 => 0..3u8, 2 => 0..20u8, 1 => any::<u8>()];
    let at_least = prop_oneof![3 => Just(0), 1 => 0..300u32];
    let step = prop_oneof![
        6 => (0..30u32).prop_map(Step::Instructions),
        12 => (0..3usize, 0..5usize, back, at_least).prop_map(|(kind, by, back, at_least)| {
            Step::Reference(kind, by, back, at_least)
        }),
        1 => Just(Step::Switch),
        1 => (0..20_000u64).prop_map(Step::WaitUntil),
    ];
    proptest::collection::vec(step, 1..600)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn it_equals_a_naive_implementation_of_its_rules(
        per_cycle in prop_oneof![Just(4.0), Just(2.5), Just(0.3)],
        window in 1..200u32,
        entries in 1..9u32,
        steps in steps(),
    ) {
        let machine = machine(per_cycle, window, entries);
        let mut model = Interval::new(&machine);
        let mut naive = Naive::new(machine.core);
        for step in steps {
            match step {
                Step::Instructions(count) => {
                    model.instructions(count);
                    naive.instructions(count);
                }
                Step::Reference(kind, by, back, at_least) => {
                    let at_least_cycles = if by > 0 { at_least } else { 0 };
                    model.reference(Reference {
                        kind: KINDS[kind],
                        served_by: SERVED_BY[by],
                        address_from: back,
                        at_least_cycles,
                    });
                    let missed = (by > 0).then_some(LATENCIES[by].max(at_least.into()));
                    naive.reference(KINDS[kind], missed, back);
                }
                Step::Switch => {
                    model.switch();
                    naive.switch();
                }
                Step::WaitUntil(cycle) => {
                    model.wait_until(cycle);
                    naive.wait_until(cycle);
                }
            }
            prop_assert_eq!(model.cycle(), naive.cycle());
            prop_assert_eq!(model.load_stalls(), naive.stalls);
        }
    }
}

/// Cycles of loads that memory serves, each 8 instructions after the one before and dependent on
/// the load so far back.
fn cycles_of_loads(dependences: &[u8]) -> u64 {
    let mut model = Interval::new(&machine(4.0, 192, 42));
    for &address_from in dependences {
        model.instructions(8);
        model.reference(Reference {
            kind: Kind::Load,
            served_by: ServedBy::Memory,
            address_from,
            at_least_cycles: 0,
        });
    }
    model.cycle()
}

#[test]
fn a_chain_of_misses_takes_their_latencies() {
    assert_eq!(cycles_of_loads(&[1; 24]), 24 * (200 + 2));
}

#[test]
fn misses_within_the_window_take_one_latency() {
    // 24 loads of 8 instructions are a window.
    assert_eq!(cycles_of_loads(&[0; 24]), 200 + 24 * 2);
    assert_eq!(cycles_of_loads(&[0; 25]), 2 * 200 + 25 * 2);
}

#[test]
fn two_chains_take_the_time_of_one() {
    assert_eq!(cycles_of_loads(&[2; 24]), 12 * 200 + 24 * 2);
}

#[test]
fn a_dependence_goes_on_through_a_hit() {
    let load = |served_by, address_from| Reference {
        kind: Kind::Load,
        served_by,
        address_from,
        at_least_cycles: 0,
    };
    let mut model = Interval::new(&machine(4.0, 192, 42));
    model.reference(load(ServedBy::Memory, 0));
    model.reference(load(ServedBy::L1, 1));
    model.reference(load(ServedBy::Memory, 1));
    assert_eq!(model.cycle(), 400);
    model.reference(load(ServedBy::Memory, 0));
    assert_eq!(model.cycle(), 400, "it waits together with the one before");
}

#[test]
fn stores_take_nothing_until_the_buffer_is_full() {
    let store = Reference {
        kind: Kind::Store,
        served_by: ServedBy::Memory,
        address_from: 0,
        at_least_cycles: 0,
    };
    let mut model = Interval::new(&machine(4.0, 192, 3));
    for _ in 0..3 {
        model.instructions(4);
        model.reference(store);
    }
    assert_eq!(model.cycle(), 3);
    model.instructions(4);
    model.reference(store);
    assert_eq!(model.cycle(), 201, "the first, begun at cycle 1, is done");
    model.switch();
    assert_eq!(model.cycle(), 401, "the last is done");
}
