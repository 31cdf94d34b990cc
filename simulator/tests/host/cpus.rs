//! Selection of the CPU whose caches are used, and the number of cores.

use super::tree::{Cache, L1, Tree, code, data, l2, l3};

/// Two P cores of two threads, and a cluster of four E cores that share an L2.
fn hybrid() -> Tree {
    let tree = Tree::new();
    let all: Vec<usize> = (0..8).collect();
    let third = l3("12288K", 12, 16_384);
    for cpu in 0..4 {
        let own = [cpu & !1, cpu | 1];
        let first = L1.map(|cache| (cache, &own[..]));
        let [data, code] = first;
        let second = (l2("1280K", 10, 2048), &own[..]);
        tree.cpu(cpu, &own, &[data, code, second, (third, &all)]);
    }
    for cpu in 4..8 {
        let (own, cluster) = ([cpu], [4, 5, 6, 7]);
        let first = [data("32K", 8, 64), code("64K", 8, 128)];
        let [data, code] = first.map(|cache| (cache, &own[..]));
        let second = (l2("2048K", 16, 2048), &cluster[..]);
        tree.cpu(cpu, &own, &[data, code, second, (third, &all)]);
    }
    tree.write("online", "0-7");
    tree
}

#[test]
fn a_hybrid_has_the_caches_of_the_cpus_that_are_allowed() {
    let tree = hybrid();
    let p = tree.host(&[0, 1, 2, 3]);
    assert_eq!((p.machine.cores, p.machine.l2.size_bytes), (2, 1280 << 10));
    assert_eq!(p.machine.l2.shared_by, 1);
    assert_eq!((p.cpus, p.assumed), (vec![0, 1, 2, 3], vec![]));
    let e = tree.host(&[5, 6]);
    assert_eq!((e.machine.cores, e.machine.l2.size_bytes), (4, 2 << 20));
    assert_eq!(
        (e.machine.l1d.size_bytes, e.machine.l1i.size_bytes),
        (32 << 10, 64 << 10)
    );
    assert_eq!((e.machine.l1d.shared_by, e.machine.l2.shared_by), (1, 4));
    assert_eq!(e.assumed, [""; 0]);
}

#[test]
fn on_a_hybrid_whose_kinds_are_all_allowed_it_is_stated_which_are_assumed() {
    let tree = hybrid();
    let all: Vec<usize> = (0..8).collect();
    let host = tree.host(&all);
    assert_eq!((host.cpu, host.machine.cores), (0, 2));
    assert_eq!(
        host.assumed,
        [
            "the allowed CPUs have different caches: 2 cores like CPU 0-3 (L1I 32 KiB, L1D 48 KiB, \
             L2 1280 KiB, L3 12288 KiB) are assumed, without CPU 4-7 (L1I 64 KiB, L1D 32 KiB, L2 \
             2048 KiB of 4 cores, L3 12288 KiB); `taskset` selects others"
        ]
    );
    // Two of one cluster share its L2; the others share nothing before the L3.
    let topology = tree.topology();
    assert_eq!(topology.cores(0..8), 6);
    assert_eq!(topology.share_an_l2([4, 7]), Some(true));
    assert_eq!(topology.share_an_l2([0, 2]), Some(false));
    assert_eq!(topology.share_a_core([0, 1]), Some(true));
    assert_eq!(topology.share_a_core([4, 5]), Some(false));
}

#[test]
fn one_p_and_one_e_core_are_a_machine_each() {
    let tree = Tree::cores(
        &[0, 1],
        l2("2048K", 16, 2048),
        Some(l3("24576K", 12, 32_768)),
    );
    tree.write("cpu1/cache/index2/size", "512K");
    tree.write("cpu1/cache/index2/ways_of_associativity", "8");
    let second = tree.host(&[1]).machine;
    assert_eq!(
        (second.cores, second.l2.size_bytes, second.l2.ways),
        (1, 512 << 10, 8)
    );
    assert_eq!(tree.host(&[0]).machine.l2.size_bytes, 2 << 20);
    assert_eq!(tree.host(&[0, 1]).assumed.len(), 1);
}

