//! Sizes and ways of the caches.

use super::tree::{Cache, L1, Tree, code, data, l2, l3};
use corehop_simulator::{Inclusion, Level};

/// Returns the L3 of a machine of one core with this L3.
#[track_caller]
fn third(third: Cache) -> Option<Level> {
    let tree = Tree::cores(&[0], l2("1024K", 16, 1024), Some(third));
    let host = tree.host(&[0]);
    assert_eq!(host.assumed, [""; 0]);
    host.machine.l3
}

#[test]
fn a_usual_machine_is_read_as_it_is() {
    let third = l3("30720K", 20, 24_576);
    let machine = Tree::cores(&[0, 1], l2("2048K", 16, 2048), Some(third));
    let machine = machine.host(&[1]).machine;
    assert_eq!(machine.cores, 2);
    assert_eq!(machine.l1i, Level::new(32 << 10, 8, 4));
    assert_eq!(machine.l1d, Level::new(48 << 10, 12, 4));
    assert_eq!(machine.l2, Level::new(2 << 20, 16, 12));
    assert_eq!(machine.l3, Some(Level::new(30 << 20, 20, 45)));
}

#[test]
fn an_l3_has_any_number_of_sets() {
    for (size, ways, sets) in [
        ("25344K", 11, 36_864),   // Skylake-SP
        ("28160K", 11, 40_960),   // Cascade Lake
        ("30720K", 20, 24_576),   // Haswell-EP
        ("266240K", 20, 212_992), // Sapphire Rapids
        ("12288K", 12, 16_384),
        ("5118K", 48, 1706), // Istanbul, with a part that is kept for coherence
        ("6144K", 64, 1536), // Bulldozer
        ("393216K", 16, 393_216), // EPYC with stacked L3
    ] {
        let level = third(l3(size, ways, sets)).unwrap();
        let kib: u64 = size.strip_suffix('K').unwrap().parse().unwrap();
        assert_eq!((level.size_bytes, level.ways), (kib << 10, ways));
        assert_eq!(level.sets(), u64::from(sets));
    }
}

#[test]
fn an_l3_of_no_size_is_none() {
    let tree = Tree::cores(&[0, 1], l2("1024K", 16, 1024), Some(l3("0K", 0, 0)));
    assert_eq!(tree.host(&[0]).machine.l3, None);
    assert_eq!(
        tree.assumed(&[0]),
        ["[cpu]/cpu0/cache/index3/size: 0 is reported: a machine without L3 is assumed"]
    );
    assert_eq!(tree.topology().l3s([0, 1]), 0);
    for cpu in 0..2 {
        tree.remove(&format!("cpu{cpu}/cache/index3/size"));
    }
    assert_eq!(
        tree.assumed(&[0]),
        ["[cpu]/cpu0/cache/index3/size: this file is missing: a machine without L3 is assumed"]
    );
}

#[test]
fn ways_that_are_zero_or_missing_follow_from_size_and_sets() {
    let tree = Tree::cores(&[0], l2("1024K", 16, 1024), Some(l3("32768K", 0, 32_768)));
    assert_eq!(tree.host(&[0]).machine.l3.unwrap().ways, 16);
    assert_eq!(
        tree.assumed(&[0]),
        [
            "[cpu]/cpu0/cache/index3/ways_of_associativity: 0 is reported: 16 ways are assumed, as \
             size and sets make"
        ]
    );
    tree.remove("cpu0/cache/index2/ways_of_associativity");
    tree.write("cpu0/cache/index2/number_of_sets", "2048");
    assert_eq!(tree.host(&[0]).machine.l2.ways, 8);
    // Zero sets or too few sets provide no information.
    for sets in ["0", "1"] {
        tree.write("cpu0/cache/index2/number_of_sets", sets);
        assert_eq!(tree.host(&[0]).machine.l2.ways, 16);
        assert_eq!(
            tree.assumed(&[0])[0],
            "[cpu]/cpu0/cache/index2/ways_of_associativity: this file is missing: 16 ways are \
             assumed"
        );
    }
    // If the ways are known, the sets are not needed.
    tree.write("cpu0/cache/index2/ways_of_associativity", "4");
    assert_eq!(tree.host(&[0]).machine.l2.ways, 4);
    assert_eq!(tree.assumed(&[0]).len(), 1);
}

