//! Which cores are near each other beyond the L2s. Schedulers use this; caches do not.
//!
//! A machine has at most one L3, which all cores share, and uniform memory latency. The best source
//! of threads depends on more: groups of cores that share an L3, and NUMA nodes, whose distances
//! the firmware provides. A machine with several L3s is described without any L3, because one
//! shared L3 would underestimate its misses.

use serde::Deserialize;

/// Groups of cores and node distances from a machine file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Number of neighbouring cores that share an L3, if not all do.
    pub cores_per_l3: Option<u32>,
    /// Number of neighbouring cores in a NUMA node.
    pub cores_per_node: Option<u32>,
    /// Distances between nodes, as in the firmware's System Locality Distance Information Table
    /// (ACPI, *SLIT*; `numactl --hardware` prints it): 10 within a node, 20 for twice as far.
    #[serde(default)]
    pub node_distances: Vec<Vec<u32>>,
}

/// How far a core is from another; a smaller value is nearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Distance {
    /// Number of groups, from the L2 outwards, that contain one core but not the other.
    pub groups: u32,
    /// The distance between their nodes, or 0 if the file has none.
    pub of_nodes: u32,
}

impl Topology {
    /// Computes [`Machine::distance`](super::Machine::distance) on a machine with `l2` cores for
    /// each L2.
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