/// The DGX GB10 of hwloc's tests: two clusters, each of five small and five large cores; the caches
/// have no `id`.
#[test]
fn big_little_clusters_are_told_apart_by_their_caches_and_their_l3() {
    let tree = Tree::new();
    let first = [data("64K", 4, 256), code("64K", 4, 256)];
    for cpu in 0..20 {
        let own = [cpu];
        let cluster: Vec<usize> = (cpu / 10 * 10..cpu / 10 * 10 + 10).collect();
        let third = [l3("8192K", 16, 8192), l3("16384K", 16, 16_384)][cpu / 10];
        let second = [l2("512K", 8, 1024), l2("2048K", 8, 4096)][cpu / 5 % 2];
        let [data, code] = first.map(|cache| (cache, &own[..]));
        tree.cpu(cpu, &own, &[data, code, (second, &own), (third, &cluster)]);
    }
    for (allowed, second, third, cpus) in [
        (0, 512, 8192, [0, 1, 2, 3, 4]),
        (7, 2048, 8192, [5, 6, 7, 8, 9]),
        (12, 512, 16_384, [10, 11, 12, 13, 14]),
        (19, 2048, 16_384, [15, 16, 17, 18, 19]),
    ] {
        let host = tree.host(&[allowed]);
        assert_eq!(host.machine.l2.size_bytes >> 10, second);
        assert_eq!(host.machine.l3.unwrap().size_bytes >> 10, third);
        assert_eq!((host.machine.cores, host.cpus), (5, cpus.to_vec()));
    }
    assert_eq!(tree.topology().l3s([0, 9, 12]), 2);
}

#[test]
fn an_l3_per_die_is_that_of_the_allowed_die_and_not_the_sum() {
    let tree = Tree::new();
    let dies = [l3("98304K", 16, 98_304), l3("32768K", 16, 32_768)];
    for cpu in 0..8 {
        let own = [cpu];
        let die: Vec<usize> = (cpu / 4 * 4..cpu / 4 * 4 + 4).collect();
        let [data, code] = L1.map(|cache| (cache, &own[..]));
        let second = (l2("1024K", 8, 2048), &own[..]);
        tree.cpu(cpu, &own, &[data, code, second, (dies[cpu / 4], &die)]);
    }
    let mib = |allowed: &[usize]| tree.host(allowed).machine.l3.unwrap().size_bytes >> 20;
    assert_eq!((mib(&[1]), mib(&[5, 7])), (96, 32));
    assert_eq!(tree.host(&[6]).cpus, [4, 5, 6, 7]);
    assert_eq!(tree.topology().l3s(0..8), 2);
    let said = &tree.assumed(&[3, 4])[0];
    assert!(
        said.contains("4 cores like CPU 3 (") && said.contains("without CPU 4 ("),
        "{said}"
    );
}

#[test]
fn dies_with_equal_l3s_are_one_machine_each_without_any_assumption() {
    let tree = Tree::cores(
        &[0, 1],
        l2("1024K", 8, 2048),
        Some(l3("16384K", 16, 16_384)),
    );
    for cpu in ["0", "1"] {
        tree.write(&format!("cpu{cpu}/cache/index3/shared_cpu_list"), cpu);
    }
    let host = tree.host(&[0, 1]);
    assert_eq!(
        (host.machine.cores, host.cpus, host.assumed),
        (1, vec![0], vec![])
    );
    assert_eq!(tree.host(&[1]).cpus, [1]);
    assert_eq!(tree.topology().l3s([0, 1]), 2);
}

#[test]
fn a_cpu_that_is_offline_counts_nowhere() {
    let tree = Tree::cores(
        &[1, 2, 3],
        l2("1024K", 16, 1024),
        Some(l3("32768K", 16, 32_768)),
    );
    tree.write("cpu0/online", "0");
    tree.write("possible", "0-191");
    let host = tree.host(&[1, 2, 3]);
    assert_eq!(
        (host.cpu, host.machine.cores, host.assumed.len()),
        (1, 3, 0)
    );
    // Some kernels keep the caches of CPUs that went offline, and others still list these.
    let own = [0];
    let stale = [data("16K", 4, 64), code("16K", 4, 64), l2("256K", 8, 512)];
    tree.cpu(0, &own, &stale.map(|cache| (cache, &own[..])));
    tree.write("cpu0/online", "0");
    tree.write("cpu1/cache/index3/shared_cpu_list", "0-3");
    assert_eq!(tree.host(&[1, 2, 3]), host);
    // Without the list, each CPU's own file has the state.
    tree.remove("online");
    assert_eq!(tree.host(&[1, 2, 3]), host);
    // The allowed mask still has it, as in a test with another machine's description.
    assert_eq!(
        tree.host(&[0, 1]).assumed,
        ["the caches of CPU 0 are not described (not online): those of CPU 1 are assumed"]
    );
}

