//! Which cores are near each other beyond the L2s: for schedulers, not for caches.
//!
//! A machine has one L3 at most, which all cores share, and memory that is equally far from all.
//! Where threads should be taken from depends on more: groups of cores with an L3 each, and NUMA
//! nodes, whose distances firmware tells. A machine of several L3s is described without any, since
//! one for all would tell fewer misses than its cores have.

use super::description::Machine;
use super::impossible::ImpossibleMachine;
use serde::Deserialize;

/// What a machine file says of its cores' neighbourhoods.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// How many neighbouring cores share an L3, if not all do.
    pub cores_per_l3: Option<u32>,
    /// How many neighbouring cores are a NUMA node.
    pub cores_per_node: Option<u32>,
    /// By node and node, as the firmware's System Locality Distance Information Table has them
    /// (ACPI, *SLIT*; `numactl --hardware` shows it): 10 within a node, 20 for twice as far.
    #[serde(default)]
    pub node_distances: Vec<Vec<u32>>,
}

/// How far a core is from another; of two, the nearer one is less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Distance {
    /// How many of the groups that one is in, from the L2 on outwards, the other is not in.
    pub groups: u32,
    /// Between their nodes, 0 where none is said.
    pub of_nodes: u32,
}

/// What a node is from itself.
const LOCAL: u32 = 10;

/// One more than the largest distance: the table's 255 is for nodes that cannot be reached.
const UNREACHABLE: u32 = 255;

impl Machine {
    /// How far `core` is from `other`. Where no groups are said, L2s are in pairs, these in pairs,
    /// and so on, as neighbours are numbered on most machines.
    pub fn distance(&self, core: u32, other: u32) -> Distance {
        let Topology {
            cores_per_l3,
            cores_per_node,
            node_distances,
        } = &self.topology;
        let l2 = self.l2.shared_by;
        let groups = match (cores_per_l3, cores_per_node) {
            (None, None) => u32::BITS - ((core / l2) ^ (other / l2)).leading_zeros(),
            _ => {
                let sizes = [Some(l2), *cores_per_l3, *cores_per_node];
                let apart = |size: &u32| core / size != other / size;
                sizes.into_iter().flatten().filter(apart).count() as u32
            }
        };
        let of_nodes = cores_per_node.and_then(|size| {
            let row = node_distances.get((core / size) as usize)?;
            row.get((other / size) as usize)
        });
        Distance {
            groups,
            of_nodes: of_nodes.copied().unwrap_or(0),
        }
    }
}

/// Groups are of whole L2s, lie in each other, and make up the machine.
pub(super) fn check(machine: &Machine) -> Result<(), ImpossibleMachine> {
    let topology = &machine.topology;
    let groups = [
        ("cores_per_l3", topology.cores_per_l3),
        ("cores_per_node", topology.cores_per_node),
    ];
    for (key, size) in groups {
        let Some(size) = size else {
            continue;
        };
        let whole = |inner: u32, outer: u32| inner > 0 && outer.is_multiple_of(inner);
        if size == 0 || !whole(size, machine.cores) || !whole(machine.l2.shared_by, size) {
            return Err(ImpossibleMachine::Group { key, size });
        }
    }
    if let (Some(l3), Some(node)) = (topology.cores_per_l3, topology.cores_per_node)
        && !l3.is_multiple_of(node)
        && !node.is_multiple_of(l3)
    {
        return Err(ImpossibleMachine::Groups { l3, node });
    }
    if machine.l3.is_some() && topology.cores_per_l3.is_some_and(|l3| l3 < machine.cores) {
        return Err(ImpossibleMachine::SeveralL3s);
    }
    check_distances(machine)
}

fn check_distances(machine: &Machine) -> Result<(), ImpossibleMachine> {
    let Topology {
        cores_per_node,
        node_distances,
        ..
    } = &machine.topology;
    if node_distances.is_empty() {
        return Ok(());
    }
    let nodes = cores_per_node.map_or(0, |size| (machine.cores / size) as usize);
    let is_sound = |(node, row): (usize, &Vec<u32>)| {
        let range = LOCAL..UNREACHABLE;
        row.len() == nodes && row[node] == LOCAL && row.iter().all(|d| range.contains(d))
    };
    let rows = node_distances.iter().enumerate();
    if node_distances.len() != nodes || !rows.into_iter().all(is_sound) {
        return Err(ImpossibleMachine::NodeDistances { nodes });
    }
    Ok(())
}
