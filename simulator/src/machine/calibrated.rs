//! The machine file that `corehop calibrate` stores for this machine, and its validation.
//!
//! The file is in the user's configuration folder, or at the path in `COREHOP_HOST`. Its processor
//! model, cores, and cache sizes and ways must match what the kernel reports now: machines may
//! share a home folder, and a virtual machine may move to another processor. A file that does not
//! match is ignored and is never an error, because `host` means this machine with or without it.
//! The user interface reports which of the two was used.

use super::description::{Level, Machine};
use super::file::{CalibratedFile, parse};
use crate::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The environment variable with the path of the file; an empty value means no file.
pub const VARIABLE: &str = "COREHOP_HOST";

/// The file in which the kernel describes processors.
const CPUINFO: &str = "/proc/cpuinfo";

/// The result of the search for a calibration of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Calibrated {
    /// `COREHOP_HOST` is empty: the machine is the one that the kernel describes, and nothing of it
    /// is to be measured.
    Refused,
    /// There is no calibration file.
    Missing,
    /// The file matches this machine.
    Taken {
        /// The file.
        path: PathBuf,
        /// The machine it describes.
        machine: Box<Machine>,
    },
    /// The file cannot be used.
    Ignored {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
}

/// Returns the path of this user's calibration file; `None` if the environment defines no folder,
/// or `COREHOP_HOST` is empty.
pub fn place() -> Option<PathBuf> {
    place_by(&|name| std::env::var_os(name))
}

/// The same, with `variable` as the environment.
fn place_by(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(named) = variable(VARIABLE) {
        return (!named.is_empty()).then(|| named.into());
    }
    let folder = |name: &str| {
        let folder = PathBuf::from(variable(name)?);
        folder.is_absolute().then_some(folder)
    };
    let configuration = folder("XDG_CONFIG_HOME");
    let configuration = configuration.or_else(|| Some(folder("HOME")?.join(".config")));
    Some(configuration?.join("corehop/host.toml"))
}

/// Returns the kernel's name of this machine's first processor, or `unknown`.
pub fn cpu_model() -> String {
    let told = std::fs::read_to_string(CPUINFO).unwrap_or_default();
    model_in(&told).unwrap_or("unknown").to_owned()
}

fn model_in(cpuinfo: &str) -> Option<&str> {
    let mut lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let (_, model) = lines.find(|(key, _)| key.trim() == "model name")?;
    Some(model.trim())
}

/// Searches for a calibration of the machine `described` by the kernel.
pub fn look(described: &Machine) -> Calibrated {
    match place() {
        None if std::env::var_os(VARIABLE).is_some() => Calibrated::Refused,
        None => Calibrated::Missing,
        Some(path) => look_at(path, described, &cpu_model()),
    }
}

/// Reads the calibration in this file, on a machine with processor `cpu_model`.
fn look_at(path: PathBuf, described: &Machine, cpu_model: &str) -> Calibrated {
    let text = match corehop_support::whole_file::text(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Calibrated::Missing,
        Err(error) => {
            let why = format!("cannot be read: {error}");
            return Calibrated::Ignored { path, why };
        }
    };
    match read(&text, &path, described, cpu_model) {
        Ok(machine) => Calibrated::Taken {
            path,
            machine: Box::new(machine),
        },
        Err(differs) => {
            let why = differs.to_string();
            Calibrated::Ignored { path, why }
        }
    }
}

