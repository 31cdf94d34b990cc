//! Textbook cases with every count computed by hand: which caches hold a line after each access.

use crate::textbook::{machine, run};
use corehop_simulator::{CoreId, Counters, MissCauses};
use corehop_traces::Kind::{Fetch, Load, Store};

#[test]
fn a_line_is_found_where_it_was_brought() {
    let accesses = [(0, Load, 7), (0, Load, 7), (0, Fetch, 7), (0, Fetch, 7)];
    let counters = run(&machine(), 1, &accesses)[0];
    assert_eq!((counters.l1d.accesses(), counters.l1d.misses()), (2, 1));
    assert_eq!((counters.l1i.accesses(), counters.l1i.misses()), (2, 1));
    assert_eq!((counters.l2.accesses(), counters.l2.misses()), (2, 1));
    assert_eq!((counters.l3.accesses(), counters.l3.misses()), (1, 1));
    assert_eq!(counters.l2.load.misses.cold, 1);
    assert_eq!(counters.cycles, 100 + 2 + 10 + 1);
}

#[test]
fn a_store_removes_the_line_from_other_cores() {
    let accesses = [
        (0, Load, 7),
        (1, Load, 7),
        (1, Store, 7),
        (0, Load, 7),
        (1, Load, 7),
    ];
    let counters = run(&machine(), 2, &accesses);
    let one_cold = MissCauses {
        cold: 1,
        ..MissCauses::default()
    };
    let first = MissCauses {
        coherence: 1,
        ..one_cold
    };
    assert_eq!(counters[0].l2.causes(), first);
    assert_eq!(counters[0].l1d.causes(), first);
    assert_eq!(counters[0].l2.coherence_misses(), 1);
    assert_eq!(counters[0].invalidated_lines, 1);
    assert_eq!(counters[0].cycles, 100 + 50);
    assert_eq!(counters[1].l2.causes(), one_cold);
    assert_eq!(counters[1].invalidated_lines, 0);
    assert_eq!(counters[1].cycles, 30 + 2 + 2);
}

#[test]
fn a_store_removes_fetched_lines_of_other_cores_and_not_its_own() {
    let accesses = [
        (0, Fetch, 7),
        (1, Fetch, 7),
        (0, Store, 7),
        (0, Fetch, 7),
        (1, Fetch, 7),
    ];
    let counters = run(&machine(), 2, &accesses);
    assert_eq!(counters[0].l1i.misses(), 1);
    assert_eq!(counters[1].l1i.misses(), 2);
    assert_eq!(counters[1].l2.fetch.misses.coherence, 1);
}

#[test]
fn an_l1_hit_leaves_the_order_of_the_l2_alone() {
    let mut accesses = vec![(0, Load, 0)];
    for line in [1, 3, 5] {
        accesses.extend([(0, Load, line), (0, Load, 0)]);
    }
    let before = run(&machine(), 1, &accesses)[0];
    assert_eq!((before.l1d.misses(), before.l2.misses()), (4, 4));
    accesses.extend([(0, Load, 7), (0, Load, 0)]);
    let counters = run(&machine(), 1, &accesses)[0];
    assert_eq!(
        counters.l2.misses(),
        6,
        "the oldest in L2, however hot in L1"
    );
    assert_eq!(counters.l2.load.misses.capacity, 1);
    assert_eq!(counters.l1d.load.misses.inclusion, 1);
}

#[test]
fn a_line_that_leaves_the_l1_stays_in_the_l2() {
    let counters = run(&machine(), 1, &[(0, Load, 0), (0, Load, 2), (0, Load, 0)])[0];
    assert_eq!(counters.l1d.load.misses.capacity, 1);
    assert_eq!(counters.l2.hits(), 1);
}

