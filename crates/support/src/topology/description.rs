//! What is known of CPUs, and the questions about it.

use super::notation::CpuNumbers;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A number that the kernel reports, or why it is unknown.
pub type Reading = Result<u64, Unknown>;

/// Why a number is unknown: the file that should have it, and what is wrong with that.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct Unknown {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
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
    /// The hardware threads of its physical core, itself included; `None` where nothing is
    /// reported about cores.
    pub(super) siblings: Option<CpuNumbers>,
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
    /// What it holds.
    pub holds: Holds,
    /// Capacity, of this one instance.
    pub size_bytes: Reading,
    /// Lines in a set; the kernel also writes 0, where it does not know.
    pub ways: Reading,
    /// Sets.
    pub sets: Reading,
    /// Bytes in a line.
    pub line_bytes: Reading,
    /// The online CPUs that share it, the CPU itself included.
    pub shared_by: CpuNumbers,
    /// What had to be assumed about it, each a sentence.
    pub assumed: Vec<String>,
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holds {
    /// Data alone.
    Data,
    /// Code alone.
    Instructions,
    /// Both, or the kernel does not say.
    All,
}

impl Topology {
    /// The folder that was read.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The numbers of the CPUs that are online.
    pub fn online(&self) -> impl Iterator<Item = usize> {
        self.cpus.keys().copied()
    }

    /// This CPU; `None` where it is offline, or not there.
    pub fn cpu(&self, number: usize) -> Option<&Cpu> {
        self.cpus.get(&number)
    }

    /// The physical core of a CPU, by the number of its first hardware thread. A CPU without
    /// such a report is a core with one thread.
    pub fn core_of(&self, number: usize) -> usize {
        let siblings = self.cpu(number).and_then(|cpu| cpu.siblings.as_ref());
        let first = siblings.and_then(|siblings| siblings.first().copied());
        first.unwrap_or(number)
    }

    /// How many physical cores these CPUs belong to.
    pub fn cores(&self, cpus: impl IntoIterator<Item = usize>) -> usize {
        let cores = cpus.into_iter().map(|cpu| self.core_of(cpu));
        cores.collect::<CpuNumbers>().len()
    }

    /// How many third-level caches these CPUs have; 0 where none is described.
    pub fn l3s(&self, cpus: impl IntoIterator<Item = usize>) -> usize {
        let l3 = |cpu| self.cpu(cpu)?.cache(3, Holds::Data);
        let l3s = cpus.into_iter().filter_map(l3);
        let is_there = |cache: &&Cache| cache.size_bytes != Ok(0);
        let instances = l3s.filter(is_there).map(|cache| &cache.shared_by);
        instances.collect::<BTreeSet<_>>().len()
    }

    /// Whether two CPUs are hardware threads of one core; `None` where the kernel does not say.
    pub fn share_a_core(&self, [one, other]: [usize; 2]) -> Option<bool> {
        let siblings = |cpu| self.cpu(cpu)?.siblings.as_ref();
        siblings(other)?;
        Some(siblings(one)?.contains(&other))
    }

    /// Whether two CPUs have one L2; `None` where the kernel does not say.
    pub fn share_an_l2(&self, [one, other]: [usize; 2]) -> Option<bool> {
        let l2 = |cpu| self.cpu(cpu)?.cache(2, Holds::Data);
        l2(other)?;
        Some(l2(one)?.shared_by.contains(&other))
    }
}

impl Cpu {
    /// The cache of that level which serves accesses of that kind: one for these alone before one
    /// for all, and of several the smallest, which is the nearest to the core.
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
