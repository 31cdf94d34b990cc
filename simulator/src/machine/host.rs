//! The machine this runs on, as the kernel describes it under `/sys/devices/system/cpu`.
//!
//! The kernel knows sizes, ways and sharing but no latencies, so those are the ones of
//! `configs/machines/xeon-e5-2620-v4.toml`: good for comparing splits, not for predicting seconds.
//! `corehop calibrate` measures them (calibrated.rs).

use super::description::{CARRIED_HOP_CYCLES, CORES_MAXIMUM, LINE_SIZE_BYTES, Level, Machine};
use super::processor::Core;
use super::topology::Topology;
use crate::error::Error;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Where Linux describes CPUs and their caches.
pub const SYSFS: &str = "/sys/devices/system/cpu";

/// Where Linux describes processors.
pub const CPUINFO: &str = "/proc/cpuinfo";

/// This machine: its caches as [`read`] has them, and the core that its processor has.
///
/// # Errors
/// Those of [`read`].
pub fn described(root: &Path) -> Result<Machine, Error> {
    let machine = read(root)?;
    let processor = std::fs::read_to_string(CPUINFO).unwrap_or_default();
    let core = Core::of_processor(&processor).unwrap_or_default();
    Ok(Machine { core, ..machine })
}

/// Reads the caches of CPU 0 below `root`, normally [`SYSFS`]. Cores are the CPUs that share CPU
/// 0's L3, hyper-threads counted once, at most [`CORES_MAXIMUM`].
///
/// # Errors
/// [`Error::Host`] when the kernel does not describe a level (as in some containers and virtual
/// machines), or describes one that [`Machine::check`] refuses.
///
/// Of what cores are beside their caches it knows nothing: the machine has [`Core::default`].
pub fn read(root: &Path) -> Result<Machine, Error> {
    let caches = root.join("cpu0/cache");
    let l1i = level(&caches, 1, "Instruction", 4)?;
    let l1d = level(&caches, 1, "Data", 4)?;
    let l2 = level(&caches, 2, "Unified", 12)?;
    let l3 = level(&caches, 3, "Unified", 45)?;
    let machine = Machine {
        name: "host".into(),
        cores: cores(root, &l2.0, &l3.0)?,
        l1i: l1i.1,
        l1d: l1d.1,
        l2: l2.1,
        l3: Some(l3.1),
        memory_latency_cycles: 200,
        transfer_latency_cycles: 45,
        hop_cost_cycles: 24_150,
        busy_hop_cost_cycles: 24_150,
        carried_hop_cost_cycles: CARRIED_HOP_CYCLES,
        core: Core::default(),
        topology: Topology::default(),
    };
    machine
        .check()
        .map_err(|problem| odd(&caches, &problem.to_string()))?;
    Ok(machine)
}

fn odd(path: &Path, problem: &str) -> Error {
    Error::Host {
        path: path.into(),
        problem: problem.into(),
    }
}

fn text(path: &Path) -> Result<String, Error> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text.trim().into()),
        Err(error) => Err(odd(path, &error.to_string())),
    }
}

fn number(path: &Path) -> Result<u64, Error> {
    let text = text(path)?;
    text.parse()
        .map_err(|_| odd(path, &format!("'{text}' is not a number")))
}

/// Finds the cache of that level and type: its folder, and what it is.
fn level(
    caches: &Path,
    wanted_level: u64,
    wanted_type: &str,
    latency_cycles: u32,
) -> Result<(PathBuf, Level), Error> {
    for index in 0.. {
        let folder = caches.join(format!("index{index}"));
        if !folder.exists() {
            break;
        }
        if number(&folder.join("level"))? != wanted_level
            || text(&folder.join("type"))? != wanted_type
        {
            continue;
        }
        let line_size_bytes = number(&folder.join("coherency_line_size"))?;
        if line_size_bytes != LINE_SIZE_BYTES {
            let problem = format!(
                "lines of {line_size_bytes} bytes, but corehop counts in lines of {LINE_SIZE_BYTES}"
            );
            return Err(odd(&folder, &problem));
        }
        let ways = number(&folder.join("ways_of_associativity"))?;
        let ways = u32::try_from(ways).map_err(|_| odd(&folder, "too many ways"))?;
        let level = Level::new(size_bytes(&folder.join("size"))?, ways, latency_cycles);
        return Ok((folder, level));
    }
    let problem = format!("no level {wanted_level} cache of type {wanted_type} is described");
    Err(odd(caches, &problem))
}

/// A size as the kernel writes it, `48K`.
fn size_bytes(path: &Path) -> Result<u64, Error> {
    let text = text(path)?;
    text.strip_suffix('K')
        .and_then(|kibibytes| kibibytes.parse::<u64>().ok())
        .and_then(|kibibytes| kibibytes.checked_mul(1024))
        .ok_or_else(|| odd(path, &format!("'{text}' is not a size such as 48K")))
}

/// Counts the L2 caches below the L3 of CPU 0: CPUs that share an L2 are one core of the model.
fn cores(root: &Path, l2: &Path, l3: &Path) -> Result<u32, Error> {
    let index = l2.file_name().unwrap_or_default();
    let mut groups = BTreeSet::new();
    for cpu in cpu_list(&l3.join("shared_cpu_list"))? {
        let siblings = root
            .join(format!("cpu{cpu}/cache"))
            .join(index)
            .join("shared_cpu_list");
        groups.insert(text(&siblings)?);
    }
    Ok((groups.len() as u32).min(CORES_MAXIMUM))
}

/// CPUs as the kernel lists them, `0-3,8`.
fn cpu_list(path: &Path) -> Result<Vec<u32>, Error> {
    let text = text(path)?;
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.parse::<u16>(), last.parse::<u16>()) {
            (Ok(first), Ok(last)) => cpus.extend(u32::from(first)..=u32::from(last)),
            _ => return Err(odd(path, &format!("'{text}' is not a list such as 0-3,8"))),
        }
    }
    Ok(cpus)
}
