//! Checks that matches are found where a reader expects them, with the correct contents.

use super::*;
use proptest::prelude::*;

/// Creates a match finder with executions of these templates; `data_counts` has the number of data
/// accesses of each template.
fn finder_of(templates: &[u32], addresses: &[u64], data_counts: &[u16]) -> MatchFinder {
    let (mut finder, mut table) = (MatchFinder::default(), HashTable::default());
    let (mut rest, mut words) = (addresses, Vec::new());
    for &template in templates {
        let count = usize::from(data_counts[template as usize]);
        let its = rest.split_off(..count).unwrap_or_default();
        words.clear();
        words.push(u64::from(template));
        words.extend(its);
        let size = Size {
            data: count as u16,
            fetches: 1,
        };
        let arrival = Arrival {
            words: &words,
            count: words.len(),
            template,
            addresses: its.iter().copied(),
            size,
        };
        finder.push(&mut table, arrival);
    }
    finder
}

/// Finds matches among executions with one data access each, whose address follows from the
/// template.
fn found_in(templates: &[u32]) -> Parsed {
    let addresses: Vec<u64> = templates
        .iter()
        .map(|&template| u64::from(template) * 8)
        .collect();
    finder_of(templates, &addresses, &[1; 100]).take()
}

fn matched(place: u32, length: u32, distance: u32) -> Match {
    Match {
        place,
        length,
        distance,
    }
}

#[test]
fn what_comes_again_is_a_match_from_its_first_execution_on() {
    let sequence: Vec<u32> = (0..60).collect();
    let templates = [&sequence[..], &[90, 91], &sequence[..], &[92]].concat();
    let parsed = found_in(&templates);
    assert_eq!(parsed.matches, [matched(62, 60, 62)]);
    assert_eq!(parsed.templates.len(), 60 + 2 + 1);
    assert_eq!(parsed.expanded(&[1; 100]).templates, templates);
}

#[test]
fn a_sequence_that_follows_itself_is_one_match() {
    let templates = [1, 2, 3, 4, 5, 6, 7].repeat(20);
    let parsed = found_in(&templates);
    assert_eq!(parsed.matches.len(), 1);
    assert_eq!(parsed.matches[0].distance, 7);
    assert_eq!(parsed.templates.len(), 7);
    assert_eq!(parsed.expanded(&[1; 100]).templates, templates);
}

#[test]
fn after_a_difference_of_one_execution_a_match_goes_on() {
    let sequence: Vec<u32> = (0..80).collect();
    let mut copied = sequence.clone();
    copied[40] = 99;
    let templates = [sequence, copied].concat();
    let parsed = found_in(&templates);
    assert_eq!(parsed.matches, [matched(80, 40, 80), matched(121, 39, 80)]);
    assert_eq!(parsed.expanded(&[1; 100]).templates, templates);
}

#[test]
fn another_address_is_another_execution() {
    let templates: Vec<u32> = (0..60).chain(0..60).collect();
    let addresses: Vec<u64> = (0..120).collect();
    let parsed = finder_of(&templates, &addresses, &[1; 60]).take();
    assert_eq!(parsed.matches, []);
    assert_eq!((parsed.templates, parsed.addresses), (templates, addresses));
}

/// The difference is too short for its own window: the windows that begin in it extend into the
/// following match.
#[test]
fn a_short_difference_between_two_matches_is_found_when_all_comes_again() {
    let first: Vec<u32> = (0..40).collect();
    let second: Vec<u32> = (40..80).collect();
    let between: Vec<u32> = (91..95).collect();
    let changed = [&first[..], &between, &second].concat();
    let templates = [&first[..], &[80], &second, &[81], &changed, &[82], &changed].concat();
    let parsed = found_in(&templates);
    assert_eq!(parsed.templates.len(), 40 + 1 + 40 + 1 + between.len() + 1);
    assert_eq!(parsed.expanded(&[1; 100]).templates, templates);
}

/// A table slot of an ended chunk may look like one of this chunk, with an arbitrary place.
#[test]
fn a_note_of_another_place_begins_no_match() {
    let templates: Vec<u32> = (0..40).collect();
    let addresses = [0; 40];
    for earlier in [0, 3, 30, 35, 39, 40, 1 << 20] {
        let mut finder = finder_of(&templates, &addresses, &[1; 40]);
        finder.look_at_window(earlier, 40 - WINDOW);
        assert_eq!(finder.take().templates, templates);
    }
}

