//! This machine, as described by the kernel in `/sys/devices/system/cpu`.
//!
//! `corehop_support::topology` reads the description; this module converts it to a machine. Cores
//! may differ. The caches are those of the first CPU that this process may run on, and the cores
//! are all that match it and share its L3. A missing value is assumed if one sentence can state the
//! assumption ([`Host::assumed`]); otherwise the result is an error.
//!
//! The kernel reports sizes, ways and sharing but no latencies. The latencies are those of
//! `configs/machines/xeon-e5-2620-v4.toml`: good enough to compare splits, not to predict seconds.
//! `corehop calibrate` measures them (calibrated.rs).

mod caches;

use super::description::{CARRIED_HOP_CYCLES, CORES_MAXIMUM, Inclusion, Level, Machine};
use super::processor::Core;
use super::translation::Translation;
use crate::error::Error;
use caches::{Caches, L3_LATENCY_CYCLES};
use corehop_support::format::number::counted;
use corehop_support::topology::{Topology, Unknown, allowed, ranges};
use std::collections::BTreeMap;
use std::path::Path;

/// The file in which Linux describes processors.
pub const CPUINFO: &str = "/proc/cpuinfo";

const MEMORY_LATENCY_CYCLES: u32 = 200;

/// This machine, and the assumptions made about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its caches and cores.
    pub machine: Machine,
    /// The CPU whose caches these are.
    pub cpu: usize,
    /// The CPUs of its cores, including all hardware threads of each, in ascending order.
    pub cpus: Vec<usize>,
    /// Assumptions made because of a missing description, one sentence each.
    pub assumed: Vec<String>,
}

/// Returns this machine: the caches from [`read`], and the core and the TLBs of its processor.
///
/// # Errors
/// Those of [`read`].
pub fn described() -> Result<Host, Error> {
    let mut host = read(&Topology::here(), &allowed())?;
    let processor = std::fs::read_to_string(CPUINFO).unwrap_or_default();
    let l2_bytes = host.machine.l2.size_bytes;
    host.machine.core = Core::of_processor(&processor, l2_bytes).unwrap_or_default();
    host.machine.translation = Translation::of_processor(&processor, l2_bytes);
    Ok(host)
}

/// Returns the machine of a process that may run on the CPUs `allowed`. Its cores are the physical
/// cores with the same caches that share the L3, at most [`CORES_MAXIMUM`]. Without an L3, they are
/// all cores with the same caches.
///
/// It does not know the properties of cores besides caches: the machine has [`Core::default`].
///
/// # Errors
/// [`Error::Host`] if no CPU has first and second levels that can be simulated.
pub fn read(topology: &Topology, allowed: &[usize]) -> Result<Host, Error> {
    let online = || topology.online();
    let caches: BTreeMap<usize, Result<Caches, Unknown>> = online()
        .map(|cpu| (cpu, Caches::of(topology, cpu)))
        .collect();
    let is_allowed = |cpu: &usize| allowed.contains(cpu);
    let own = allowed
        .iter()
        .copied()
        .filter(|cpu| caches.contains_key(cpu));
    let others = online().filter(|cpu| !is_allowed(cpu));
    let mut refused = None;
    for cpu in own.chain(others) {
        match of_cpu(topology, &caches, cpu) {
            Ok(mut host) => {
                let mut assumed = differences(allowed, &caches, &host);
                assumed.append(&mut host.assumed);
                return Ok(Host { assumed, ..host });
            }
            Err(unknown) => {
                refused.get_or_insert(unknown);
            }
        }
    }
    let Unknown { path, problem } = refused.unwrap_or_else(|| undescribed(topology.root()));
    Err(Error::Host { path, problem })
}

fn undescribed(root: &Path) -> Unknown {
    let problem = match root.is_dir() {
        true => "no CPU is described here",
        false => "this folder is missing",
    };
    Unknown {
        path: root.into(),
        problem: problem.into(),
    }
}

