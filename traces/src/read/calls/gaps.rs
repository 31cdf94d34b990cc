//! Finds gaps: a request before which its thread did something that is not in the trace.
//!
//! A thread that serves requests is recorded only during selected requests. Its work between two of
//! them may be missing. No mark shows this, but the requests' numbers do. If a thread went directly
//! from one request to the next, all numbers between theirs are in the trace, on other threads. If
//! a number is missing, this thread may have served that request.

use crate::model::ids::ThreadId;
use crate::model::program::Request;
use std::collections::HashMap;

/// Returns for each request whether its thread may have served an unrecorded request since its last
/// one. If requests have no numbers, none is assumed to be missing.
pub fn after_gaps(requests: &[Request]) -> Vec<bool> {
    let mut numbers: Vec<u64> = requests.iter().filter_map(|r| r.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let known_below = |number: u64| numbers.partition_point(|&known| known < number) as u64;
    let mut last_of_threads: HashMap<ThreadId, u64> = HashMap::new();
    let after_gap = |request: &Request| {
        let Some(number) = request.number else {
            return false;
        };
        let last = last_of_threads.insert(request.thread, number).unwrap_or(0);
        let first = last.saturating_add(1);
        let known = known_below(number).saturating_sub(known_below(first));
        number.checked_sub(first) != Some(known)
    };
    requests.iter().map(after_gap).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(threads_and_numbers: &[(u32, Option<u64>)]) -> Vec<bool> {
        let request = |&(thread, number)| Request {
            thread: ThreadId(thread),
            number,
            connection: None,
            complete: true,
        };
        let requests: Vec<Request> = threads_and_numbers.iter().map(request).collect();
        after_gaps(&requests)
    }

    #[test]
    fn a_number_that_is_missing_may_have_been_served_by_any_thread() {
        let served = [
            (0, Some(1)),
            (1, Some(2)),
            (0, Some(3)),
            (1, Some(5)),
            (0, Some(6)),
        ];
        assert_eq!(gaps(&served), [false, false, false, true, true]);
    }

    #[test]
    fn what_came_before_a_threads_first_request_may_be_missing_too() {
        assert_eq!(gaps(&[(0, Some(2)), (0, Some(3))]), [true, false]);
    }

    #[test]
    fn requests_without_numbers_follow_one_another() {
        assert_eq!(gaps(&[(0, None), (0, None)]), [false, false]);
    }

    #[test]
    fn numbers_that_do_not_ascend_are_taken_for_gaps() {
        let served = [
            (0, Some(7)),
            (0, Some(7)),
            (0, Some(u64::MAX)),
            (0, Some(1)),
        ];
        assert_eq!(gaps(&served), [true; 4]);
    }
}
