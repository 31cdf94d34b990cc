//! A second, independent count of everything that `corehop replay` counts, from exported data.
//!
//! All counts of `second_oracle` must be equal, key by key, to the output of `corehop replay
//! --json`. A mistake in the reader, the merging of threads, the detection of calls and arguments,
//! the sharding, or the documents therefore shows as a difference.

mod mixed;
mod recording;
mod subject;

use corehop_second_oracle::machine::Inclusion::{Exclusive, Inclusive, NonInclusive};
use corehop_second_oracle::machine::{Machine, Policy};
use corehop_second_oracle::random::Random;
use serde_json::Value;
use std::path::Path;
use subject::Subject;

/// Returns a machine for each property of caches in a machine file.
fn machines() -> Vec<Machine> {
    let small = Machine::small;
    vec![
        small("lru"),
        small("plru").with_policy(Policy::Plru),
        small("fifo").with_policy(Policy::Fifo),
        small("random").with_policy(Policy::Random),
        small("non-inclusive").with_inclusion(NonInclusive, NonInclusive),
        small("exclusive").with_inclusion(Inclusive, Exclusive),
        small("exclusive-below-non-inclusive")
            .with_inclusion(NonInclusive, Exclusive)
            .with_policy(Policy::Plru),
        small("shared-l2").with_shared(1, 1, 2),
        small("shared-l1")
            .with_shared(2, 2, 4)
            .with_inclusion(NonInclusive, Inclusive),
        Machine {
            l3: None,
            transfer_latency: None,
            ..small("two-levels")
        },
    ]
}

/// Returns the maximum number of random machines and plans to compare for a trace.
fn most_machines() -> u64 {
    let said = std::env::var("COREHOP_MACHINES").ok();
    said.map_or(16, |text| {
        text.parse().expect("COREHOP_MACHINES is a number")
    })
}

/// Compares all counts on these machines, each with its own plan, and on this number of random
/// ones.
fn compare(subject: &Subject, random_machines: u64) -> Seen {
    subject.compare_entries();
    let mut seen = Seen::default();
    for (seed, machine) in (1..).zip(machines()) {
        let plan = subject.plan(2 + seed as usize % 3, &mut Random(seed));
        seen.add(&subject.compare(&machine, &plan, seed % 2 == 0));
    }
    for seed in 1..=random_machines {
        let mut random = Random(seed);
        let machine = Machine::random(&format!("seed-{seed}"), &mut random);
        let plan = subject.plan(2 + random.below(3), &mut random);
        subject.compare(&machine, &plan, seed % 2 == 0);
    }
    seen
}

/// Sums of counted events, to ensure that equal counts are not all zero.
#[derive(Default)]
struct Seen([u64; 11]);

impl Seen {
    const KEYS: [&str; 11] = [
        "/hops",
        "/counters/transfers",
        "/counters/hit_modified",
        "/counters/invalidated_lines",
        "/counters/l1i/fetch/inclusion",
        "/counters/l1d/load/coherence",
        "/counters/l1d/store/inclusion",
        "/counters/l2/load/coherence",
        "/counters/l2/fetch/inclusion",
        "/counters/l3/load/capacity",
        "/counters/l3/fetch/coherence",
    ];

    fn add(&mut self, counted: &Value) {
        for (sum, key) in self.0.iter_mut().zip(Seen::KEYS) {
            *sum += counted.pointer(key).unwrap().as_u64().unwrap();
        }
    }

    fn expect_all(&self) {
        for (sum, key) in self.0.iter().zip(Seen::KEYS) {
            assert!(*sum > 0, "no machine counts any of {key}");
        }
    }
}

#[test]
fn every_count_is_the_oracles_on_the_bundled_sample() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let trace = root.join("traces/samples/mariadb-tpcc.trace");
    compare(&Subject::new(&trace, Some("0-3"), false), 6).expect_all();
}

#[test]
fn threads_hop_as_often_as_the_oracles_on_more_of_the_sample() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let trace = root.join("traces/samples/mariadb-tpcc.trace");
    let subject = Subject::new(&trace, Some("100-139"), false);
    subject.compare_entries();
    for seed in 1..=most_machines() / 2 {
        subject.compare_hops(&subject.plan(4, &mut Random(seed)));
    }
}

