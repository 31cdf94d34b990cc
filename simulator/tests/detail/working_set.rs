//! Working sets of requests: exact for a few, and compared with sets of lines for many.

use corehop_simulator::LineId;
use corehop_simulator::detail::{Spread, WorkingSet, WorkingSets};
use corehop_traces::{Kind, RequestId, ThreadId};
use proptest::prelude::*;
use std::collections::HashSet;

fn shared(set: &WorkingSet) -> (Option<u64>, Option<u64>) {
    (set.shared_with_previous_lines, set.shared_with_recent_lines)
}

/// Returns the working sets of one thread's requests, each loading these lines.
fn loading(requests: &[&[u32]]) -> Vec<WorkingSet> {
    let mut sets = WorkingSets::default();
    for (lines, request) in requests.iter().zip(0..) {
        sets.serve(ThreadId(0), Some(RequestId(request)));
        lines
            .iter()
            .for_each(|&line| sets.reference(Kind::Load, LineId(line)));
    }
    sets.finish()
}

#[test]
fn a_line_counts_once_however_often_and_by_whatever_kind_it_is_referenced() {
    let mut sets = WorkingSets::default();
    sets.serve(ThreadId(0), Some(RequestId(4)));
    sets.reference(Kind::Fetch, LineId(0));
    sets.reference(Kind::Fetch, LineId(1));
    sets.reference(Kind::Load, LineId(1));
    sets.reference(Kind::Store, LineId(1));
    sets.reference(Kind::Store, LineId(9));
    let all = sets.finish();
    assert_eq!(
        all,
        [WorkingSet {
            request: RequestId(4),
            code_lines: 2,
            data_lines: 2,
            lines: 3,
            shared_with_previous_lines: None,
            shared_with_recent_lines: None,
        }]
    );
    assert_eq!(all[0].size_bytes(), 192);
}

#[test]
fn lines_are_shared_with_the_last_request_and_with_any_of_ten() {
    let mut requests: Vec<&[u32]> = vec![&[1, 2, 3], &[2, 3, 4]];
    requests.extend([[7].as_slice(); 9]);
    requests.push(&[1, 2, 4, 7]);
    let sets = loading(&requests);
    assert_eq!(shared(&sets[0]), (None, None));
    assert_eq!(shared(&sets[1]), (Some(2), Some(2)));
    assert_eq!(shared(&sets[2]), (Some(0), Some(0)));
    // Among the last ten requests, the first referenced 2 and 4; the one before those referenced 1.
    assert_eq!(shared(&sets[11]), (Some(1), Some(3)));
}

#[test]
fn what_belongs_to_no_request_is_left_out() {
    let mut sets = WorkingSets::default();
    sets.reference(Kind::Load, LineId(0));
    sets.serve(ThreadId(0), None);
    sets.reference(Kind::Load, LineId(1));
    sets.serve(ThreadId(0), Some(RequestId(0)));
    sets.reference(Kind::Load, LineId(2));
    sets.serve(ThreadId(0), None);
    sets.reference(Kind::Load, LineId(3));
    let all = sets.finish();
    assert_eq!((all.len(), all[0].lines), (1, 1));
}

#[test]
fn the_previous_request_is_the_last_to_end_on_any_thread() {
    let mut sets = WorkingSets::default();
    sets.serve(ThreadId(0), Some(RequestId(0)));
    sets.reference(Kind::Load, LineId(5));
    sets.serve(ThreadId(1), Some(RequestId(1)));
    sets.reference(Kind::Load, LineId(5));
    sets.reference(Kind::Load, LineId(6));
    sets.serve(ThreadId(1), None);
    sets.serve(ThreadId(0), Some(RequestId(0)));
    sets.reference(Kind::Load, LineId(6));
    let all = sets.finish();
    assert_eq!(shared(&all[1]), (None, None), "the first to end");
    assert_eq!(shared(&all[0]), (Some(2), Some(2)));
}

#[test]
fn the_median_is_in_the_middle_or_the_larger_of_two_there() {
    let spread = |numbers: &[u64]| Spread::of(numbers.iter().copied());
    let expected = |median, largest| Spread { median, largest };
    assert_eq!(spread(&[9, 1, 5]), expected(5, 9));
    assert_eq!(spread(&[9, 1, 5, 4]), expected(5, 9));
    assert_eq!(spread(&[]), expected(0, 0));
}

proptest! {
    #[test]
    fn overlaps_equal_those_of_sets(
        requests in prop::collection::vec(prop::collection::vec(0..60_u32, 0..40), 1..40)
    ) {
        let slices: Vec<&[u32]> = requests.iter().map(Vec::as_slice).collect();
        let sets: Vec<HashSet<u32>> =
            requests.iter().map(|lines| lines.iter().copied().collect()).collect();
        for (set, own) in loading(&slices).iter().zip(0..) {
            let recent: HashSet<u32> =
                sets[own - own.min(10)..own].iter().flatten().copied().collect();
            prop_assert_eq!(set.lines, sets[own].len() as u64);
            let expected = (own > 0).then(|| {
                let previous = sets[own].intersection(&sets[own - 1]).count();
                (previous as u64, sets[own].intersection(&recent).count() as u64)
            });
            prop_assert_eq!(shared(set), (expected.map(|e| e.0), expected.map(|e| e.1)));
        }
    }
}
