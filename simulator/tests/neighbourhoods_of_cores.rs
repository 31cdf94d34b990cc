//! Topology in machine files: the distances between cores, and invalid descriptions.

use corehop_simulator::{Distance, Machine};
use std::path::Path;

/// Reads a machine of eight cores, two for each L2, with this topology.
fn read(topology: &str, l3: &str) -> Result<Machine, String> {
    let text = format!(
        "name = \"two\"\ncores = 8\nline_size_bytes = 64\nmemory_latency_cycles = 200\n\
         hop_cost_cycles = 1000\n\
         l1i = {{ size_bytes = 1024, ways = 2, latency_cycles = 4 }}\n\
         l1d = {{ size_bytes = 1024, ways = 2, latency_cycles = 4 }}\n\
         l2 = {{ size_bytes = 4096, ways = 4, latency_cycles = 12, shared_by = 2 }}\n\
         {l3}[topology]\n{topology}\n"
    );
    let machine = Machine::from_toml(&text, Path::new("two.toml"));
    machine.map_err(|error| error.to_string())
}

const L3: &str = "l3 = { size_bytes = 12288, ways = 4, latency_cycles = 40 }\n";

/// Returns the distances from core 0 to each core: groups, and distances of nodes.
#[track_caller]
fn from_core_0(topology: &str) -> ([u32; 8], [u32; 8]) {
    let machine = read(topology, "").unwrap();
    let distance = |other: u32| machine.distance(0, other);
    let all = [0, 1, 2, 3, 4, 5, 6, 7].map(distance);
    let of = |part: fn(&Distance) -> u32| all.each_ref().map(part);
    (
        of(|distance| distance.groups),
        of(|distance| distance.of_nodes),
    )
}

#[test]
fn without_groups_l2s_are_in_pairs_and_these_in_pairs() {
    assert_eq!(from_core_0(""), ([0, 0, 1, 1, 2, 2, 2, 2], [0; 8]));
}

#[test]
fn cores_of_an_l3_or_a_node_are_equally_near_beyond_their_l2() {
    let expected = ([0, 0, 1, 1, 2, 2, 2, 2], [0; 8]);
    assert_eq!(from_core_0("cores_per_l3 = 4"), expected);
    assert_eq!(from_core_0("cores_per_node = 4"), expected);
    let all = ([0, 0, 1, 1, 1, 1, 1, 1], [0; 8]);
    assert_eq!(from_core_0("cores_per_node = 8"), all);
}

#[test]
fn groups_lie_in_each_other_and_nodes_have_distances() {
    let nodes = "cores_per_l3 = 2\ncores_per_node = 4\nnode_distances = [[10, 21], [22, 10]]";
    let expected = ([0, 0, 2, 2, 3, 3, 3, 3], [10, 10, 10, 10, 21, 21, 21, 21]);
    assert_eq!(from_core_0(nodes), expected);
    let machine = read(nodes, "").unwrap();
    let back = machine.distance(4, 0);
    assert_eq!((back.groups, back.of_nodes), (3, 22));
    // Sub-NUMA clusters: nodes within an L3.
    let clusters = "cores_per_l3 = 8\ncores_per_node = 4";
    assert_eq!(from_core_0(clusters).0, [0, 0, 1, 1, 2, 2, 2, 2]);
    assert!(read(clusters, L3).is_ok());
}

#[test]
fn of_equally_many_groups_the_nearer_node_is_nearer() {
    let distance = |groups, of_nodes| Distance { groups, of_nodes };
    assert!(distance(1, 30) < distance(2, 11));
    assert!(distance(2, 11) < distance(2, 12));
}

#[track_caller]
fn refused(topology: &str, l3: &str) -> String {
    let said = read(topology, l3).unwrap_err();
    said.strip_prefix("two.toml: topology: ")
        .expect(&said)
        .to_owned()
}

#[test]
fn several_l3s_are_not_simulated_as_one() {
    let expected = "cores_per_l3 says that there are several L3s, and l3 is simulated as one that \
                    all cores share: leave l3 out, or give the machine the cores of one L3";
    assert_eq!(refused("cores_per_l3 = 4", L3), expected);
    assert!(read("cores_per_l3 = 8", L3).is_ok());
}

#[test]
fn groups_are_of_whole_l2s_and_make_up_the_machine() {
    for size in [0, 1, 3, 16] {
        let expected = format!(
            "cores_per_node = {size}: it must divide the machine's cores, and l2's shared_by must \
             divide it"
        );
        assert_eq!(refused(&format!("cores_per_node = {size}"), ""), expected);
    }
}

#[test]
fn distances_are_of_each_node_from_each() {
    let expected = "node_distances: give 2 rows of 2 numbers, as cores_per_node makes so many \
                    nodes: 10 from a node to itself, 10 to 254 to others";
    for distances in [
        "[[10, 21]]",
        "[[10, 21], [21]]",
        "[[10, 21], [21, 11]]",
        "[[10, 9], [21, 10]]",
        "[[10, 255], [21, 10]]",
        "[[10, 21], [21, 10], [21, 21]]",
    ] {
        let topology = format!("cores_per_node = 4\nnode_distances = {distances}");
        assert_eq!(refused(&topology, ""), expected, "{distances}");
    }
    let nodes = refused("node_distances = [[10]]", "");
    assert!(nodes.starts_with("node_distances: give 0 rows"), "{nodes}");
}
