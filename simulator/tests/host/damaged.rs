//! Descriptions with missing or invalid parts.

use super::tree::{Tree, l2, l3};
use corehop_simulator::host;
use corehop_support::topology::Topology;
use proptest::prelude::*;
use std::path::Path;

fn machine() -> Tree {
    Tree::cores(
        &[0, 1],
        l2("1024K", 16, 1024),
        Some(l3("16384K", 16, 16_384)),
    )
}

#[test]
fn without_the_folder_it_is_refused() {
    let root = Path::new("/nowhere/cpu");
    let said = host::read(&Topology::read(root), &[0])
        .unwrap_err()
        .to_string();
    assert_eq!(
        said,
        "/nowhere/cpu: cannot detect this machine's caches: this folder is missing: name a machine \
         file instead"
    );
    let topology = Topology::read(root);
    assert_eq!((topology.cores([0, 2]), topology.l3s([0, 2])), (2, 0));
    assert_eq!(topology.share_a_core([0, 1]), None);
    assert_eq!(topology.share_an_l2([0, 1]), None);
}

#[test]
fn without_cpus_or_their_caches_it_is_refused() {
    let tree = Tree::new();
    assert_eq!(
        tree.refusal(&[0]),
        "[cpu]: cannot detect this machine's caches: no CPU is described here: name a machine file \
         instead"
    );
    let tree = machine();
    for cpu in 0..2 {
        tree.remove(&format!("cpu{cpu}/cache"));
    }
    assert_eq!(
        tree.refusal(&[1]),
        "[cpu]/cpu1/cache: cannot detect this machine's caches: no caches are described: name a \
         machine file instead"
    );
    assert_eq!(tree.topology().cores([0, 1]), 2);
}

#[test]
fn a_level_that_nobody_describes_is_refused_by_name() {
    for (index, what) in [(0, "level 1 data cache"), (2, "level 2 cache")] {
        let tree = machine();
        for cpu in 0..2 {
            tree.remove(&format!("cpu{cpu}/cache/index{index}"));
        }
        let said = tree.refusal(&[0]);
        let expected = format!("[cpu]/cpu0/cache: cannot detect this machine's caches: no {what}");
        assert!(said.starts_with(&expected), "{said}");
    }
}

#[test]
fn a_size_that_is_missing_or_no_size_is_refused_with_its_file() {
    let file = "cpu0/cache/index2/size";
    for (text, why) in [
        (Some("many"), "'many' is not a size such as 48K"),
        (Some(""), "'' is not a size such as 48K"),
        (Some("0K"), "0 is reported"),
        (None, "this file is missing"),
    ] {
        let tree = Tree::cores(&[0], l2("1024K", 16, 0), None);
        match text {
            Some(text) => tree.write(file, text),
            None => tree.remove(file),
        }
        assert_eq!(
            tree.refusal(&[0]),
            format!(
                "[cpu]/{file}: cannot detect this machine's caches: {why}: name a machine file \
                 instead"
            )
        );
    }
}

#[test]
fn a_cache_beyond_all_sizes_is_refused() {
    let tree = Tree::cores(&[0], l2("1024K", 16, 1024), Some(l3("17179869184K", 16, 1)));
    let said = tree.refusal(&[0]);
    assert!(
        said.contains("more than 8589934592 cannot be simulated"),
        "{said}"
    );
}

/// As in hwloc's test of caches that some CPUs lack.
#[test]
fn a_cpu_that_is_not_described_is_assumed_to_be_like_the_next() {
    let tree = machine();
    tree.remove("cpu0/cache/index2");
    let host = tree.host(&[0, 1]);
    assert_eq!((host.cpu, host.machine.cores), (1, 1));
    assert_eq!(
        tree.assumed(&[0, 1]),
        [
            "the caches of CPU 0 are not described ([cpu]/cpu0/cache: no level 2 cache is \
             described): those of CPU 1 are assumed"
        ]
    );
    // This also holds for a CPU without any description.
    assert_eq!(
        tree.assumed(&[7]),
        ["the caches of CPU 7 are not described (not online): those of CPU 1 are assumed"]
    );
}

#[test]
fn lists_that_are_none_are_as_if_missing() {
    let tree = machine();
    let whole = tree.host(&[0, 1]);
    for file in [
        "topology/thread_siblings_list",
        "cache/index3/shared_cpu_list",
    ] {
        tree.write(&format!("cpu0/{file}"), "0-4294967295");
        tree.write(&format!("cpu1/{file}"), "one");
    }
    tree.write("online", "none");
    assert_eq!(tree.host(&[0, 1]), whole);
}

const TEXTS: &[&str] = &[
    "",
    "0",
    "1",
    "2",
    "3",
    "64",
    "128",
    "-1",
    "4K",
    "48K",
    "1M",
    "7",
    "12",
    "125",
    "0-1",
    "1,3",
    "99999999999999999999",
    "18446744073709551615",
    "18014398509481983K",
    "Data",
    "Instruction",
    "Unified",
    "x",
    "0-4294967295",
    "00000001,00000000",
    "ffffffff",
];

const FILES: &[&str] = &[
    "cache/index0/level",
    "cache/index0/size",
    "cache/index0/shared_cpu_list",
    "cache/index0/ways_of_associativity",
    "cache/index0/type",
    "cache/index1/type",
    "cache/index1/number_of_sets",
    "cache/index2/size",
    "cache/index2/ways_of_associativity",
    "cache/index2/number_of_sets",
    "cache/index2/coherency_line_size",
    "cache/index2/shared_cpu_list",
    "cache/index2/level",
    "cache/index3/size",
    "cache/index3/ways_of_associativity",
    "cache/index3/number_of_sets",
    "cache/index3/coherency_line_size",
    "cache/index3/shared_cpu_list",
    "cache/index3/level",
    "topology/thread_siblings_list",
    "online",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_the_files_say_there_is_a_sound_machine_or_a_refusal(
        changes in prop::collection::vec(
            (0..3usize, prop::sample::select(FILES), prop::sample::select(TEXTS)),
            0..12,
        ),
        allowed in prop::collection::vec(0..5usize, 0..3),
    ) {
        let tree = machine();
        for (cpu, file, text) in changes {
            tree.write(&format!("cpu{cpu}/{file}"), text);
        }
        let topology = tree.topology();
        let _ = (topology.cores(0..4), topology.l3s(0..4), topology.share_an_l2([0, 1]));
        match host::read(&topology, &allowed) {
            Ok(host) => prop_assert_eq!(host.machine.check(), Ok(())),
            Err(refused) => prop_assert!(refused.to_string().contains("name a machine file")),
        }
    }
}
