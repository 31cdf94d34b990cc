//! Which CPUs are how far apart, on machines other than this one: folders like the kernel's.

mod tree;

use corehop_support::topology::{Distance, NoPair, Topology};
use tree::{Made, cpu};

const ALL: [Distance; 4] = Distance::ALL;

/// The pairs of all four distances, the nearest first.
fn pairs(topology: &Topology, cpus: &[usize]) -> [Result<[usize; 2], NoPair>; 4] {
    ALL.map(|distance| topology.pair(cpus, distance))
}

fn all(count: usize) -> Vec<usize> {
    (0..count).collect()
}

/// 16 CPUs of 8 cores: CPU `c + 8` is the second hardware thread of core `c`.
fn threads_of_16() -> Made {
    let cpus = (0..16).map(|number| {
        let core = number % 8;
        cpu(number).threads(&[core, core + 8]).l3(&all(16)).node(0)
    });
    Made::of(cpus)
}

/// Two nodes of two L3s each; an L3 has two cores of one thread.
fn two_nodes() -> Made {
    let cpus = (0..8).map(|number| {
        let first = number / 2 * 2;
        let l3 = [first, first + 1];
        cpu(number).threads(&[number]).l3(&l3).node(number / 4)
    });
    Made::of(cpus)
}

#[test]
fn two_cpus_of_one_l3_have_one_distance() {
    let made = Made::of((0..2).map(|number| cpu(number).threads(&[number]).l3(&all(2)).node(0)));
    let topology = made.topology();
    let expected = [
        Err(NoPair::SameCore),
        Ok([0, 1]),
        Err(NoPair::OtherL3),
        Err(NoPair::OtherNode),
    ];
    assert_eq!(pairs(&topology, &[0, 1]), expected);
    assert_eq!(topology.on_cores(&[0, 1], 2), Some(vec![0, 1]));
    assert_eq!(topology.on_cores(&[0, 1], 4), None);
    // With every core taken, a client shares them.
    assert_eq!(topology.near(&[0, 1], &[0, 1]), [0, 1]);
}

#[test]
fn hardware_threads_are_the_nearest_and_count_as_one_core() {
    let made = threads_of_16();
    let (topology, cpus) = (made.topology(), all(16));
    let expected = [
        Ok([0, 8]),
        Ok([0, 1]),
        Err(NoPair::OtherL3),
        Err(NoPair::OtherNode),
    ];
    assert_eq!(pairs(&topology, &cpus), expected);
    assert_eq!(topology.on_cores(&cpus, 8), Some(all(8)));
    assert_eq!(topology.on_cores(&cpus, 9), None);
    // No hardware thread of a chosen core is left to a client.
    assert_eq!(topology.near(&cpus, &[0, 1, 2, 3, 4, 5]), [6, 7, 14, 15]);
}

#[test]
fn all_distances_of_two_nodes_are_found() {
    let made = two_nodes();
    let (topology, cpus) = (made.topology(), all(8));
    let expected = [Err(NoPair::SameCore), Ok([0, 1]), Ok([0, 2]), Ok([0, 4])];
    assert_eq!(pairs(&topology, &cpus), expected);
    let chosen = |count| topology.on_cores(&cpus, count);
    assert_eq!(chosen(2), Some(vec![0, 1]), "one L3");
    assert_eq!(chosen(4), Some(vec![0, 1, 2, 3]), "one node");
    assert_eq!(chosen(8), Some(all(8)), "the machine");
    assert_eq!(topology.near(&cpus, &[0]), [1], "the rest of the L3");
    assert_eq!(topology.near(&cpus, &[0, 1]), [2, 3, 4, 5, 6, 7]);
}

#[test]
fn only_allowed_cpus_are_chosen() {
    let made = two_nodes();
    let topology = made.topology();
    let expected = [Err(NoPair::SameCore), Ok([6, 7]), Ok([5, 6]), Ok([3, 5])];
    assert_eq!(pairs(&topology, &[3, 5, 6, 7]), expected);
    assert_eq!(topology.on_cores(&[3, 5, 6, 7], 2), Some(vec![6, 7]));
    assert_eq!(topology.on_cores(&[3, 5, 6, 7], 3), Some(vec![5, 6, 7]));
    assert_eq!(topology.on_cores(&[3], 1), Some(vec![3]));
}

#[test]
fn a_cpu_that_is_offline_shares_nothing() {
    let cpus = (0..4).map(|number| {
        let core = number / 2 * 2;
        let described = cpu(number).threads(&[core, core + 1]).l3(&all(4)).node(0);
        if number == 1 {
            described.offline()
        } else {
            described
        }
    });
    let made = Made::of(cpus);
    let topology = made.topology();
    assert_eq!(topology.online().collect::<Vec<_>>(), [0, 2, 3]);
    let found = topology.pair(&[0, 2, 3], Distance::SameCore);
    assert_eq!(found, Ok([2, 3]));
    assert_eq!(topology.on_cores(&[0, 2, 3], 2), Some(vec![0, 2]));
}

#[test]
fn without_nodes_the_machine_is_one() {
    let made = Made::of((0..4).map(|number| cpu(number).threads(&[number]).l3(&[number])));
    let topology = made.topology();
    assert_eq!(topology.distance([0, 3]), Some(Distance::OtherL3));
    let expected = Err(NoPair::OtherNode);
    assert_eq!(topology.pair(&all(4), Distance::OtherNode), expected);
    assert_eq!(topology.on_cores(&all(4), 4), Some(all(4)));
}

#[test]
fn without_an_l3_only_cores_and_nodes_are_known() {
    let made = Made::of((0..4).map(|number| cpu(number).threads(&[number]).node(number / 2)));
    let topology = made.topology();
    let expected = [
        Err(NoPair::SameCore),
        Err(NoPair::NoL3),
        Err(NoPair::NoL3),
        Ok([0, 2]),
    ];
    assert_eq!(pairs(&topology, &all(4)), expected);
    assert_eq!(topology.distance([0, 1]), None);
    assert_eq!(topology.on_cores(&all(4), 2), Some(vec![0, 1]), "one node");
}

#[test]
fn an_l3_of_two_nodes_is_nearer_than_they_are() {
    let made =
        Made::of((0..4).map(|number| cpu(number).threads(&[number]).l3(&all(4)).node(number / 2)));
    assert_eq!(made.topology().distance([0, 3]), Some(Distance::SameL3));
}

#[test]
fn a_machine_without_any_description_is_as_many_cores_as_cpus() {
    let made = Made::of((0..2).map(cpu));
    let topology = made.topology();
    assert_eq!(topology.on_cores(&[0, 1], 2), Some(vec![0, 1]));
    assert_eq!(topology.near(&[0, 1], &[0]), [1]);
    assert_eq!(topology.distance([0, 1]), None);
}
