//! The interval model yields the results expected from its rules for a few loads and stores.

use crate::core_model::machine::machine;
use crate::core_model::walk_a_list;
use corehop_simulator::LineId;
use corehop_simulator::core_model::{CoreModel, Interval, Reference, ServedBy};
use corehop_traces::Kind;

/// Returns the cycles of loads that memory serves. Each is 8 instructions after the previous one
/// and depends on the load at this distance back.
fn cycles_of_loads(dependences: &[u8]) -> u64 {
    let mut model = Interval::new(&machine(4.0, 192, 42));
    for &address_from in dependences {
        model.instructions(8);
        model.reference(Reference {
            kind: Kind::Load,
            line: LineId(0),
            served_by: ServedBy::Memory,
            address_from,
            at_least_cycles: 0,
            takes_line: false,
            translation_cycles: 0,
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
    // 24 loads with 8 instructions each fill a window.
    assert_eq!(cycles_of_loads(&[0; 24]), 200 + 24 * 2);
    assert_eq!(cycles_of_loads(&[0; 25]), 2 * 200 + 25 * 2);
}

#[test]
fn two_chains_take_the_time_of_one() {
    assert_eq!(cycles_of_loads(&[2; 24]), 12 * 200 + 24 * 2);
}

#[test]
fn a_dependence_goes_on_through_a_hit() {
    let load = |served_by, line, address_from| Reference {
        kind: Kind::Load,
        line: LineId(line),
        served_by,
        address_from,
        at_least_cycles: 0,
        takes_line: false,
        translation_cycles: 0,
    };
    let mut model = Interval::new(&machine(4.0, 192, 42));
    model.reference(load(ServedBy::Memory, 0, 0));
    model.reference(load(ServedBy::L1, 1, 1));
    model.reference(load(ServedBy::Memory, 2, 1));
    assert_eq!(model.cycle(), 400);
    model.reference(load(ServedBy::Memory, 3, 0));
    assert_eq!(model.cycle(), 400, "it waits together with the one before");
}

#[test]
fn a_hit_waits_for_its_line() {
    let mut model = Interval::new(&machine(4.0, 192, 42));
    walk_a_list(&mut model, 24);
    assert_eq!(model.cycle(), 24 * (200 + 2));
}

#[test]
fn stores_take_nothing_until_the_buffer_is_full() {
    let store = Reference {
        kind: Kind::Store,
        line: LineId(0),
        served_by: ServedBy::Memory,
        address_from: 0,
        at_least_cycles: 0,
        takes_line: false,
        translation_cycles: 0,
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
