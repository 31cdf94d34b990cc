//! The machine that a name means: one that comes with corehop, this one, or a file.

use super::calibrated::{self, Calibrated};
use super::description::Machine;
use super::host;
use crate::error::Error;
use std::path::Path;

/// A bundled machine's name, and the text of its file, which is called after it.
macro_rules! bundled {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../machines/", $name, ".toml")),
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

impl Machine {
    /// The machine called `name`: a bundled one, `host` for this machine, else a machine file.
    /// This machine is as its calibration says, where there is one that holds ([`calibrated`]),
    /// else as the kernel describes it.
    ///
    /// # Errors
    /// [`Error::UnknownMachine`] when it is none of these, else what [`Machine::from_toml`] or
    /// [`host::read`] says.
    pub fn named_or_path(name: &str) -> Result<Machine, Error> {
        if name == "host" {
            let described = host::described()?.machine;
            return Ok(match calibrated::look(&described) {
                Calibrated::Taken { machine, .. } => *machine,
                Calibrated::Missing | Calibrated::Ignored { .. } => described,
            });
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
        Machine::bundled_files().map(|(name, _)| name)
    }

    /// The machines that come with corehop: names, and the texts of their files.
    pub fn bundled_files() -> impl Iterator<Item = (&'static str, &'static str)> {
        BUNDLED.iter().copied()
    }
}
