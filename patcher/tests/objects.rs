//! The table of objects alone: compared with a naive one, and with threads that race for its slots.

use crate::workshop::objects::Objects;
use crate::workshop::{build_alone, run, start_reading};
use proptest::prelude::*;
use std::io::{Seek, Write};
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

static ALONE: LazyLock<(tempfile::TempDir, PathBuf)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let program = build_alone(folder.path(), "objects_alone");
    (folder, program)
});

/// A hook, an address, and the number of consecutive calls with it.
type Named = (usize, u64, u64);

/// Returns the output of the runtime's table for these calls.
fn followed(cores: usize, after: [u64; 2], calls: &[Named]) -> String {
    let mut input = tempfile::tempfile().unwrap();
    for (hook, address, times) in calls {
        writeln!(input, "{hook} {address:x} {times}").unwrap();
    }
    input.rewind().unwrap();
    let mut command = Command::new(&ALONE.1);
    command.args(["follow", &cores.to_string()]);
    command.args(after.map(|calls| calls.to_string()));
    let ran = start_reading(&mut command, input.into()).finish();
    assert!(ran.status.success(), "{}", ran.errors);
    ran.output
}

/// Returns the same for the naive table.
fn expected(cores: usize, after: [u64; 2], calls: &[Named]) -> String {
    let mut objects = Objects::new(cores).after(0, after[0]).after(1, after[1]);
    let mut text = String::new();
    for &(hook, address, times) in calls {
        let last = (0..times).map(|_| objects.call(hook, address)).last();
        let core = last.unwrap().map_or(-1, |core| core as i32);
        text += &format!("{core}\n");
    }
    for hook in 0..2 {
        let seen = objects.seen.get(&hook).copied().unwrap_or(0);
        let early = objects.early.get(&hook).copied().unwrap_or(0);
        text += &format!("{seen} {} {early}", objects.known(hook));
        let none = vec![0; cores];
        for calls in objects.by_core.get(&hook).unwrap_or(&none) {
            text += &format!(" {calls}");
        }
        text.push('\n');
    }
    text
}

fn named() -> impl Strategy<Value = Named> {
    let few = (0..5u64).prop_map(|object| 0x5555_0000_0000 + object * 64);
    let many = (0..9000u64).prop_map(|object| 0x7f00_0000_0000 + object * 16);
    // Within one bucket: objects with hashes that differ in bits that do not determine the bucket.
    let inverse = 0xf1de_83e1_9937_733du64;
    let crowd = (1..12u64).prop_map(move |high| (high << 20).wrapping_mul(inverse));
    let crowd = crowd.prop_map(|object| object % (1 << 52) * 16);
    let address = prop_oneof![3 => few, 3 => many, 2 => crowd, 1 => any::<u64>(), 1 => 0..99u64];
    let times = prop_oneof![8 => 1..3u64, 1 => 4000..4200u64, 1 => 60_000..70_000u64];
    (0..2usize, address, times)
}

fn after() -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(0), 3 => 1..5u64, 1 => Just(3000)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn the_table_does_what_its_rules_say(
        cores in 1..6usize,
        after in [after(), after()],
        calls in proptest::collection::vec(named(), 1..120),
    ) {
        prop_assert_eq!(followed(cores, after, &calls), expected(cores, after, &calls));
    }
}

#[test]
fn more_objects_than_places_follow_the_rules_too() {
    let address = |object: u64| 0x5555_5555_0000 + object * 4096;
    let twice = (0..2).flat_map(|_| 0..3000);
    let calls: Vec<Named> = twice.map(|object| (0, address(object), 1)).collect();
    let said = followed(4, [0; 2], &calls);
    assert_eq!(said, expected(4, [0; 2], &calls));
    let objects = said.lines().nth(6000).unwrap();
    let numbers: Vec<u64> = objects.split(' ').map(|n| n.parse().unwrap()).collect();
    assert!(numbers[0] > 3000, "objects came back: {objects}");
    assert!(numbers[1] <= 1024, "{objects}");
}