#[test]
fn an_l2_whose_sets_are_no_power_of_two_has_the_ways_that_make_one() {
    let tree = Tree::cores(&[0], l2("3072K", 16, 2048), Some(l3("36864K", 12, 49_152)));
    let second = tree.host(&[0]).machine.l2;
    assert_eq!(
        (second.size_bytes, second.ways, second.sets()),
        (3 << 20, 24, 2048)
    );
    assert_eq!(
        tree.assumed(&[0]),
        [
            "[cpu]/cpu0/cache/index2: 3145728 bytes in 16 ways are not a power of two of sets: 24 \
             ways are assumed, as size and sets make"
        ]
    );
    tree.write("cpu0/cache/index2/number_of_sets", "3072");
    assert_eq!(tree.host(&[0]).machine.l2.ways, 12);
    tree.write("cpu0/cache/index2/size", "127K");
    tree.write("cpu0/cache/index2/ways_of_associativity", "16");
    assert_eq!(
        tree.refusal(&[0]),
        "[cpu]/cpu0/cache/index2/size: cannot detect this machine's caches: 130048 bytes make a \
         power of two of sets in no number of ways: name a machine file instead"
    );
}

/// A Kunpeng 920 as in hwloc: an L3 with a different line size, in ways that do not divide it.
#[test]
fn an_l3_in_ways_that_do_not_divide_it_has_the_nearest_that_do() {
    let third = Cache {
        line: 128,
        ..l3("32768K", 15, 2048)
    };
    let tree = Tree::cores(&[0, 1], l2("512K", 8, 1024), Some(third));
    assert_eq!(tree.host(&[0]).machine.l3.unwrap().ways, 16);
    assert_eq!(
        tree.assumed(&[0]),
        [
            "[cpu]/cpu0/cache/index3: lines of 128 bytes are counted as lines of 64",
            "[cpu]/cpu0/cache/index3: 33554432 bytes in 15 ways are not whole sets: 16 ways are \
             assumed",
        ]
    );
}

#[test]
fn sizes_have_other_units_or_none() {
    let tree = Tree::cores(&[0], l2("2M", 16, 2048), Some(l3("1G", 16, 1 << 20)));
    let machine = tree.host(&[0]).machine;
    assert_eq!(machine.l2.size_bytes, 2 << 20);
    assert_eq!(machine.l3.unwrap().size_bytes, 1 << 30);
    assert_eq!(tree.assumed(&[0]), [""; 0]);
    // Bytes or KiB, as given by ways and sets or, without these, by a plausible size of such a
    // cache.
    for (text, unit) in [("2097152", "bytes"), ("2048", "KiB")] {
        for sets in ["2048", "0"] {
            tree.write("cpu0/cache/index2/size", text);
            tree.write("cpu0/cache/index2/number_of_sets", sets);
            assert_eq!(tree.host(&[0]).machine.l2.size_bytes, 2 << 20);
            let said =
                format!("[cpu]/cpu0/cache/index2/size: '{text}' has no unit: {unit} are assumed");
            assert_eq!(tree.assumed(&[0]), [said]);
        }
    }
    tree.remove("cpu0/cache/index2/size");
    tree.write("cpu0/cache/index2/number_of_sets", "2048");
    assert_eq!(tree.host(&[0]).machine.l2.size_bytes, 2 << 20);
    assert_eq!(
        tree.assumed(&[0]),
        [
            "[cpu]/cpu0/cache/index2/size: this file is missing: 2048 KiB are assumed, as ways, \
             sets and lines make"
        ]
    );
}

/// Lion Cove has a second data cache before the L2.
#[test]
fn of_two_level_1_data_caches_the_smaller_is_the_l1d() {
    let tree = Tree::new();
    let own = [0];
    let caches = [
        data("192K", 12, 256),
        data("48K", 12, 64),
        code("64K", 16, 64),
        l2("2560K", 10, 4096),
        l3("12288K", 12, 16_384),
    ];
    tree.cpu(0, &own, &caches.map(|cache| (cache, &own[..])));
    let machine = tree.host(&[0]).machine;
    assert_eq!((machine.l1d.size_bytes, machine.l1d.ways), (48 << 10, 12));
    assert_eq!((machine.l2.size_bytes, machine.l2.ways), (2560 << 10, 10));
    assert_eq!(
        tree.assumed(&[0]),
        ["[cpu]/cpu0/cache/index1: the smallest of 2 level 1 data caches is assumed to be the L1D"]
    );
}

