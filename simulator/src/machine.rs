//! The machine that is simulated: how many cores, how large their caches, how slow each level.
//!
//! Every rule the simulator relies on is checked when a machine is read, so that a cache never has
//! to. What a machine file may say is shown by `configs/machines/`; [`crate::host`] reads this one.

use crate::{Error, host};
use serde::Deserialize;
use std::path::Path;

/// Bytes in a line. corehop counts in lines of 64 bytes everywhere.
pub const LINE_SIZE_BYTES: u64 = 1 << corehop_traces::execution::LINE_SHIFT;

/// Most cores a machine may have: the L3's directory keeps its sharers in 64 bits.
pub const CORES_MAXIMUM: u32 = 64;

/// The machines that come with corehop: name, and the text of its file.
const BUNDLED: [(&str, &str); 2] = [
    (
        "xeon-e5-2620-v4",
        include_str!("../../configs/machines/xeon-e5-2620-v4.toml"),
    ),
    (
        "xeon-d-1540",
        include_str!("../../configs/machines/xeon-d-1540.toml"),
    ),
];

/// A machine with private L1I, L1D and L2 in every core, and one L3 shared by all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Name by which reports and plans call it.
    pub name: String,
    /// Number of cores, 1 to [`CORES_MAXIMUM`].
    pub cores: u32,
    /// Each core's instruction cache.
    pub l1i: Level,
    /// Each core's data cache.
    pub l1d: Level,
    /// Each core's second level, inclusive of its L1I and L1D.
    pub l2: Level,
    /// The third level, shared by all cores and inclusive of all of them.
    pub l3: Level,
    /// Cycles of an access that no cache serves.
    pub memory_latency_cycles: u32,
    /// Cycles from leaving one core to running on another.
    pub hop_cost_cycles: u32,
}

/// One level of cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Capacity.
    pub size_bytes: u64,
    /// Lines in a set.
    pub ways: u32,
    /// Cycles of an access that this level serves, from issue to data.
    pub latency_cycles: u32,
}

impl Level {
    /// Number of sets. Exact for every level of a checked machine.
    pub fn sets(&self) -> u64 {
        self.size_bytes / (u64::from(self.ways) * LINE_SIZE_BYTES)
    }
}

/// A machine as its file says it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MachineFile {
    name: String,
    cores: u32,
    line_size_bytes: u64,
    memory_latency_cycles: u32,
    hop_cost_cycles: u32,
    l1i: Level,
    l1d: Level,
    l2: Level,
    l3: Level,
}

impl Machine {
    /// The machine called `name`: a bundled one, `host` for this machine, else a machine file.
    ///
    /// # Errors
    /// [`Error::UnknownMachine`] when it is none of these, else what [`Machine::from_toml`] or
    /// [`crate::host::read`] says.
    pub fn named_or_path(name: &str) -> Result<Machine, Error> {
        if name == "host" {
            return host::read(Path::new(host::SYSFS));
        }
        let path = Path::new(name);
        if let Some((name, text)) = BUNDLED.iter().find(|(bundled, _)| *bundled == name) {
            return Machine::from_toml(text, &Path::new("configs/machines").join(name));
        }
        match std::fs::read_to_string(path) {
            Ok(text) => Machine::from_toml(&text, path),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(Error::UnknownMachine {
                    name: name.into(),
                    known: Machine::bundled().collect::<Vec<_>>().join(", "),
                })
            }
            Err(source) => Err(Error::MachineRead {
                path: path.into(),
                source,
            }),
        }
    }

    /// Names of the machines that come with corehop.
    pub fn bundled() -> impl Iterator<Item = &'static str> {
        BUNDLED.iter().map(|(name, _)| *name)
    }

    /// Reads and checks the machine in `text`; `path` only names it in errors.
    ///
    /// # Errors
    /// [`Error::MachineSyntax`] for text that is not a machine, [`Error::MachineGeometry`] for a
    /// machine that [`Machine::check`] refuses.
    pub fn from_toml(text: &str, path: &Path) -> Result<Machine, Error> {
        let file: MachineFile = toml::from_str(text).map_err(|error| Error::MachineSyntax {
            path: path.into(),
            place: error.to_string(),
        })?;
        let line_size_bytes = file.line_size_bytes;
        let machine = Machine {
            name: file.name,
            cores: file.cores,
            l1i: file.l1i,
            l1d: file.l1d,
            l2: file.l2,
            l3: file.l3,
            memory_latency_cycles: file.memory_latency_cycles,
            hop_cost_cycles: file.hop_cost_cycles,
        };
        let checked = if line_size_bytes == LINE_SIZE_BYTES {
            machine.check()
        } else {
            Err(format!(
                "line_size_bytes = {line_size_bytes}: traces are recorded and counted in lines of \
                 {LINE_SIZE_BYTES} bytes only"
            ))
        };
        match checked {
            Ok(()) => Ok(machine),
            Err(problem) => Err(Error::MachineGeometry {
                path: path.into(),
                problem,
            }),
        }
    }

    /// The rules a machine keeps beyond its types. Private levels have a power of two of sets, as
    /// all that are built have; the L3 of real servers often has not, so any number will do there.
    ///
    /// # Errors
    /// Which rule is broken, by which level, and what to do.
    pub fn check(&self) -> Result<(), String> {
        if self.cores == 0 || self.cores > CORES_MAXIMUM {
            return Err(format!(
                "cores = {}: give the machine 1 to {CORES_MAXIMUM}",
                self.cores
            ));
        }
        for (name, level) in [("l1i", self.l1i), ("l1d", self.l1d), ("l2", self.l2)] {
            check_level(name, level)?;
            if !level.sets().is_power_of_two() {
                return Err(format!(
                    "{name}: {} bytes in {} ways of {LINE_SIZE_BYTES} bytes make {} sets, which is \
                     no power of two: change size_bytes or ways",
                    level.size_bytes,
                    level.ways,
                    level.sets()
                ));
            }
        }
        check_level("l3", self.l3)?;
        for (inner, inner_size, outer, outer_size) in [
            ("l1i", self.l1i.size_bytes, "l2", self.l2.size_bytes),
            ("l1d", self.l1d.size_bytes, "l2", self.l2.size_bytes),
            ("l2", self.l2.size_bytes, "l3", self.l3.size_bytes),
        ] {
            if outer_size < inner_size {
                return Err(format!(
                    "{outer}: {outer_size} bytes are fewer than the {inner_size} of {inner}, which \
                     an inclusive {outer} must hold: make it larger"
                ));
            }
        }
        Ok(())
    }
}

fn check_level(name: &str, level: Level) -> Result<(), String> {
    let Level {
        size_bytes, ways, ..
    } = level;
    if size_bytes == 0 || ways == 0 {
        return Err(format!(
            "{name}: size_bytes = {size_bytes}, ways = {ways}: a cache has at least one line"
        ));
    }
    if !size_bytes.is_multiple_of(u64::from(ways) * LINE_SIZE_BYTES) {
        return Err(format!(
            "{name}: {size_bytes} bytes do not divide into {ways} ways of {LINE_SIZE_BYTES}-byte \
             lines: change size_bytes or ways"
        ));
    }
    if size_bytes > SIZE_BYTES_MAXIMUM {
        return Err(format!(
            "{name}: {size_bytes} bytes: more than {SIZE_BYTES_MAXIMUM} cannot be simulated"
        ));
    }
    Ok(())
}

/// Largest cache that is simulated: its tags take a quarter of its size in the host's memory.
const SIZE_BYTES_MAXIMUM: u64 = 8 << 30;