#[test]
fn a_list_that_a_container_numbers_anew_hides_no_cpu() {
    let cpus = [0, 1, 12, 13];
    let tree = Tree::cores(&cpus, l2("1024K", 16, 1024), Some(l3("32768K", 16, 32_768)));
    tree.remove("cpu0/online");
    let host = tree.host(&[12, 13]);
    tree.write("online", "0-1");
    assert_eq!(tree.host(&[12, 13]), host);
    assert_eq!((host.cpu, host.machine.cores), (12, 4));
    tree.write("online", "1,12-13");
    assert_eq!(tree.host(&[12, 13]).machine.cores, 3);
}

#[test]
fn of_a_mask_of_odd_cpus_all_are_seen() {
    let tree = Tree::cores(
        &(0..8).collect::<Vec<_>>(),
        l2("2048K", 16, 2048),
        Some(l3("30720K", 20, 24_576)),
    );
    let host = tree.host(&[1, 3, 7]);
    assert_eq!(
        (host.cpu, host.machine.cores, host.assumed.len()),
        (1, 8, 0)
    );
    assert_eq!(tree.topology().cores([1, 3, 7]), 3);
}

/// Four CPUs of two cores, with the threads of a core numbered in this way.
fn threads(cores: [[usize; 2]; 2]) -> Tree {
    let tree = Tree::new();
    for core in cores {
        for cpu in core {
            let [data, code] = L1.map(|cache| (cache, &core[..]));
            let second = (l2("1024K", 16, 1024), &core[..]);
            let third = (l3("25344K", 11, 36_864), &[0, 1, 2, 3][..]);
            tree.cpu(cpu, &core, &[data, code, second, third]);
        }
    }
    tree
}

#[test]
fn hardware_threads_are_one_core_however_they_are_numbered() {
    for cores in [[[0, 1], [2, 3]], [[0, 2], [1, 3]], [[0, 3], [1, 2]]] {
        let tree = threads(cores);
        let [first, second] = cores;
        let without = |files: &[&str]| {
            files.iter().for_each(|file| tree.remove_everywhere(file));
            let host = tree.host(&[0, 1, 2, 3]);
            assert_eq!(
                (host.machine.cores, host.assumed.len()),
                (2, 0),
                "{files:?}"
            );
            assert_eq!(host.machine.l2.shared_by, 1);
            let topology = tree.topology();
            assert_eq!(topology.share_a_core(first), Some(true), "{files:?}");
            assert_eq!(topology.share_a_core([first[0], second[0]]), Some(false));
        };
        without(&[]);
        without(&["topology/thread_siblings_list"]);
        without(&["topology/core_cpus_list", "topology/thread_siblings"]);
        // By package and core.
        without(&["topology/core_cpus"]);
        // By the first level that they share.
        without(&["topology/core_id"]);
    }
}

#[test]
fn cores_of_two_packages_with_one_core_id_are_two() {
    let tree = Tree::cores(
        &[0, 1],
        l2("1024K", 16, 1024),
        Some(l3("16384K", 16, 16_384)),
    );
    for cpu in 0..2 {
        tree.write(&format!("cpu{cpu}/topology/core_id"), "0");
        tree.write(
            &format!("cpu{cpu}/topology/physical_package_id"),
            &cpu.to_string(),
        );
    }
    for file in [
        "thread_siblings_list",
        "thread_siblings",
        "core_cpus_list",
        "core_cpus",
    ] {
        tree.remove_everywhere(&format!("topology/{file}"));
    }
    assert_eq!(tree.topology().cores([0, 1]), 2);
    assert_eq!(tree.host(&[0, 1]).machine.cores, 2);
}

#[test]
fn numbers_above_64_and_more_possible_than_online_cpus_are_seen() {
    let numbers: Vec<usize> = (0..4).chain(88..92).chain([300]).collect();
    let tree = Tree::cores(
        &numbers,
        l2("1024K", 16, 1024),
        Some(l3("28160K", 11, 40_960)),
    );
    tree.write("possible", "0-511");
    let host = tree.host(&[90, 300]);
    assert_eq!((host.cpu, host.machine.cores), (90, 9));
    assert_eq!(host.cpus, numbers);
    // Masks are equivalent to lists.
    for index in 0..4 {
        tree.remove_everywhere(&format!("cache/index{index}/shared_cpu_list"));
    }
    assert_eq!(tree.host(&[90, 300]), host);
}

