//! A machine file: TOML with the size and latency of each level.
//!
//! The files in `configs/machines/` show all keys. A machine that was read has passed all checks.

use super::description::{
    CARRIED_HOP_CYCLES, IdleHop, Inclusion, LINE_SIZE_BYTES, Level, Machine, Policy,
};
use super::impossible::ImpossibleMachine;
use super::processor::Core;
use super::topology::Topology;
use super::translation::Translation;
use crate::error::Error;
use serde::Deserialize;
use std::path::Path;

/// A machine file as parsed, before defaults.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MachineFile {
    name: String,
    cores: u32,
    line_size_bytes: u64,
    memory_latency_cycles: u32,
    transfer_latency_cycles: Option<u32>,
    hop_cost_cycles: u32,
    busy_hop_cost_cycles: Option<u32>,
    #[serde(default)]
    idle_hops: Vec<IdleHop>,
    #[serde(default = "carried_hop")]
    carried_hop_cost_cycles: u32,
    #[serde(default)]
    core: CoreFile,
    #[serde(default)]
    topology: Topology,
    l1i: FirstLevelFile,
    l1d: FirstLevelFile,
    l2: SecondLevelFile,
    l3: Option<ThirdLevelFile>,
    translation: Option<Translation>,
    calibrated: Option<CalibratedFile>,
}

/// The machine that a file was measured on; files of `corehop calibrate` contain it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CalibratedFile {
    /// The kernel's name of the processor.
    pub(super) cpu_model: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FirstLevelFile {
    size_bytes: u64,
    ways: u32,
    latency_cycles: u32,
    #[serde(default)]
    policy: Policy,
    #[serde(default = "one")]
    shared_by: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SecondLevelFile {
    size_bytes: u64,
    ways: u32,
    latency_cycles: u32,
    #[serde(default)]
    policy: Policy,
    #[serde(default = "one")]
    shared_by: u32,
    #[serde(default)]
    inclusion: Inclusion,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ThirdLevelFile {
    size_bytes: u64,
    ways: u32,
    latency_cycles: u32,
    #[serde(default)]
    policy: Policy,
    #[serde(default)]
    inclusion: Inclusion,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CoreFile {
    instructions_per_cycle: Option<f64>,
    reorder_window_instructions: Option<u32>,
    store_buffer_entries: Option<u32>,
    mispredict_cycles: Option<u32>,
}

impl From<CoreFile> for Core {
    fn from(file: CoreFile) -> Core {
        let default = Core::default();
        let rate = file.instructions_per_cycle;
        Core {
            // A rate that is not a number or is out of range becomes a value that `check` rejects.
            instructions_in_1000_cycles: rate.map_or(default.instructions_in_1000_cycles, |rate| {
                (1000.0 * rate).round() as u32
            }),
            reorder_window_instructions: file
                .reorder_window_instructions
                .unwrap_or(default.reorder_window_instructions),
            store_buffer_entries: file
                .store_buffer_entries
                .unwrap_or(default.store_buffer_entries),
            mispredict_cycles: file.mispredict_cycles.unwrap_or(default.mispredict_cycles),
        }
    }
}

fn carried_hop() -> u32 {
    CARRIED_HOP_CYCLES
}

fn one() -> u32 {
    1
}

impl From<FirstLevelFile> for Level {
    fn from(file: FirstLevelFile) -> Level {
        Level {
            policy: file.policy,
            shared_by: file.shared_by,
            ..Level::new(file.size_bytes, file.ways, file.latency_cycles)
        }
    }
}

impl From<SecondLevelFile> for Level {
    fn from(file: SecondLevelFile) -> Level {
        Level {
            policy: file.policy,
            shared_by: file.shared_by,
            inclusion: file.inclusion,
            ..Level::new(file.size_bytes, file.ways, file.latency_cycles)
        }
    }
}

impl From<ThirdLevelFile> for Level {
    fn from(file: ThirdLevelFile) -> Level {
        Level {
            policy: file.policy,
            inclusion: file.inclusion,
            ..Level::new(file.size_bytes, file.ways, file.latency_cycles)
        }
    }
}

impl Machine {
    /// Reads and checks the machine in `text`; `path` is used only in errors.
    ///
    /// # Errors
    /// [`Error::MachineSyntax`] if the text is not a valid machine file, [`Error::MachineGeometry`]
    /// if [`Machine::check`] rejects the machine.
    pub fn from_toml(text: &str, path: &Path) -> Result<Machine, Error> {
        parse(text, path).map(|(machine, _)| machine)
    }
}

/// Reads and checks the machine in `text`, and returns the machine it was measured on, if recorded.
pub(super) fn parse(text: &str, path: &Path) -> Result<(Machine, Option<CalibratedFile>), Error> {
    let file: MachineFile = toml::from_str(text).map_err(|error| Error::MachineSyntax {
        path: path.into(),
        place: error.to_string(),
    })?;
    let line_size_bytes = file.line_size_bytes;
    let l3 = file.l3.map(Level::from);
    let transfer_default = l3.map_or(file.memory_latency_cycles, |l3| l3.latency_cycles);
    let machine = Machine {
        name: file.name,
        cores: file.cores,
        l1i: file.l1i.into(),
        l1d: file.l1d.into(),
        l2: file.l2.into(),
        l3,
        memory_latency_cycles: file.memory_latency_cycles,
        transfer_latency_cycles: file.transfer_latency_cycles.unwrap_or(transfer_default),
        hop_cost_cycles: file.hop_cost_cycles,
        busy_hop_cost_cycles: file.busy_hop_cost_cycles.unwrap_or(file.hop_cost_cycles),
        idle_hops: file.idle_hops,
        carried_hop_cost_cycles: file.carried_hop_cost_cycles,
        core: file.core.into(),
        topology: file.topology,
        translation: file.translation,
    };
    let checked = if line_size_bytes == LINE_SIZE_BYTES {
        machine.check()
    } else {
        Err(ImpossibleMachine::LineSize { line_size_bytes })
    };
    match checked {
        Ok(()) => Ok((machine, file.calibrated)),
        Err(problem) => Err(Error::MachineGeometry {
            path: path.into(),
            problem,
        }),
    }
}
