//! The transitions of MESI between two cores, as visible in their counts.
//!
//! The simulator does not store these states. It does not need them: a state is equivalent to the
//! cost of each core's next access.

use crate::textbook;
use crate::textbook::run;
use corehop_simulator::{Counters, Inclusion, Machine};
use corehop_traces::Kind::{self, Load, Store};

/// The counts of two cores: L1D misses, L2 misses, lost lines, transfers.
#[derive(Debug, PartialEq)]
struct Seen {
    l1d_misses: [u64; 2],
    l2_misses: [u64; 2],
    invalidated_lines: [u64; 2],
    transfers: [u64; 2],
}

/// Cores without an L3, where every line that moves between them is a transfer.
fn machine() -> Machine {
    Machine {
        l3: None,
        ..textbook::machine()
    }
}

fn seen(accesses: &[(usize, Kind, u64)]) -> Seen {
    let counters = run(&machine(), 2, accesses);
    let of = |count: fn(&Counters) -> u64| [count(&counters[0]), count(&counters[1])];
    Seen {
        l1d_misses: of(|counters| counters.l1d.misses()),
        l2_misses: of(|counters| counters.l2.misses()),
        invalidated_lines: of(|counters| counters.invalidated_lines),
        transfers: of(|counters| counters.transfers),
    }
}

#[test]
fn invalid_to_exclusive_is_one_miss_from_memory() {
    let expected = Seen {
        l1d_misses: [1, 0],
        l2_misses: [1, 0],
        invalidated_lines: [0, 0],
        transfers: [0, 0],
    };
    assert_eq!(seen(&[(0, Load, 7), (0, Load, 7)]), expected);
}

#[test]
fn exclusive_to_modified_costs_nobody_anything() {
    let expected = Seen {
        l1d_misses: [1, 0],
        l2_misses: [1, 0],
        invalidated_lines: [0, 0],
        transfers: [0, 0],
    };
    assert_eq!(
        seen(&[(0, Load, 7), (0, Store, 7), (0, Store, 7)]),
        expected
    );
}

#[test]
fn exclusive_to_shared_is_a_transfer_to_the_second_reader() {
    let expected = Seen {
        l1d_misses: [1, 1],
        l2_misses: [1, 1],
        invalidated_lines: [0, 0],
        transfers: [0, 1],
    };
    let accesses = [(0, Load, 7), (1, Load, 7), (0, Load, 7), (1, Load, 7)];
    assert_eq!(seen(&accesses), expected);
}

#[test]
fn shared_to_modified_invalidates_the_other_and_hits() {
    let expected = Seen {
        l1d_misses: [1, 1],
        l2_misses: [1, 1],
        invalidated_lines: [1, 0],
        transfers: [0, 1],
    };
    assert_eq!(seen(&[(0, Load, 7), (1, Load, 7), (1, Store, 7)]), expected);
}

#[test]
fn modified_to_shared_on_a_remote_read_keeps_both_copies() {
    let expected = Seen {
        l1d_misses: [1, 1],
        l2_misses: [1, 1],
        invalidated_lines: [0, 0],
        transfers: [0, 1],
    };
    assert_eq!(seen(&[(0, Store, 7), (1, Load, 7), (0, Load, 7)]), expected);
}

#[test]
fn shared_to_modified_again_after_a_remote_read_invalidates_again() {
    let expected = Seen {
        l1d_misses: [1, 2],
        l2_misses: [1, 2],
        invalidated_lines: [0, 1],
        transfers: [0, 2],
    };
    let accesses = [(0, Store, 7), (1, Load, 7), (0, Store, 7), (1, Load, 7)];
    assert_eq!(seen(&accesses), expected);
}

#[test]
fn modified_to_invalid_on_a_remote_store_moves_the_line() {
    let expected = Seen {
        l1d_misses: [2, 1],
        l2_misses: [2, 1],
        invalidated_lines: [1, 0],
        transfers: [1, 1],
    };
    assert_eq!(
        seen(&[(0, Store, 7), (1, Store, 7), (0, Load, 7)]),
        expected
    );
}