/// A Pentium 4 has a trace cache for code, which the kernel does not describe: its L3 is `index2`.
#[test]
fn where_no_cache_for_code_is_described_it_is_like_the_data_cache() {
    let tree = Tree::new();
    let own = [0, 1];
    let caches = [
        data("16K", 8, 32),
        l2("1024K", 8, 2048),
        l3("4096K", 16, 4096),
    ];
    for cpu in own {
        tree.cpu(cpu, &own, &caches.map(|cache| (cache, &own[..])));
    }
    let machine = tree.host(&[1]).machine;
    assert_eq!(machine.l1i, machine.l1d);
    assert_eq!(machine.l3.unwrap().size_bytes, 4 << 20);
    assert_eq!(
        tree.assumed(&[1]),
        [
            "[cpu]/cpu1/cache: no level 1 instruction cache is described: one like the data cache \
             is assumed"
        ]
    );
    assert_eq!(tree.topology().l3s([0, 1]), 1);
}

/// An Itanium has an L2 for data and one for code: its L3 is `index4`.
#[test]
fn of_an_l2_for_data_and_one_for_code_that_for_data_is_taken() {
    let tree = Tree::new();
    let own = [0];
    let of = |holds, size, ways, sets| Cache {
        holds,
        ..l2(size, ways, sets)
    };
    let caches = [
        L1[0],
        L1[1],
        of("Instruction", "1024K", 8, 2048),
        of("Data", "256K", 8, 512),
        l3("9216K", 9, 16_384),
    ];
    tree.cpu(0, &own, &caches.map(|cache| (cache, &own[..])));
    let machine = tree.host(&[0]).machine;
    assert_eq!(machine.l2.size_bytes, 256 << 10);
    assert_eq!(machine.l3.unwrap().size_bytes, 9 << 20);
    assert_eq!(
        tree.assumed(&[0]),
        ["[cpu]/cpu0/cache/index3: it holds data alone: one for code too is assumed"]
    );
}

/// A Power9 under KVM as in hwloc: without ways, and without line sizes beyond the first level.
#[test]
fn ways_and_lines_that_nothing_makes_known_are_assumed() {
    let tree = Tree::cores(&[0], l2("512K", 0, 8), Some(l3("10240K", 0, 8)));
    for index in 2..4 {
        for file in ["ways_of_associativity", "coherency_line_size"] {
            tree.remove(&format!("cpu0/cache/index{index}/{file}"));
        }
    }
    let machine = tree.host(&[0]).machine;
    assert_eq!((machine.l2.size_bytes, machine.l2.ways), (512 << 10, 16));
    assert_eq!(machine.l3.unwrap().ways, 16);
    assert_eq!(
        tree.assumed(&[0])[..2],
        [
            "[cpu]/cpu0/cache/index2/coherency_line_size: this file is missing: lines of 64 bytes \
             are assumed",
            "[cpu]/cpu0/cache/index2/ways_of_associativity: this file is missing: 16 ways are \
             assumed",
        ]
    );
}

#[test]
fn more_ways_than_can_be_simulated_become_fewer() {
    let tree = Tree::cores(&[0], l2("1024K", 16, 1024), Some(l3("16384K", 256, 1024)));
    assert_eq!(tree.host(&[0]).machine.l3.unwrap().ways, 64);
    let said = &tree.assumed(&[0])[0];
    assert!(
        said.contains("more than 124 ways cannot be simulated: 64 ways"),
        "{said}"
    );
}

#[test]
fn an_l3_smaller_than_an_l2_does_not_hold_its_lines() {
    let tree = Tree::cores(&[0], l2("2048K", 16, 2048), Some(l3("1792K", 7, 4096)));
    let machine = tree.host(&[0]).machine;
    assert_eq!(machine.l3.unwrap().inclusion, Inclusion::NonInclusive);
    assert_eq!(machine.l2.inclusion, Inclusion::Inclusive);
    assert_eq!(
        tree.assumed(&[0]),
        ["the L3 is smaller than a level above it: non-inclusive is assumed"]
    );
}