/// Each count is exact up to its maximum, and none overflows into another.
#[test]
fn there_is_room_until_a_count_is_full() {
    let large = |data, fetches, words| (Size { data, fetches }, words);
    for (size, words) in [
        large(65_000, 1, 1),
        large(1, 65_535, 2),
        large(3, 2, 65_001),
        large(65_000, 535, 65_001),
    ] {
        let all: Vec<u64> = (0..words as u64).collect();
        let (mut finder, mut table) = (MatchFinder::default(), HashTable::default());
        let mut count = 0;
        while finder.has_room(words, size) {
            let arrival = Arrival {
                words: &all,
                count: words,
                template: 0,
                addresses: std::iter::repeat_n(0, usize::from(size.data)),
                size,
            };
            finder.push(&mut table, arrival);
            count += 1;
            let data = count * usize::from(size.data);
            assert_eq!(finder.data_accesses(), data);
            assert_eq!(
                finder.references(),
                data + count * usize::from(size.fetches)
            );
            assert_eq!(finder.words.len(), count * words);
        }
        assert!(count > 10, "{count}");
        assert_eq!(finder.follow(&all, |word| word == 0), Followed::default());
        assert!(finder.same(0, count - 1, 1));
    }
    let none = Size {
        data: 0,
        fetches: 0,
    };
    assert!(!MatchFinder::default().has_room(1 << 22, none));
}

const BEGINS: u64 = 1 << 63;

/// Returns the words of executions; a template's number is its number of words after the first.
fn words_of(executions: &[(u32, u64)]) -> Vec<Vec<u64>> {
    let words = |&(template, address): &(u32, u64)| {
        let addresses = (0..u64::from(template)).map(|place| address * 64 + place);
        std::iter::once(BEGINS).chain(addresses).collect()
    };
    executions.iter().map(words).collect()
}

/// Each word after the first represents two accesses.
fn addresses_of(words: &[u64]) -> impl Iterator<Item = u64> {
    words[1..].iter().flat_map(|&word| [word, word + 8])
}

/// Generates the sequences in order, and a change of template for one of their executions.
fn order() -> impl Strategy<Value = Vec<(usize, Option<(usize, u32)>)>> {
    let change = proptest::option::of((0..40usize, 0..4u32));
    proptest::collection::vec((0..4usize, change), 1..12)
}

proptest! {
    /// Repeats sequences of few different executions, unchanged and changed.
    #[test]
    fn what_is_taken_in_many_at_a_time_is_what_came(
        sequences in proptest::collection::vec(
            proptest::collection::vec((0..4u32, 0..6u64), 1..40), 1..4),
        order in order(),
        cuts in proptest::collection::vec(1..50usize, 1..6),
    ) {
        let mut executions = Vec::new();
        for (sequence, change) in order {
            let mut sequence = sequences[sequence % sequences.len()].clone();
            if let Some((place, template)) = change {
                let place = place % sequence.len();
                sequence[place].0 = template;
            }
            executions.extend(sequence);
        }
        let words = words_of(&executions);
        let (mut finder, mut table) = (MatchFinder::default(), HashTable::default());
        let (mut place, mut cuts) = (0, cuts.iter().cycle());
        while place < executions.len() {
            let end = executions.len().min(place + cuts.next().unwrap_or(&1));
            let rest = words[place..end].concat();
            let followed = finder.follow(&rest, |word| word == BEGINS);
            let taken = words[place..place + followed.executions].concat();
            prop_assert_eq!(&rest[..followed.words], taken);
            place += followed.executions;
            if place < end {
                finder.push(&mut table, Arrival {
                    words: &rest[followed.words..],
                    count: words[place].len(),
                    template: executions[place].0,
                    addresses: addresses_of(&words[place]),
                    size: Size {
                        data: 2 * executions[place].0 as u16,
                        fetches: 1,
                    },
                });
                place += 1;
            }
        }
        let references: u32 = executions.iter().map(|(template, _)| 1 + 2 * template).sum();
        prop_assert_eq!(finder.references(), references as usize);
        prop_assert_eq!(finder.executions(), executions.len());
        prop_assert_eq!(finder.data_accesses() + executions.len(), references as usize);
        let parsed = finder.take();
        let all = parsed.expanded(&[0, 2, 4, 6]);
        let expected: Vec<u32> = executions.iter().map(|&(template, _)| template).collect();
        prop_assert_eq!(all.templates, expected);
        let expected: Vec<u64> = words.iter().flat_map(|words| addresses_of(words)).collect();
        prop_assert_eq!(all.addresses, expected);
    }
}
