//! Which cores are near each other beyond the L2s: for schedulers, not for caches.
//!
//! A machine has one L3 at most, which all cores share, and memory that is equally far from all.
//! Where threads should be taken from depends on more: groups of cores with an L3 each, and NUMA
//! nodes, whose distances firmware tells. A machine of several L3s is described without any, since
//! one for all would tell fewer misses than its cores have.

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

impl Topology {
    /// As [`Machine::distance`](super::Machine::distance), on a machine of so many cores an L2.
    pub(super) fn distance(&self, l2: u32, core: u32, other: u32) -> Distance {
        let Topology {
            cores_per_l3,
            cores_per_node,
            node_distances,
        } = self;
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