/// Returns the machine with the caches of this CPU.
fn of_cpu(
    topology: &Topology,
    caches: &BTreeMap<usize, Result<Caches, Unknown>>,
    cpu: usize,
) -> Result<Host, Unknown> {
    let own = caches[&cpu].clone()?;
    let is_like = |other: &usize| {
        caches[other]
            .as_ref()
            .is_ok_and(|other| other.is_like(&own))
    };
    let cpus: Vec<usize> = match &own.l3 {
        Some((_, shared_by)) => shared_by.iter().copied().filter(is_like).collect(),
        None => topology.online().filter(is_like).collect(),
    };
    let cores = topology.cores(cpus.iter().copied());
    let cores = cores.min(CORES_MAXIMUM as usize) as u32;
    let l2_cores = own.l2.shared_by.min(cores);
    let cores = cores - cores % l2_cores;
    // A description in which a first level is shared more widely than the second is wrong.
    let of_l2 = |level: Level| match l2_cores.is_multiple_of(level.shared_by) {
        true => level,
        false => Level {
            shared_by: 1,
            ..level
        },
    };
    let mut machine = Machine {
        name: "host".into(),
        cores,
        l1i: of_l2(own.l1i),
        l1d: of_l2(own.l1d),
        l2: Level {
            shared_by: l2_cores,
            ..own.l2
        },
        l3: own.l3.map(|(level, _)| level),
        memory_latency_cycles: MEMORY_LATENCY_CYCLES,
        transfer_latency_cycles: MEMORY_LATENCY_CYCLES,
        hop_cost_cycles: 24_150,
        busy_hop_cost_cycles: 24_150,
        idle_hops: Vec::new(),
        carried_hop_cost_cycles: CARRIED_HOP_CYCLES,
        core: Core::default(),
        topology: super::topology::Topology::default(),
        translation: None,
    };
    if machine.l3.is_some() {
        machine.transfer_latency_cycles = L3_LATENCY_CYCLES;
    }
    let mut assumed = own.assumed;
    assumed.extend(exclude(&mut machine));
    machine.check().map_err(|problem| Unknown {
        path: caches::folder(topology, cpu),
        problem: problem.to_string(),
    })?;
    Ok(Host {
        machine,
        cpu,
        cpus,
        assumed,
    })
}

/// Makes a level non-inclusive if it is smaller than a level above it, and returns the assumptions.
fn exclude(machine: &mut Machine) -> Vec<String> {
    let first = machine.l1i.size_bytes.max(machine.l1d.size_bytes);
    let second = first.max(machine.l2.size_bytes);
    let levels = [
        ("L2", Some(&mut machine.l2), first),
        ("L3", machine.l3.as_mut(), second),
    ];
    let assume = |(name, level, above): (&str, Option<&mut Level>, u64)| {
        let level = level.filter(|level| level.size_bytes < above)?;
        level.inclusion = Inclusion::NonInclusive;
        Some(format!(
            "the {name} is smaller than a level above it: non-inclusive is assumed"
        ))
    };
    levels.into_iter().filter_map(assume).collect()
}

/// Describes how the allowed CPUs differ from the selected one.
fn differences(
    allowed: &[usize],
    caches: &BTreeMap<usize, Result<Caches, Unknown>>,
    host: &Host,
) -> Vec<String> {
    let taken = host.cpu;
    let mut assumed = Vec::new();
    let of = |cpu: &usize| caches.get(cpu).and_then(|caches| caches.as_ref().ok());
    let unknown: Vec<usize> = allowed
        .iter()
        .copied()
        .filter(|cpu| of(cpu).is_none())
        .collect();
    if !unknown.is_empty() {
        let why = unknown
            .iter()
            .find_map(|cpu| caches.get(cpu)?.as_ref().err());
        let why = why.map_or_else(|| "not online".into(), Unknown::to_string);
        assumed.push(format!(
            "the caches of CPU {} are not described ({why}): those of CPU {taken} are assumed",
            ranges(unknown)
        ));
    }
    let mut kinds: Vec<(&Caches, Vec<usize>)> = Vec::new();
    for cpu in allowed {
        let Some(own) = of(cpu) else {
            continue;
        };
        match kinds.iter_mut().find(|(kind, _)| kind.is_like(own)) {
            Some((_, cpus)) => cpus.push(*cpu),
            None => kinds.push((own, vec![*cpu])),
        }
    }
    let told = |(kind, cpus): (&Caches, Vec<usize>)| format!("CPU {} ({kind})", ranges(cpus));
    let is_taken = |(_, cpus): &(&Caches, Vec<usize>)| cpus.contains(&taken);
    let (own, others): (Vec<_>, Vec<_>) = kinds.into_iter().partition(is_taken);
    if let Some(own) = own.into_iter().next().filter(|_| !others.is_empty()) {
        let others: Vec<String> = others.into_iter().map(told).collect();
        let cores = counted(host.machine.cores.into(), "core", "cores");
        assumed.push(format!(
            "the allowed CPUs have different caches: {cores} like {} are assumed, without {}; \
             `taskset` selects others",
            told(own),
            others.join(", ")
        ));
    }
    assumed
}
