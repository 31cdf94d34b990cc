//! Checks that the selected requests are recorded, and that recording ends with them.

use corehop_wire::ring::{Mark, Memory, Requests, Settings};
use proptest::prelude::*;
use std::sync::Mutex;

fn listing(numbers: &[u64]) -> Memory {
    let settings = Settings {
        chunks: 1,
        listed: numbers.len() as u32,
        ..Settings::default()
    };
    let (memory, _file) = Memory::create(&settings).unwrap();
    memory.set_listed(numbers);
    memory
}

fn limited(request_limit: u64) -> Memory {
    let settings = Settings {
        chunks: 1,
        request_limit,
        ..Settings::default()
    };
    Memory::create(&settings).unwrap().0
}

fn marks(memory: &Memory, count: usize) -> Vec<bool> {
    (0..count).map(|_| memory.count_mark().chosen).collect()
}

#[test]
fn requests_are_counted_up_to_the_limit() {
    let memory = limited(2);
    assert_eq!(marks(&memory, 3), [true, true, false]);
    memory.count_end();
    assert!(!memory.is_stopped());
    memory.count_end();
    assert!(memory.is_stopped());
    let requests = Requests {
        seen: 3,
        chosen: 2,
        ended: 2,
    };
    assert_eq!(memory.requests(), requests);
}

#[test]
fn listed_requests_are_chosen_and_no_others() {
    let memory = listing(&[2, 5]);
    assert_eq!(memory.distance_to_next(), Some(2));
    assert_eq!(marks(&memory, 2), [false, true]);
    assert_eq!(memory.distance_to_next(), Some(3));
    memory.count_end();
    assert_eq!(marks(&memory, 2), [false, false]);
    assert!(!memory.is_stopped() && !memory.is_exhausted());
    let fifth = Mark {
        number: 5,
        chosen: true,
    };
    assert_eq!(memory.count_mark(), fifth);
    assert_eq!(memory.distance_to_next(), None);
    memory.count_end();
    assert!(memory.is_stopped());
}

#[test]
fn the_next_request_takes_the_place_of_a_declined_one() {
    let memory = listing(&[1, 4]);
    assert_eq!(marks(&memory, 1), [true]);
    memory.decline();
    assert_eq!(memory.distance_to_next(), Some(1));
    assert_eq!(marks(&memory, 3), [true, false, true]);
    let memory = limited(1);
    assert_eq!(marks(&memory, 1), [true]);
    memory.decline();
    assert!(!memory.is_exhausted());
    assert_eq!(marks(&memory, 2), [true, false]);
}

#[test]
fn no_request_is_chosen_during_a_pause() {
    let memory = limited(2);
    memory.set_paused(true);
    assert_eq!(marks(&memory, 3), [false; 3]);
    assert_eq!(memory.distance_to_next(), None);
    memory.set_paused(false);
    let fourth = Mark {
        number: 4,
        chosen: true,
    };
    assert_eq!(memory.count_mark(), fourth);
    assert!(!memory.is_stopped());
}

#[test]
fn the_requests_of_a_pause_use_up_no_listed_number() {
    let memory = listing(&[2, 3]);
    memory.set_paused(true);
    assert_eq!(marks(&memory, 5), [false; 5]);
    assert!(!memory.is_exhausted() && !memory.is_stopped());
    memory.set_paused(false);
    assert_eq!(memory.distance_to_next(), Some(2));
    assert_eq!(marks(&memory, 2), [false, true]);
    memory.set_paused(true);
    memory.count_end();
    assert_eq!(marks(&memory, 2), [false; 2]);
    memory.set_paused(false);
    let tenth = Mark {
        number: 10,
        chosen: true,
    };
    assert_eq!(memory.count_mark(), tenth);
    memory.count_end();
    assert!(memory.is_stopped());
}

proptest! {
    #[test]
    fn threads_that_race_record_exactly_what_is_listed(
        listed in proptest::collection::btree_set(1..2000u64, 1..100),
        threads in 1..5usize,
    ) {
        let numbers: Vec<u64> = listed.into_iter().collect();
        let memory = listing(&numbers);
        let found = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    for _ in 0..2000 {
                        let mark = memory.count_mark();
                        if mark.chosen {
                            // Recording must not end during a selected request.
                            assert!(!memory.is_stopped());
                            found.lock().unwrap().push(mark.number);
                            memory.count_end();
                        }
                    }
                });
            }
        });
        let mut found = found.into_inner().unwrap();
        found.sort_unstable();
        prop_assert_eq!(found, numbers);
        prop_assert!(memory.is_stopped());
    }
}
