//! Srinivasan's benchmark (`benches/messages`) on the text's machine: the misses of a round follow
//! from sizes only, and a server is better than a lock if the critical section would be evicted.
//!
//! A path through twice as many lines as an L1D holds misses on each of them; one that fits a
//! server's L1D has no misses. Misses are therefore computed by hand here; the other checks are of
//! signs only.

use crate::timing::messages;
use crate::timing::messages::{Point, Rates, Way};
use corehop_simulator::Machine;

const L1D_LINES: u64 = 1024;
const LOCAL_LINES: u64 = 2 * L1D_LINES;

fn at(threads: u32, local_lines: u64, section_lines: u64) -> Point {
    Point {
        threads,
        local_lines,
        section_lines,
        modified_lines: 0,
        message_bytes: 64,
    }
}

fn rates(way: Way, point: Point) -> Rates {
    let mut machine = Machine::named_or_path("opteron-8431").unwrap();
    machine.cores = 24;
    messages::rates(&machine, way, point).unwrap()
}

#[test]
fn a_hop_leaves_the_section_where_it_is_as_long_as_an_l1d_holds_it() {
    for section_lines in [16, 512, L1D_LINES, 1536, 2048] {
        let missed = if section_lines > L1D_LINES {
            section_lines
        } else {
            0
        };
        let expected = [(LOCAL_LINES + missed) as f64, 0.0];
        let hop = rates(Way::Hop, at(10, LOCAL_LINES, section_lines));
        assert_eq!(hop.counted, Some(expected), "{section_lines} lines");
    }
}

#[test]
fn a_server_has_more_rounds_than_a_lock_from_a_size_on_and_until_its_l1d_is_full() {
    let wins = [
        (16, false),
        (64, false),
        (128, false),
        (256, true),
        (512, true),
        (1024, true),
    ];
    for (section_lines, expected) in wins {
        let point = at(10, LOCAL_LINES, section_lines);
        let [lock, server] = [Way::Lock, Way::Copying].map(|way| rates(way, point));
        assert_eq!(
            server.rounds > lock.rounds,
            expected,
            "{section_lines} lines"
        );
        let saves = server.cycles_per_round < lock.cycles_per_round;
        assert_eq!(saves, section_lines >= 64, "{section_lines} lines");
    }
    let point = at(10, LOCAL_LINES, 2 * L1D_LINES);
    let [lock, server] = [Way::Lock, Way::Copying].map(|way| rates(way, point));
    let ratio = server.rounds / lock.rounds;
    assert!(
        (0.98..1.02).contains(&ratio),
        "both serve from L2s: {ratio}"
    );
}

#[test]
fn modified_lines_slow_a_lock_the_more_the_more_threads_there_are_and_a_server_never() {
    let modified = |threads, modified_lines| Point {
        modified_lines,
        ..at(threads, LOCAL_LINES, 128)
    };
    let slowed = |way, threads| {
        rates(way, modified(threads, 128)).rounds / rates(way, modified(threads, 0)).rounds
    };
    let lock = [2, 4, 8, 12].map(|threads| slowed(Way::Lock, threads));
    assert!(lock.is_sorted_by(|fewer, more| fewer > more), "{lock:?}");
    let hop = slowed(Way::Hop, 12);
    assert_eq!(hop, 1.0, "no line is taken");
}

#[test]
fn a_saturated_server_has_as_many_rounds_whoever_asks_and_more_if_it_copies_nothing() {
    let long = |threads| Point {
        message_bytes: 4096,
        ..at(threads, 512, 1)
    };
    let copying = [9, 16].map(|threads| rates(Way::Copying, long(threads)));
    let ratio = copying[1].rounds / copying[0].rounds;
    assert!((0.99..1.01).contains(&ratio), "{ratio}");
    let zero_copy = rates(Way::ZeroCopy, long(16));
    assert!(zero_copy.rounds > 2.0 * copying[1].rounds, "{zero_copy:?}");
}