/// Why a file does not match this machine.
#[derive(Debug, thiserror::Error)]
enum Differs {
    #[error(transparent)]
    File(#[from] Error),
    #[error("no table [calibrated]: it may describe another machine")]
    Unmarked,
    #[error("calibrated for '{kept}', running on '{now}'")]
    Processor { kept: String, now: String },
    #[error("calibrated for {kept} cores, running on {now}")]
    Cores { kept: u32, now: u32 },
    #[error("calibrated for an {level} of {kept}, running on {now}")]
    Level {
        level: &'static str,
        kept: String,
        now: String,
    },
}

/// Returns the machine in the file, or the reason why it does not match this machine.
fn read(text: &str, path: &Path, described: &Machine, cpu_model: &str) -> Result<Machine, Differs> {
    let (machine, calibrated) = parse(text, path)?;
    let Some(CalibratedFile { cpu_model: kept }) = calibrated else {
        return Err(Differs::Unmarked);
    };
    if kept != cpu_model {
        let now = cpu_model.to_owned();
        return Err(Differs::Processor { kept, now });
    }
    if machine.cores != described.cores {
        let (kept, now) = (machine.cores, described.cores);
        return Err(Differs::Cores { kept, now });
    }
    let levels = [
        ("l1i", Some(machine.l1i), Some(described.l1i)),
        ("l1d", Some(machine.l1d), Some(described.l1d)),
        ("l2", Some(machine.l2), Some(described.l2)),
        ("l3", machine.l3, described.l3),
    ];
    for (level, kept, now) in levels {
        let (kept, now) = (geometry(kept), geometry(now));
        if kept != now {
            return Err(Differs::Level { level, kept, now });
        }
    }
    Ok(machine)
}

/// Formats a level's size and ways.
fn geometry(level: Option<Level>) -> String {
    match level {
        None => "no bytes".into(),
        Some(level) => format!("{} bytes in {} ways", level.size_bytes, level.ways),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: &str = "\
name = \"host\"
cores = 2
line_size_bytes = 64
memory_latency_cycles = 300
hop_cost_cycles = 90000
l1i = { size_bytes = 1024, ways = 2, latency_cycles = 2 }
l1d = { size_bytes = 1024, ways = 2, latency_cycles = 5 }
l2 = { size_bytes = 4096, ways = 4, latency_cycles = 15 }
l3 = { size_bytes = 12288, ways = 4, latency_cycles = 70 }
calibrated = { cpu_model = \"Processor 5\" }
";

    /// Returns the result for a file with this text, on the machine that `KEPT` describes.
    fn seen(text: &str) -> Calibrated {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("host.toml");
        std::fs::write(&path, text).unwrap();
        let mut described = Machine::from_toml(KEPT, &path).unwrap();
        described.memory_latency_cycles = 200;
        described.l2.latency_cycles = 12;
        look_at(path, &described, "Processor 5")
    }

    #[test]
    fn a_file_of_this_machine_is_taken_with_its_latencies() {
        let Calibrated::Taken { machine, .. } = seen(KEPT) else {
            panic!("{:?}", seen(KEPT));
        };
        assert_eq!(machine.memory_latency_cycles, 300);
        assert_eq!(machine.l2.latency_cycles, 15);
    }

    #[test]
    fn a_file_of_another_machine_is_ignored_and_the_difference_named() {
        for (from, to, expected) in [
            (
                "Processor 5",
                "Processor 6",
                "calibrated for 'Processor 6', running on 'Processor 5'",
            ),
            (
                "cores = 2",
                "cores = 4",
                "calibrated for 4 cores, running on 2",
            ),
            (
                "4096, ways = 4",
                "8192, ways = 8",
                "calibrated for an l2 of 8192 bytes in 8 ways, running on 4096 bytes in 4 ways",
            ),
            (
                "l3 = {",
                "# {",
                "calibrated for an l3 of no bytes, running on 12288 bytes in 4 ways",
            ),
            (
                "calibrated =",
                "# ",
                "no table [calibrated]: it may describe another machine",
            ),
        ] {
            let changed = KEPT.replace(from, to);
            assert_ne!(changed, KEPT);
            match seen(&changed) {
                Calibrated::Ignored { why, .. } => assert_eq!(why, expected),
                other => panic!("{to}: {other:?}"),
            }
        }
        let Calibrated::Ignored { why, .. } = seen("cores = ") else {
            panic!("{:?}", seen("cores = "));
        };
        assert!(why.contains("not a valid machine"), "{why}");
        let nowhere = look_at("/nowhere/host.toml".into(), &described(), "");
        assert_eq!(nowhere, Calibrated::Missing);
    }

    fn described() -> Machine {
        Machine::from_toml(KEPT, Path::new("host.toml")).unwrap()
    }

    #[test]
    fn the_place_follows_from_the_environment() {
        let place = |variables: &[(&str, &str)]| {
            let value = |name: &str| variables.iter().find(|(of, _)| *of == name);
            place_by(&|name| value(name).map(|(_, value)| OsString::from(value)))
        };
        let some = |path: &str| Some(PathBuf::from(path));
        let home = ("HOME", "/home/a");
        assert_eq!(place(&[home]), some("/home/a/.config/corehop/host.toml"));
        let configuration = ("XDG_CONFIG_HOME", "/c");
        assert_eq!(place(&[home, configuration]), some("/c/corehop/host.toml"));
        let relative = ("XDG_CONFIG_HOME", "c");
        assert_eq!(place(&[relative]), None);
        assert_eq!(
            place(&[configuration, (VARIABLE, "h.toml")]),
            some("h.toml")
        );
        assert_eq!(place(&[configuration, (VARIABLE, "")]), None);
    }

    #[test]
    fn the_model_is_that_of_the_first_processor() {
        let told = "processor\t: 0\nmodel\t\t: 17\nmodel name\t: A: B\nmodel name\t: C\n";
        assert_eq!(model_in(told), Some("A: B"));
        assert_eq!(model_in(""), None);
    }
}
