//! A change of the machine: the keys of a machine file, of which each replaces the machine's.

use super::error::Problem;
use corehop_simulator::timing::PrefetcherName;
use corehop_simulator::{Inclusion, Level, Machine, Policy};
use serde::Deserialize;

/// Keys that replace those of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineChange {
    /// Number of cores, which threads are assigned to in order.
    pub cores: Option<u32>,
    /// The prefetcher of each L2.
    pub prefetcher: Option<PrefetcherName>,
    /// As in a machine file.
    pub memory_latency_cycles: Option<u32>,
    /// As in a machine file.
    pub transfer_latency_cycles: Option<u32>,
    /// The L1I.
    pub l1i: Option<LevelChange>,
    /// The L1D.
    pub l1d: Option<LevelChange>,
    /// The L2.
    pub l2: Option<LevelChange>,
    /// The L3.
    pub l3: Option<LevelChange>,
}

/// Keys that replace those of a level, as in a machine file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // As in a machine file.
pub struct LevelChange {
    pub size_bytes: Option<u64>,
    pub ways: Option<u32>,
    pub latency_cycles: Option<u32>,
    pub policy: Option<Policy>,
    pub shared_by: Option<u32>,
    pub inclusion: Option<Inclusion>,
}

impl LevelChange {
    fn of(self, level: &Level) -> Level {
        Level {
            size_bytes: self.size_bytes.unwrap_or(level.size_bytes),
            ways: self.ways.unwrap_or(level.ways),
            latency_cycles: self.latency_cycles.unwrap_or(level.latency_cycles),
            policy: self.policy.unwrap_or(level.policy),
            shared_by: self.shared_by.unwrap_or(level.shared_by),
            inclusion: self.inclusion.unwrap_or(level.inclusion),
        }
    }

    /// Returns a level that the machine did not have, if the change describes all of it.
    fn added(self) -> Option<Level> {
        let level = Level::new(self.size_bytes?, self.ways?, self.latency_cycles?);
        Some(self.of(&level))
    }
}

impl MachineChange {
    /// Returns the machine with the change.
    pub(super) fn of(&self, machine: &Machine) -> Result<Machine, Problem> {
        let level = |change: Option<LevelChange>, level: &Level| {
            change.map_or(*level, |change| change.of(level))
        };
        let l3 = match (self.l3, &machine.l3) {
            (None, l3) => *l3,
            (Some(change), Some(l3)) => Some(change.of(l3)),
            (Some(change), None) => Some(change.added().ok_or_else(|| Problem::NoL3 {
                machine: machine.name.clone(),
            })?),
        };
        let memory = self.memory_latency_cycles;
        let transfer = self.transfer_latency_cycles;
        let changed = Machine {
            cores: self.cores.unwrap_or(machine.cores),
            l1i: level(self.l1i, &machine.l1i),
            l1d: level(self.l1d, &machine.l1d),
            l2: level(self.l2, &machine.l2),
            l3,
            memory_latency_cycles: memory.unwrap_or(machine.memory_latency_cycles),
            transfer_latency_cycles: transfer.unwrap_or(machine.transfer_latency_cycles),
            ..machine.clone()
        };
        match changed.check() {
            Ok(()) => Ok(changed),
            Err(problem) => Err(Problem::Machine { problem }),
        }
    }
}
