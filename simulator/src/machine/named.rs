//! Finds a machine by name: a bundled machine, this machine, or a file.

use super::calibrated::{self, Calibrated};
use super::description::Machine;
use super::host;
use crate::error::Error;
use std::path::Path;

/// A bundled machine's name and the text of the file of that name.
macro_rules! bundled {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../machines/", $name, ".toml")),
        )
    };
}

/// The bundled machines: name and text of the file.
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
    /// Returns the machine called `name`: a bundled one, `host` for this machine, otherwise a
    /// machine file. For `host`, the result is the calibrated machine if a valid calibration exists
    /// ([`calibrated`]), otherwise the one the kernel describes.
    ///
    /// # Errors
    /// [`Error::UnknownMachine`] if it is none of these, otherwise the errors of
    /// [`Machine::from_toml`] or [`host::read`].
    pub fn named_or_path(name: &str) -> Result<Machine, Error> {
        if name == "host" {
            let described = host::described()?.machine;
            return Ok(match calibrated::look(&described) {
                Calibrated::Taken { machine, .. } => *machine,
                _ => described,
            });
        }
        let path = Path::new(name);
        if let Some((name, text)) = BUNDLED.iter().find(|(bundled, _)| *bundled == name) {
            return Machine::from_toml(text, &Path::new("configs/machines").join(name));
        }
        match corehop_support::whole_file::text(path) {
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

    /// Returns the names of the bundled machines.
    pub fn bundled() -> impl Iterator<Item = &'static str> {
        Machine::bundled_files().map(|(name, _)| name)
    }

    /// Returns the names of the bundled machines and the texts of their files.
    pub fn bundled_files() -> impl Iterator<Item = (&'static str, &'static str)> {
        BUNDLED.iter().copied()
    }
}