#[test]
fn invalid_to_modified_on_a_store_miss_takes_the_line_from_a_reader() {
    let expected = Seen {
        l1d_misses: [1, 1],
        l2_misses: [1, 1],
        invalidated_lines: [1, 0],
        transfers: [0, 1],
    };
    assert_eq!(seen(&[(0, Load, 7), (1, Store, 7)]), expected);
}

#[test]
fn a_modified_line_that_was_replaced_is_nobodys() {
    let expected = Seen {
        l1d_misses: [5, 1],
        l2_misses: [5, 1],
        invalidated_lines: [0, 0],
        transfers: [0, 0],
    };
    let mut accesses = vec![(0, Store, 7)];
    accesses.extend((0..4).map(|line| (0, Load, line)));
    accesses.push((1, Load, 7));
    assert_eq!(seen(&accesses), expected);
}

#[test]
fn false_sharing_misses_on_every_store() {
    let ping_pong: Vec<_> = (0..10).map(|turn| (turn % 2, Store, 7)).collect();
    let expected = Seen {
        l1d_misses: [5, 5],
        l2_misses: [5, 5],
        invalidated_lines: [5, 4],
        transfers: [4, 5],
    };
    assert_eq!(seen(&ping_pong), expected);
    let counters = run(&machine(), 2, &ping_pong);
    let total: Counters = counters.into_iter().sum();
    assert_eq!(total.l2.causes().cold, 2);
    assert_eq!(total.l2.coherence_misses(), 8);
    assert_eq!(total.cycles, 100 + 9 * 50);
}

#[test]
fn readers_share_a_line_without_further_misses() {
    let readers: Vec<_> = (0..10).map(|turn| (turn % 2, Load, 7)).collect();
    let expected = Seen {
        l1d_misses: [1, 1],
        l2_misses: [1, 1],
        invalidated_lines: [0, 0],
        transfers: [0, 1],
    };
    assert_eq!(seen(&readers), expected);
}

#[test]
fn what_the_l3_holds_of_a_modified_line_is_old() {
    let ping_pong: Vec<_> = (0..10).map(|turn| (turn % 2, Store, 7)).collect();
    let mut machine = textbook::machine();
    let total: Counters = run(&machine, 2, &ping_pong).into_iter().sum();
    assert_eq!((total.l3.accesses(), total.l3.misses()), (10, 1));
    assert_eq!((total.transfers, total.hit_modified), (0, 9));
    assert_eq!(total.cycles, 100 + 9 * 50);
    machine.l3.as_mut().unwrap().inclusion = Inclusion::Exclusive;
    let total: Counters = run(&machine, 2, &ping_pong).into_iter().sum();
    assert_eq!((total.l3.accesses(), total.l3.misses()), (10, 10));
    assert_eq!((total.transfers, total.hit_modified), (9, 0));
    assert_eq!(total.cycles, 100 + 9 * 50);
}

#[test]
fn a_line_that_another_cluster_has_read_is_modified_no_more() {
    // From memory, from the L2 that has modified it, and from the L3.
    let accesses = [(0, Store, 7), (1, Load, 7), (2, Load, 7)];
    let counters = run(&textbook::machine(), 3, &accesses);
    let of = |count: fn(&Counters) -> u64| [0, 1, 2].map(|core: usize| count(&counters[core]));
    assert_eq!(of(|counters| counters.hit_modified), [0, 1, 0]);
    assert_eq!(of(|counters| counters.cycles), [100, 50, 30]);
}

#[test]
fn a_line_that_its_cluster_has_lost_is_the_l3s() {
    // Lines that fill the L2 of core 0; the L3 holds them all.
    let lost = (8..12).map(|line| (0, Load, line));
    let accesses: Vec<_> = [(0, Store, 7)]
        .into_iter()
        .chain(lost)
        .chain([(1, Load, 7)])
        .collect();
    let counters = run(&textbook::machine(), 2, &accesses);
    assert_eq!((counters[1].hit_modified, counters[1].cycles), (0, 30));
}
