//! Interference between segments, event by event.

use corehop_simulator::LineId;
use corehop_simulator::detail::Interfering;

/// Two segments on one L2.
fn two_segments() -> Interfering {
    Interfering::new(1, 2)
}

#[test]
fn a_line_missed_again_was_lost_to_whoever_removed_it() {
    let mut events = two_segments();
    events.reference(0, LineId(7), 0);
    events.reference(0, LineId(8), 1);
    events.replace(0, LineId(7), 1);
    events.reference(0, LineId(7), 0);
    events.miss_for_capacity(0, LineId(7), 0);
    let counted = events.counted();
    assert_eq!(counted.capacity.lost, [[0, 1], [0, 0]]);
    assert_eq!(counted.capacity.touched_by_others, [0, 0]);
    assert_eq!(counted.coherence.lost, [[0, 0], [0, 0]]);
}

#[test]
fn a_segment_may_take_a_line_from_itself() {
    let mut events = two_segments();
    events.reference(0, LineId(7), 1);
    events.replace(0, LineId(7), 1);
    events.miss_for_capacity(0, LineId(7), 1);
    assert_eq!(events.counted().capacity.lost, [[0, 0], [0, 1]]);
}

#[test]
fn a_line_that_another_segment_referenced_last_stands_beside_the_matrix() {
    let mut events = two_segments();
    events.reference(0, LineId(7), 0);
    events.reference(0, LineId(7), 1);
    events.replace(0, LineId(7), 1);
    events.reference(0, LineId(7), 0);
    events.miss_for_capacity(0, LineId(7), 0);
    let capacity = &events.counted().capacity;
    assert_eq!(capacity.lost, [[0, 0], [0, 0]]);
    assert_eq!(capacity.touched_by_others, [1, 0]);
    assert_eq!((capacity.of(0), capacity.of(1)), (1, 0));
}

#[test]
fn each_l2_knows_which_segment_referenced_its_lines_last() {
    let mut events = Interfering::new(2, 2);
    events.reference(0, LineId(7), 0);
    events.reference(1, LineId(7), 1);
    events.invalidate(0, LineId(7), 1);
    events.reference(0, LineId(7), 0);
    events.miss_for_coherence(0, LineId(7), 0);
    assert_eq!(events.counted().coherence.lost, [[0, 1], [0, 0]]);
}

#[test]
fn a_store_to_a_line_that_only_an_l1_still_held_is_not_what_the_l2_lost_it_to() {
    let mut events = Interfering::new(2, 3);
    events.reference(0, LineId(7), 0);
    events.replace(0, LineId(7), 1);
    events.invalidate(0, LineId(7), 2);
    events.reference(0, LineId(7), 0);
    events.miss_for_capacity(0, LineId(7), 0);
    assert_eq!(events.counted().capacity.lost[0], [0, 1, 0]);
    assert_eq!(events.counted().coherence.of(0), 0);
}

#[test]
fn what_was_lost_while_warming_up_is_counted_when_it_is_missed() {
    let mut events = two_segments();
    events.reference(0, LineId(7), 0);
    events.replace(0, LineId(7), 1);
    events.miss_for_capacity(0, LineId(7), 0);
    events.reference(0, LineId(7), 0);
    events.replace(0, LineId(7), 1);
    events.start_counting();
    assert_eq!(events.counted().capacity.of(0), 0);
    events.miss_for_capacity(0, LineId(7), 0);
    assert_eq!(events.counted().capacity.lost, [[0, 1], [0, 0]]);
}