#[test]
fn what_no_call_has_named_for_long_makes_room_for_others() {
    let [a, b, c, d] = [1u64, 2, 3, 4].map(|object| 0x10_0000 * object);
    // Both have cores, 0 and 1. Then b has no calls for sixteen epochs, and its core has room.
    let calls = [
        (0, a, 1),
        (0, b, 1),
        (0, a, 16 * 4096),
        (0, c, 1),
        (0, d, 1),
    ];
    let said = followed(2, [0; 2], &calls);
    assert_eq!(
        said.lines().take(5).collect::<Vec<_>>(),
        ["0", "1", "0", "1", "0"]
    );
    let calls = [
        (0, a, 1),
        (0, b, 1),
        (0, a, 15 * 4096),
        (0, c, 1),
        (0, d, 1),
    ];
    let said = followed(2, [0; 2], &calls);
    assert_eq!(
        said.lines().take(5).collect::<Vec<_>>(),
        ["0", "1", "0", "0", "1"]
    );
}

#[test]
fn objects_named_once_make_room_for_each_other_and_for_none_that_has_a_core() {
    let hot = |object: u64| 0x10_0000 * (1 + object % 8);
    let once = |object: u64| 0x5555_5555_0000 + object * 4096;
    let calls = (0..6000).flat_map(|number| [(0, hot(number), 1), (0, once(number), 1)]);
    let calls: Vec<Named> = calls.collect();
    let lines = |after: u64| {
        let said = followed(2, [after, 0], &calls);
        assert_eq!(said, expected(2, [after, 0], &calls));
        let numbers = said.lines().nth(12_000).unwrap().split(' ');
        numbers.map(|n| n.parse().unwrap()).collect::<Vec<u64>>()
    };
    // Frequently used objects that are forgotten come again.
    assert!(lines(0)[0] > 6008, "{:?}", lines(0));
    let (came, early) = (lines(1)[0], lines(1)[2]);
    assert_eq!((came, early), (6008, 6008));
}

/// Two objects come among many others with one call each, so that chance places them on one core or
/// on two. Once only these two have calls, they are on two cores.
#[test]
fn two_objects_that_alternate_are_on_two_cores_whatever_came_before() {
    let mut together = 0;
    for others in 0..40 {
        let [a, b] = [0x7000_0000_0000, 0x7100_0000_0000u64];
        let other = |number: u64| (0, 0x5555_0000_0000 + number * 4096, 1);
        let mut calls: Vec<Named> = vec![(0, a, 1)];
        calls.extend((0..others).map(other));
        calls.push((0, b, 1));
        calls.extend((others..900).map(other));
        let first = calls.len();
        calls.extend([(0, a, 1), (0, b, 1)]);
        calls.extend((0..4096).flat_map(|_| [(0, a, 1), (0, b, 1)]));
        let said = followed(2, [0; 2], &calls);
        assert_eq!(said, expected(2, [0; 2], &calls), "{others}");
        let lines: Vec<&str> = said.lines().collect();
        together += usize::from(lines[first] == lines[first + 1]);
        let last = &lines[calls.len() - 2..calls.len()];
        assert_ne!(last[0], last[1], "{others}");
    }
    assert!(
        (10..=30).contains(&together),
        "{together} of 40 began on one core"
    );
}

#[test]
fn threads_that_race_leave_it_sound() {
    for (cores, after, threads, objects) in [
        (2, [0, 0], 4, 4),
        (2, [900, 900], 4, 4),
        (2, [3, 2000], 4, 3),
        (3, [0, 2], 8, 40),
        (2, [0, 0], 4, 900),
        (5, [1, 1], 16, 60_000),
    ] {
        let numbers = [cores, after[0], after[1], threads, objects, 100_000];
        let words = ["race".into()].into_iter();
        let words = words.chain(numbers.map(|n: u32| n.to_string()));
        let ran = run(Command::new(&ALONE.1).args(words));
        assert!(ran.status.success(), "{threads} {objects}: {}", ran.errors);
    }
}
