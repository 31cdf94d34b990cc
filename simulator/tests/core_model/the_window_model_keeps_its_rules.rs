//! The window model yields the results expected from its rules for a few loads and stores.

use crate::core_model::machine::machine;
use crate::core_model::walk_a_list;
use corehop_simulator::LineId;
use corehop_simulator::core_model::{CoreModel, Reference, ServedBy, Window};
use corehop_traces::Kind;

fn load(served_by: ServedBy, address_from: u8) -> Reference {
    Reference {
        kind: Kind::Load,
        line: LineId(0),
        served_by,
        address_from,
        at_least_cycles: 0,
        takes_line: false,
        translation_cycles: 0,
    }
}

/// Returns the cycles until all loads that this level serves are done. Each is 8 instructions after
/// the previous one and depends on the load at this distance back.
fn cycles_of_loads(served_by: ServedBy, dependences: &[u8]) -> u64 {
    let mut model = Window::new(&machine(4.0, 192, 42));
    for &address_from in dependences {
        model.instructions(8);
        model.reference(load(served_by, address_from));
    }
    model.switch();
    model.cycle()
}

#[test]
fn a_chain_takes_its_latencies_of_hits_too() {
    // The first is issued after the first 8 instructions.
    assert_eq!(cycles_of_loads(ServedBy::L1, &[1; 24]), 2 + 24 * 4);
    assert_eq!(cycles_of_loads(ServedBy::L2, &[1; 24]), 2 + 24 * 12);
    assert_eq!(cycles_of_loads(ServedBy::Memory, &[1; 24]), 2 + 24 * 200);
}

#[test]
fn a_hit_waits_for_its_line() {
    let mut model = Window::new(&machine(4.0, 192, 42));
    walk_a_list(&mut model, 24);
    model.switch();
    assert_eq!(model.cycle(), 2 + 24 * 200);
}

#[test]
fn what_does_not_wait_takes_the_latency_of_the_last() {
    assert_eq!(cycles_of_loads(ServedBy::L1, &[0; 24]), 24 * 2 + 4);
    assert_eq!(cycles_of_loads(ServedBy::L2, &[0; 24]), 24 * 2 + 12);
}

#[test]
fn a_miss_hides_a_window_of_instructions() {
    // The instructions after the first miss fill the window in 48 cycles. Later ones have to wait
    // until it has left, at 2 + 200.
    assert_eq!(cycles_of_loads(ServedBy::Memory, &[0; 24]), 24 * 2 + 200);
    let twice = 2 + 200 + 200;
    assert_eq!(cycles_of_loads(ServedBy::Memory, &[0; 25]), twice);
}

#[test]
fn a_core_by_itself_never_waits_for_an_l2() {
    let mut model = Window::new(&machine(4.0, 192, 42));
    for _ in 0..1000 {
        model.instructions(8);
        model.reference(load(ServedBy::L2, 0));
    }
    assert_eq!(model.cycle(), 1000 * 2);
}

#[test]
fn stores_that_take_lines_wait_in_the_buffer() {
    let hit = Reference {
        kind: Kind::Store,
        takes_line: true,
        translation_cycles: 0,
        ..load(ServedBy::L1, 0)
    };
    let mut model = Window::new(&machine(4.0, 192, 2));
    for _ in 0..2 {
        model.instructions(4);
        model.reference(hit);
    }
    assert_eq!(model.cycle(), 2);
    model.instructions(4);
    model.reference(hit);
    assert_eq!(model.cycle(), 71, "the first, begun at cycle 1, is done");
    model.switch();
    assert_eq!(model.cycle(), 71 + 70, "the last is done");
}
