//! How far apart two CPUs are, and which CPUs a measurement on several cores takes.
//!
//! A distance is the nearest thing that two CPUs share: a core, an L3, a node, or only the machine.
//! If nodes are smaller than an L3, the L3 decides, because it serves a line that moves. A kernel
//! without NUMA reports no nodes; the machine then counts as one. Without an L3, CPUs of different
//! cores have a distance only if their nodes differ.

use super::description::Topology;
use super::notation::CpuNumbers;
use std::collections::BTreeSet;

/// How far apart two CPUs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// Hardware threads of one core.
    SameCore,
    /// Different cores below one L3.
    SameL3,
    /// Different L3s of one node.
    OtherL3,
    /// Different nodes and L3s.
    OtherNode,
}

impl Distance {
    /// All of them, the nearest first.
    pub const ALL: [Distance; 4] = [
        Distance::SameCore,
        Distance::SameL3,
        Distance::OtherL3,
        Distance::OtherNode,
    ];

    /// Returns its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Distance::SameCore => "same core",
            Distance::SameL3 => "same L3",
            Distance::OtherL3 => "other L3",
            Distance::OtherNode => "other node",
        }
    }
}

/// Why no two of some CPUs are this far apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPair {
    /// For [`Distance::SameCore`].
    #[error("no two of these CPUs are hardware threads of one core")]
    SameCore,
    /// For [`Distance::SameL3`].
    #[error("no two of these CPUs are different cores below one L3")]
    SameL3,
    /// For [`Distance::OtherL3`].
    #[error("no two of these CPUs have different L3s in one node")]
    OtherL3,
    /// For [`Distance::OtherNode`].
    #[error("these CPUs are of one node")]
    OtherNode,
    /// For both distances that an L3 defines.
    #[error("the kernel describes no L3 of these CPUs")]
    NoL3,
}

impl Topology {
    /// Returns how far apart two CPUs are; `None` if the kernel does not report it.
    pub fn distance(&self, cpus: [usize; 2]) -> Option<Distance> {
        let [one, other] = cpus;
        if self.core_of(one) == self.core_of(other) {
            return Some(Distance::SameCore);
        }
        let l3s = self.l3_of(one).zip(self.l3_of(other));
        let nodes = self.node_of(one).zip(self.node_of(other));
        let is_other_node = nodes.is_some_and(|(one, other)| one != other);
        match l3s {
            Some((shared, _)) if shared.contains(&other) => Some(Distance::SameL3),
            _ if is_other_node => Some(Distance::OtherNode),
            Some(_) => Some(Distance::OtherL3),
            None => None,
        }
    }

    /// Returns the first two of these CPUs that are this far apart.
    ///
    /// # Errors
    /// Why there are none.
    pub fn pair(&self, cpus: &[usize], distance: Distance) -> Result<[usize; 2], NoPair> {
        for (index, &one) in cpus.iter().enumerate() {
            let others = cpus[index + 1..].iter();
            let mut pairs = others.map(|&other| [one, other]);
            if let Some(pair) = pairs.find(|&pair| self.distance(pair) == Some(distance)) {
                return Ok(pair);
            }
        }
        let has_l3 = cpus.iter().any(|&cpu| self.l3_of(cpu).is_some());
        Err(match distance {
            Distance::SameCore => NoPair::SameCore,
            Distance::SameL3 | Distance::OtherL3 if !has_l3 => NoPair::NoL3,
            Distance::SameL3 => NoPair::SameL3,
            Distance::OtherL3 => NoPair::OtherL3,
            Distance::OtherNode => NoPair::OtherNode,
        })
    }

    /// Returns one CPU of each of `count` different cores among these: of the first L3 with as
    /// many, otherwise of the first such node, otherwise any. `None` if there are fewer cores.
    pub fn on_cores(&self, cpus: &[usize], count: usize) -> Option<Vec<usize>> {
        let l3s = cpus.iter().map(|&cpu| self.in_l3_of(cpu, cpus));
        let nodes = cpus.iter().map(|&cpu| {
            let is_near = |other: &&usize| self.node_of(**other) == self.node_of(cpu);
            cpus.iter().filter(is_near).copied().collect()
        });
        let groups = l3s.chain(nodes).chain([cpus.to_vec()]);
        let mut chosen = groups.map(|group| self.first_threads(&group));
        let mut chosen = chosen.find(|chosen| chosen.len() >= count)?;
        chosen.truncate(count);
        Some(chosen)
    }

    /// Returns the CPUs among `cpus` for a program that works with another one on `chosen`, and is
    /// not to slow it down: those of other cores below the L3 of the first chosen one. Without any,
    /// all of other cores; without those, the chosen ones.
    pub fn near(&self, cpus: &[usize], chosen: &[usize]) -> Vec<usize> {
        let taken: BTreeSet<usize> = chosen.iter().map(|&cpu| self.core_of(cpu)).collect();
        let is_free = |cpu: &usize| !taken.contains(&self.core_of(*cpu));
        let l3 = chosen.first().map(|&first| self.in_l3_of(first, cpus));
        let groups = [l3.unwrap_or_default(), cpus.to_vec()];
        let free = groups.map(|group| group.into_iter().filter(is_free).collect::<Vec<_>>());
        let found = free.into_iter().find(|free| !free.is_empty());
        found.unwrap_or_else(|| chosen.to_vec())
    }

    /// Returns the CPUs among these that share the L3 of one; only that one without an L3.
    fn in_l3_of(&self, number: usize, cpus: &[usize]) -> Vec<usize> {
        let l3 = self.l3_of(number);
        let shares = |cpu: &&usize| match l3 {
            Some(l3) => l3.contains(cpu),
            None => **cpu == number,
        };
        cpus.iter().filter(shares).copied().collect()
    }

    /// Returns the first of these CPUs of each core.
    fn first_threads(&self, cpus: &[usize]) -> Vec<usize> {
        let mut cores = CpuNumbers::new();
        let is_first = |cpu: &&usize| cores.insert(self.core_of(**cpu));
        cpus.iter().filter(is_first).copied().collect()
    }
}
