//! Textbook cases with every count worked out by hand: who holds a line after whose access.

use corehop_simulator::{Counters, Hierarchy, Machine, MissCauses, PrivateCaches, Served};
use corehop_traces::Kind::{Fetch, Load, Store};
use std::path::Path;

/// Direct-mapped L1s of two lines, an L2 of four lines in one set, an L3 of eight in one set.
fn machine() -> Machine {
    let text = "\
name = \"textbook\"
cores = 3
line_size_bytes = 64
memory_latency_cycles = 100
hop_cost_cycles = 1000
l1i = { size_bytes = 128, ways = 1, latency_cycles = 1 }
l1d = { size_bytes = 128, ways = 1, latency_cycles = 2 }
l2 = { size_bytes = 256, ways = 4, latency_cycles = 10 }
l3 = { size_bytes = 512, ways = 8, latency_cycles = 30 }
";
    Machine::from_toml(text, Path::new("textbook.toml")).unwrap()
}

/// The counters of each core after these accesses, which are (core, kind, line).
fn run(cores: u32, accesses: &[(usize, corehop_traces::Kind, u64)]) -> Vec<Counters> {
    let mut hierarchy = Hierarchy::new(&machine(), cores);
    for &(core, kind, line) in accesses {
        hierarchy.access(core, kind, line);
    }
    hierarchy.counters()
}

#[test]
fn a_line_is_found_where_it_was_brought() {
    let counters = run(
        1,
        &[(0, Load, 7), (0, Load, 7), (0, Fetch, 7), (0, Fetch, 7)],
    )[0];
    assert_eq!((counters.l1d.accesses, counters.l1d.misses), (2, 1));
    assert_eq!((counters.l1i.accesses, counters.l1i.misses), (2, 1));
    assert_eq!((counters.l2.accesses, counters.l2.misses), (2, 1));
    assert_eq!((counters.l3.accesses, counters.l3.misses), (1, 1));
    assert_eq!(counters.l2.data_causes.cold, 1);
    assert_eq!(counters.cycles, 100 + 2 + 10 + 1);
}

#[test]
fn a_store_removes_the_line_from_other_cores() {
    let counters = run(
        2,
        &[
            (0, Load, 7),
            (1, Load, 7),
            (1, Store, 7),
            (0, Load, 7),
            (1, Load, 7),
        ],
    );
    let one_cold = MissCauses {
        cold: 1,
        ..MissCauses::default()
    };
    let first = MissCauses {
        coherence: 1,
        ..one_cold
    };
    assert_eq!(counters[0].l2.data_causes, first);
    assert_eq!(counters[0].l2.coherence_misses, 1);
    assert_eq!(counters[0].invalidated_lines, 1);
    assert_eq!(counters[0].cycles, 100 + 30);
    assert_eq!(counters[1].l2.data_causes, one_cold);
    assert_eq!(counters[1].invalidated_lines, 0);
    assert_eq!(counters[1].cycles, 30 + 2 + 2);
}

#[test]
fn two_cores_that_store_to_one_line_miss_every_time() {
    let ping_pong: Vec<_> = (0..10).map(|turn| (turn % 2, Store, 7)).collect();
    let counters = run(2, &ping_pong);
    let total: Counters = counters.iter().copied().sum();
    assert_eq!(total.l2.misses, 10);
    assert_eq!(total.l2.coherence_misses, 8);
    assert_eq!(total.invalidated_lines, 9);
    assert_eq!((total.l3.accesses, total.l3.misses), (10, 1));
}

#[test]
fn a_store_removes_the_line_again_after_another_core_read_it() {
    let accesses = [
        (0, Store, 7),
        (0, Store, 7),
        (1, Load, 7),
        (0, Store, 7),
        (1, Load, 7),
    ];
    let counters = run(2, &accesses);
    assert_eq!(counters[1].l2.coherence_misses, 1);
    assert_eq!(counters[1].invalidated_lines, 1);
    assert_eq!(counters[0].l1d.misses, 1);
}

#[test]
fn a_store_removes_fetched_lines_of_other_cores_and_not_its_own() {
    let counters = run(
        2,
        &[
            (0, Fetch, 7),
            (1, Fetch, 7),
            (0, Store, 7),
            (0, Fetch, 7),
            (1, Fetch, 7),
        ],
    );
    assert_eq!(counters[0].l1i.misses, 1);
    assert_eq!(counters[1].l1i.misses, 2);
    assert_eq!(counters[1].l2.fetch_causes.coherence, 1);
}

#[test]
fn readers_share_a_line_without_misses() {
    let readers: Vec<_> = (0..9).map(|turn| (turn % 3, Load, 7)).collect();
    let total: Counters = run(3, &readers).into_iter().sum();
    assert_eq!(total.l2.misses, 3);
    assert_eq!(total.invalidated_lines, 0);
    assert_eq!(total.l3.misses, 1);
}

#[test]
fn an_l1_hit_leaves_the_order_of_the_l2_alone() {
    let mut core = PrivateCaches::new(&machine());
    core.access(Load, 0);
    for line in [1, 3, 5] {
        assert_eq!(core.access(Load, line), Served::Beyond);
        assert_eq!(core.access(Load, 0), Served::L1);
    }
    assert_eq!(core.access(Load, 7), Served::Beyond);
    assert_eq!(
        core.access(Load, 0),
        Served::Beyond,
        "the oldest in L2, however hot in L1"
    );
    assert_eq!(core.counters().l2.data_causes.capacity, 1);
}

#[test]
fn a_line_that_leaves_the_l1_stays_in_the_l2() {
    let mut core = PrivateCaches::new(&machine());
    core.access(Load, 0);
    core.access(Load, 2);
    assert_eq!(core.access(Load, 0), Served::L2);
}

#[test]
fn invalidating_says_whether_the_line_was_held() {
    let mut core = PrivateCaches::new(&machine());
    core.access(Fetch, 7);
    assert!(core.invalidate(7));
    assert!(!core.invalidate(7));
    assert_eq!(core.access(Fetch, 7), Served::Beyond);
    assert_eq!(core.counters().invalidated_lines, 1);
}

#[test]
fn a_line_that_leaves_the_l3_leaves_every_core() {
    let mut accesses = vec![(0, Load, 0), (1, Load, 0)];
    accesses.extend((1..9).map(|line| (2, Load, line)));
    accesses.extend([(0, Load, 0), (1, Load, 0)]);
    let counters = run(3, &accesses);
    for core in [0, 1] {
        assert_eq!(counters[core].l2.data_causes.inclusion, 1);
        assert_eq!(counters[core].l1d.misses, 2);
    }
    assert_eq!(counters[0].l3.misses, 2);
    assert_eq!(counters[1].l3.misses, 0);
}

#[test]
fn counting_afresh_keeps_the_caches_warm() {
    let mut hierarchy = Hierarchy::new(&machine(), 2);
    hierarchy.access(0, Load, 7);
    hierarchy.start_counting();
    hierarchy.access(0, Load, 7);
    let counters = hierarchy.counters()[0];
    assert_eq!((counters.l1d.accesses, counters.l1d.misses), (1, 0));
    assert_eq!(counters.cycles, 2);
}