#[test]
fn every_count_is_the_oracles_on_a_program_of_four_threads() {
    let folder = tempfile::tempdir().unwrap();
    let trace = recording::program(folder.path(), "threads.c");
    let subject = Subject::new(&trace, None, true);
    subject.compare_code();
    compare(&subject, most_machines());
    // Their first calls were open when their threads' recording began, or continue an open one.
    for symbol in ["serve", "count", "count_behind"] {
        subject.compare_hops(&subject.delegating(symbol));
    }
    for seed in 1..=most_machines() {
        subject.compare_hops(&subject.plan(4, &mut Random(seed)));
    }
    for seed in 1..=most_machines() / 2 {
        let mut random = Random(seed);
        let machine = Machine::random(&format!("seed-{seed}"), &mut random);
        let plan = subject.plan_at_calls("serve", 2 + random.below(3), &mut random);
        subject.compare(&machine, &plan, seed % 2 == 0);
    }
    for seed in 1..=most_machines() {
        subject.compare_hops(&subject.plan_at_calls("serve", 4, &mut Random(seed)));
    }
}

#[test]
fn every_count_is_the_oracles_where_functions_go_by_an_argument() {
    /// Functions with the arguments that identify their object.
    const NAMED: [(&str, &[usize]); 4] = [
        ("visit", &[1]),
        ("change", &[2]),
        ("maybe", &[3]),
        ("both", &[1]),
    ];
    let folder = tempfile::tempdir().unwrap();
    let trace = recording::program(folder.path(), "objects.c");
    let said = std::fs::read_to_string(folder.path().join(recording::SAID)).unwrap();
    let subject = Subject::new(&trace, None, true).whose_program_told(&said);
    subject.compare_entries();
    let mut hops = 0;
    for seed in 1..=most_machines() / 2 {
        let mut random = Random(seed);
        let machine = Machine::random(&format!("seed-{seed}"), &mut random);
        let plan = subject.plan_by_objects(&NAMED, 2 + random.below(3), &mut random);
        let counted = subject.compare(&machine, &plan, seed % 2 == 0);
        hops += counted["hops"].as_u64().unwrap();
    }
    assert!(hops > 1000, "{hops}");
    for seed in 1..=most_machines() / 2 {
        let mut random = Random(1000 + seed);
        subject.compare_hops(&subject.plan_by_objects(&NAMED, 4, &mut random));
    }
}

#[test]
fn every_count_of_user_code_and_of_the_kernel_is_the_oracles() {
    let folder = tempfile::tempdir().unwrap();
    let trace = mixed::write(folder.path(), &mut Random(7)).unwrap();
    compare(&Subject::new(&trace, None, false), most_machines());
}

mod needs_guest {
    use super::{Subject, compare, recording};

    #[test]
    fn every_count_is_the_oracles_on_a_machine_by_virtual_and_by_physical_addresses() {
        let folder = tempfile::tempdir().unwrap();
        let trace = recording::machine(folder.path(), "processes.c");
        compare(&Subject::new(&trace, None, false), 0);
        compare(
            &Subject::new(&trace, None, false).by_physical_addresses(),
            10,
        )
        .expect_all();
    }
}

#[test]
fn every_count_is_the_oracles_on_redis() {
    let folder = tempfile::tempdir().unwrap();
    let commands = [
        "SET text something",
        "APPEND text more",
        "INCR number",
        "LPUSH list a b c d",
        "SADD set x y z",
        "ZADD scores 1 one 2 two 3 three",
        "HSET hash field value",
        "EXPIRE text 100",
        "EVAL \"return redis.call('incr', 'number')\" 0",
        // Leaves the script by longjmp.
        "EVAL \"return redis.call('lpush', 'number', 1)\" 0",
        "DEL list",
    ];
    let trace = recording::redis(folder.path(), &commands.repeat(3));
    let subject = Subject::new(&trace, None, true);
    subject.compare_code();
    compare(&subject, 6);
    // The last two are stubs of functions in libc.
    for symbol in ["processCommand", "read@plt", "write@plt"] {
        subject.compare_hops(&subject.delegating(symbol));
    }
    for seed in 1..=most_machines() {
        subject.compare_hops(&subject.plan(4, &mut Random(seed)));
    }
}
