//! The machine that is simulated: how many cores, how large their caches, how slow each level.
//!
//! Every rule the simulator relies on is checked when a machine is read, so that a cache never has
//! to. What a machine file may say is shown by `configs/machines/`; [`crate::host`] reads this one.

mod rules;

use crate::{Error, host};
use serde::Deserialize;
use std::path::Path;

/// Bytes in a line. corehop counts in lines of 64 bytes everywhere.
pub const LINE_SIZE_BYTES: u64 = 1 << corehop_traces::execution::LINE_SHIFT;

/// Cycles of a hop to a carrier that is awake, half a microsecond (docs/experiments/hops.md, `make
/// bench-hop`); [`Machine::hop_cost_cycles`] is that of one by `sched_setaffinity`.
pub const CARRIED_HOP_CYCLES: u32 = 1200;

/// Most cores a machine may have: who holds a line is kept in 64 bits.
pub const CORES_MAXIMUM: u32 = 64;

/// A bundled machine's name, and the text of its file, which is called after it.
macro_rules! bundled {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../configs/machines/", $name, ".toml")),
        )
    };
}

/// The machines that come with corehop: name, and the text of its file.
const BUNDLED: &[(&str, &str)] = &[
    bundled!("xeon-e5-2620-v4"),
    bundled!("xeon-d-1540"),
    bundled!("xeon-e5-4610v2"),
    bundled!("xeon-8480"),
    bundled!("core-i7-soares"),
    bundled!("opteron-8431"),
    bundled!("opteron-6274"),
    bundled!("opteron-6380"),
    bundled!("epyc-9004"),
    bundled!("graviton3"),
    bundled!("ppc-970fx"),
];

/// A machine of cores with an L1I, an L1D and an L2, and perhaps one L3 that all share.
///
/// Neighbouring cores may share an L1I, an L1D or an L2, see [`Level::shared_by`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Name by which reports and plans call it.
    pub name: String,
    /// Number of cores, 1 to [`CORES_MAXIMUM`].
    pub cores: u32,
    /// Instruction caches.
    pub l1i: Level,
    /// Data caches.
    pub l1d: Level,
    /// Second-level caches, inclusive or non-inclusive of the first level.
    pub l2: Level,
    /// The third level, shared by all cores; `None` on a machine without one.
    pub l3: Option<Level>,
    /// Cycles of an access that no cache serves.
    pub memory_latency_cycles: u32,
    /// Cycles of an access that caches above another L2 serve. A machine file that does not say
    /// gets the L3's latency or, without an L3, memory's.
    pub transfer_latency_cycles: u32,
    /// Cycles from leaving one core to running on another.
    pub hop_cost_cycles: u32,
}

/// One level of cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Capacity of one instance.
    pub size_bytes: u64,
    /// Lines in a set, 1 to 128.
    pub ways: u32,
    /// Cycles of an access that this level serves, from issue to data.
    pub latency_cycles: u32,
    /// What a full set gives up; least recently used where a machine file does not say.
    pub policy: Policy,
    /// How many neighbouring cores share one instance: core `c` uses instance `c / shared_by`. 1
    /// in the L3, which all cores share.
    pub shared_by: u32,
    /// What this level promises about the lines of the levels above it. First levels have none
    /// above them and keep the default.
    pub inclusion: Inclusion,
}

/// Which line of a full set makes room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// The least recently used.
    #[default]
    Lru,
    /// The one that came first, however often it was used since.
    Fifo,
    /// The one a binary tree of bits points to (tree-PLRU): each use turns the bits on its path
    /// away. Needs a power of two of ways, at most 64.
    Plru,
}

/// What a level promises about the lines in the levels above it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inclusion {
    /// It holds all of them: a line that leaves it leaves them too.
    #[default]
    Inclusive,
    /// Nothing: it is filled on a miss like them, and a line leaves it alone.
    NonInclusive,
    /// L3 only: it takes the lines that leave the L2s, and gives a line up when it serves it.
    Exclusive,
}

impl Level {
    /// A level with the defaults of a machine file: least recently used, not shared, inclusive.
    pub fn new(size_bytes: u64, ways: u32, latency_cycles: u32) -> Level {
        Level {
            size_bytes,
            ways,
            latency_cycles,
            policy: Policy::default(),
            shared_by: 1,
            inclusion: Inclusion::default(),
        }
    }

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
    transfer_latency_cycles: Option<u32>,
    hop_cost_cycles: u32,
    l1i: FirstLevelFile,
    l1d: FirstLevelFile,
    l2: SecondLevelFile,
    l3: Option<ThirdLevelFile>,
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

    /// The rules a machine keeps beyond its types. L1s and L2s have a power of two of sets, as
    /// all that are built have; the L3 of real servers often has not, so any number will do there.
    ///
    /// # Errors
    /// Which rule is broken, by which level, and what to do.
    pub fn check(&self) -> Result<(), String> {
        rules::check(self)
    }
}