#[test]
fn a_machine_has_as_many_cores_as_can_be_simulated() {
    let numbers: Vec<usize> = (0..128).collect();
    let tree = Tree::cores(
        &numbers,
        l2("1024K", 16, 1024),
        Some(l3("32768K", 16, 32_768)),
    );
    let host = tree.host(&[100]);
    assert_eq!((host.machine.cores, host.cpus.len()), (64, 128));
}

#[test]
fn without_an_l3_all_cpus_with_such_caches_are_cores() {
    let tree = Tree::cores(&[0, 1, 2, 3], l2("2048K", 16, 2048), None);
    for cpu in 0..4 {
        let pair = ["0-1", "2-3"][cpu / 2];
        tree.write(&format!("cpu{cpu}/cache/index2/shared_cpu_list"), pair);
    }
    let host = tree.host(&[0, 1]);
    assert_eq!(host.machine.l3, None);
    assert_eq!((host.machine.cores, host.machine.l2.shared_by), (4, 2));
    assert_eq!(
        host.machine.transfer_latency_cycles,
        host.machine.memory_latency_cycles
    );
    assert_eq!(host.assumed, [""; 0]);
    assert_eq!(tree.topology().l3s(0..4), 0);
}

#[test]
fn without_shared_cpu_files_ids_say_who_shares_and_else_it_is_assumed() {
    let tree = threads([[0, 1], [2, 3]]);
    let host = tree.host(&[0]);
    for index in 0..4 {
        tree.remove_everywhere(&format!("cache/index{index}/shared_cpu_list"));
        tree.remove_everywhere(&format!("cache/index{index}/shared_cpu_map"));
        for cpu in 0..4 {
            let id = if index == 3 { 0 } else { cpu / 2 };
            tree.write(&format!("cpu{cpu}/cache/index{index}/id"), &id.to_string());
        }
    }
    assert_eq!(tree.host(&[0]), host);
    for index in 0..4 {
        tree.remove_everywhere(&format!("cache/index{index}/id"));
    }
    let assumed = tree.host(&[0]);
    assert_eq!(assumed.machine, host.machine);
    assert_eq!(
        tree.assumed(&[0])[2..],
        [
            "[cpu]/cpu0/cache/index2: no CPU in shared_cpu_list: shared by its own core alone is \
             assumed",
            "[cpu]/cpu0/cache/index3: no CPU in shared_cpu_list: shared by the CPUs of its package \
             is assumed",
        ]
    );
}

/// A Power7 as in hwloc, with eight threads per core: only masks, and an L3 of one set.
#[test]
fn a_power_with_eight_threads_a_core_is_read_with_its_lines_counted_as_others() {
    let tree = Tree::new();
    let of = |cache: Cache| Cache { line: 128, ..cache };
    for cpu in 0..32 {
        let core: Vec<usize> = (cpu / 8 * 8..cpu / 8 * 8 + 8).collect();
        let caches = [data("32K", 8, 32), code("32K", 4, 64), l2("256K", 8, 256)].map(of);
        let third = of(l3("4096K", 0, 1));
        let caches = caches.into_iter().chain([third]);
        let caches: Vec<(Cache, &[usize])> = caches.map(|cache| (cache, &core[..])).collect();
        tree.cpu(cpu, &core, &caches);
    }
    for index in 0..4 {
        tree.remove_everywhere(&format!("cache/index{index}/shared_cpu_list"));
    }
    let machine = tree.host(&[9]).machine;
    assert_eq!((machine.cores, machine.l2.size_bytes), (1, 256 << 10));
    assert_eq!(
        machine.l3.map(|l3| (l3.size_bytes, l3.ways)),
        Some((4 << 20, 16))
    );
    assert_eq!(tree.topology().cores(0..32), 4);
    let said = tree.assumed(&[9]);
    assert_eq!(
        said[3..],
        [
            "[cpu]/cpu9/cache/index3: lines of 128 bytes are counted as lines of 64",
            "[cpu]/cpu9/cache/index3/ways_of_associativity: 0 is reported: 16 ways are assumed",
        ]
    );
}
