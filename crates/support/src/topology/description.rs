//! The properties of CPUs, and queries about them.

use super::notation::CpuNumbers;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A number that the kernel reports, or why it is unknown.
pub type Reading = Result<u64, Unknown>;

/// Why a number is unknown: the file that should contain it, and the problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct Unknown {
    /// The file.
    pub path: PathBuf,
    /// The problem.
    pub problem: String,
}

/// The CPUs that are online.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    pub(super) root: PathBuf,
    pub(super) cpus: BTreeMap<usize, Cpu>,
}

/// One CPU: a hardware thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// The hardware threads of its physical core, including itself; `None` if cores are not
    /// reported.
    pub(super) siblings: Option<CpuNumbers>,
    /// Its NUMA node; `None` if nodes are not reported.
    pub(super) node: Option<usize>,
    /// Its caches, in the kernel's order.
    pub caches: Vec<Cache>,
}

/// One cache of a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// The folder that describes it.
    pub folder: PathBuf,
    /// 1 for the first level.
    pub level: u64,
    /// The type of its contents.
    pub holds: Holds,
    /// Capacity of this instance in bytes.
    pub size_bytes: Reading,
    /// Associativity; the kernel also reports 0 if it is unknown.
    pub ways: Reading,
    /// Number of sets.
    pub sets: Reading,
    /// Line size in bytes.
    pub line_bytes: Reading,
    /// The online CPUs that share it, including the CPU itself.
    pub shared_by: CpuNumbers,
    /// Assumptions about it, one sentence each.
    pub assumed: Vec<String>,
}

/// The type of a cache's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holds {
    /// Only data.
    Data,
    /// Only code.
    Instructions,
    /// Both, or not reported.
    All,
}

impl Topology {
    /// Returns the folder that was read.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the numbers of the CPUs that are online.
    pub fn online(&self) -> impl Iterator<Item = usize> {
        self.cpus.keys().copied()
    }

    /// Returns this CPU; `None` if it is offline or does not exist.
    pub fn cpu(&self, number: usize) -> Option<&Cpu> {
        self.cpus.get(&number)
    }

    /// Returns the physical core of a CPU, as the number of its first hardware thread. A CPU
    /// without reported siblings is a core with one thread.
    pub fn core_of(&self, number: usize) -> usize {
        let siblings = self.cpu(number).and_then(|cpu| cpu.siblings.as_ref());
        let first = siblings.and_then(|siblings| siblings.first().copied());
        first.unwrap_or(number)
    }

    /// Returns how many physical cores these CPUs belong to.
    pub fn cores(&self, cpus: impl IntoIterator<Item = usize>) -> usize {
        let cores = cpus.into_iter().map(|cpu| self.core_of(cpu));
        cores.collect::<CpuNumbers>().len()
    }

    /// Returns how many third-level caches these CPUs have; 0 if none is described.
    pub fn l3s(&self, cpus: impl IntoIterator<Item = usize>) -> usize {
        let instances = cpus.into_iter().filter_map(|cpu| self.l3_of(cpu));
        instances.collect::<BTreeSet<_>>().len()
    }

    /// Returns the CPUs that share the third-level cache of this one, including itself; `None` if
    /// no such cache is described.
    pub fn l3_of(&self, number: usize) -> Option<&CpuNumbers> {
        let cache = self.cpu(number)?.cache(3, Holds::Data)?;
        (cache.size_bytes != Ok(0)).then_some(&cache.shared_by)
    }

    /// Returns the NUMA node of a CPU; `None` if the kernel does not report it.
    pub fn node_of(&self, number: usize) -> Option<usize> {
        self.cpu(number)?.node
    }

    /// Returns whether two CPUs are hardware threads of one core; `None` if the kernel does not
    /// report it.
    pub fn share_a_core(&self, [one, other]: [usize; 2]) -> Option<bool> {
        let siblings = |cpu| self.cpu(cpu)?.siblings.as_ref();
        siblings(other)?;
        Some(siblings(one)?.contains(&other))
    }

    /// Returns whether two CPUs share one L2; `None` if the kernel does not report it.
    pub fn share_an_l2(&self, [one, other]: [usize; 2]) -> Option<bool> {
        let l2 = |cpu| self.cpu(cpu)?.cache(2, Holds::Data);
        l2(other)?;
        Some(l2(one)?.shared_by.contains(&other))
    }
}

impl Cpu {
    /// Returns the cache of this level for this kind of accesses. A dedicated cache is preferred to
    /// a unified one; of several, the smallest, which is nearest to the core.
    pub fn cache(&self, level: u64, serves: Holds) -> Option<&Cache> {
        let of_level = || self.caches.iter().filter(move |cache| cache.level == level);
        let smallest = |holds| {
            let size = |cache: &&Cache| cache.size_bytes.clone().unwrap_or(u64::MAX);
            of_level()
                .filter(|cache| cache.holds == holds)
                .min_by_key(size)
        };
        smallest(serves).or_else(|| smallest(Holds::All))
    }
}