#[test]
fn a_line_that_leaves_the_l3_leaves_every_core() {
    let mut accesses = vec![(0, Load, 0), (1, Load, 0)];
    accesses.extend((1..9).map(|line| (2, Load, line)));
    accesses.extend([(0, Load, 0), (1, Load, 0)]);
    let counters = run(&machine(), 3, &accesses);
    for core in [0, 1] {
        assert_eq!(counters[core].l2.load.misses.inclusion, 1);
        assert_eq!(counters[core].l1d.load.misses.inclusion, 1);
    }
    assert_eq!(counters[0].l3.misses(), 2);
    assert_eq!(counters[1].l3.misses(), 0);
}

/// Line 0, then eight others that fill the L2 (four lines) and the L3 (eight), then line 0.
const AROUND: [(usize, corehop_traces::Kind, u64); 10] = [
    (0, Load, 0),
    (0, Load, 1),
    (0, Load, 2),
    (0, Load, 3),
    (0, Load, 4),
    (0, Load, 5),
    (0, Load, 6),
    (0, Load, 7),
    (0, Load, 8),
    (0, Load, 0),
];

#[test]
fn an_exclusive_l3_holds_what_left_the_l2() {
    let mut machine = machine();
    let inclusive = run(&machine, 1, &AROUND)[0];
    assert_eq!(inclusive.l3.misses(), 10);
    machine.l3.as_mut().unwrap().inclusion = corehop_simulator::Inclusion::Exclusive;
    let exclusive = run(&machine, 1, &AROUND)[0];
    assert_eq!((exclusive.l3.accesses(), exclusive.l3.hits()), (10, 1));
    let twice = [&AROUND[..], &AROUND[1..]].concat();
    let counters = run(&machine, 1, &twice)[0];
    assert_eq!(
        counters.l3.causes().cold,
        9,
        "four and eight lines hold all nine"
    );
    assert_eq!(counters.l3.misses(), 9);
}

#[test]
fn a_line_stays_above_an_outer_level_that_does_not_include_it() {
    let mut machine = machine();
    let accesses = [
        (0, Load, 1),
        (0, Load, 2),
        (0, Load, 4),
        (0, Load, 6),
        (0, Load, 8),
    ];
    let accesses = [&accesses[..], &[(0, Load, 1)]].concat();
    assert_eq!(run(&machine, 1, &accesses)[0].l1d.misses(), 6);
    machine.l2.inclusion = corehop_simulator::Inclusion::NonInclusive;
    assert_eq!(run(&machine, 1, &accesses)[0].l1d.misses(), 5);
}

#[test]
fn counting_afresh_keeps_the_caches_warm() {
    let geometry = corehop_simulator::Geometry::new(&machine(), 2, 1);
    let mut hierarchy = corehop_simulator::Hierarchy::new(&geometry);
    let line = hierarchy.line(7);
    hierarchy.access(CoreId(0), Load, line, &mut ());
    hierarchy.start_counting();
    hierarchy.access(CoreId(0), Load, line, &mut ());
    let counters = hierarchy.tally()[0].counters([0, 1, 0], 0, &machine());
    assert_eq!((counters.l1d.accesses(), counters.l1d.misses()), (1, 0));
    assert_eq!(counters.cycles, 2);
}

#[test]
fn cores_that_share_an_l2_find_there_what_either_brought() {
    let mut machine = machine();
    machine.cores = 4;
    machine.l2.shared_by = 2;
    let accesses = [
        (0, Load, 7),
        (1, Load, 7),
        (1, Store, 7),
        (0, Load, 7),
        (2, Load, 7),
    ];
    let counters = run(&machine, 4, &accesses);
    assert_eq!(counters[1].l2.hits(), 1);
    assert_eq!(
        counters[0].l1d.load.misses.coherence, 1,
        "a neighbour's store"
    );
    assert_eq!(
        counters[0].l2.coherence_misses(),
        0,
        "the line stays in the L2 they share"
    );
    assert_eq!(counters[2].l2.misses(), 1);
    let total: Counters = counters.into_iter().sum();
    assert_eq!(total.invalidated_lines, 0);
}
