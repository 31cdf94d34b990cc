//! QEMU's plugin: which library a QEMU takes, and where it is.
//!
//! QEMU takes a plugin for its own plugin API alone, so there are two libraries, and QEMU's version
//! says which. Release builds carry both.

use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// A plugin API of QEMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    V1,
    V4,
}

/// The plugins that a program carries, for either plugin API; empty where it carries none.
#[derive(Clone, Copy)]
pub struct CarriedPlugins {
    /// For API 1.
    pub v1: &'static [u8],
    /// For API 4.
    pub v4: &'static [u8],
}

impl std::fmt::Debug for CarriedPlugins {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = (self.v1.len(), self.v4.len());
        write!(formatter, "CarriedPlugins{bytes:?}")
    }
}

/// Why there is no plugin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The plugin that the environment names is not there.
    #[error("COREHOP_QEMU_PLUGIN: {path} is not a file")]
    Named {
        /// The file.
        path: PathBuf,
        /// What the user can do about it.
        remedy: &'static str,
    },
    /// There is no plugin beside the program.
    #[error("the QEMU plugin {path} does not exist")]
    Missing {
        /// The file.
        path: PathBuf,
        /// What the user can do about it.
        remedy: &'static str,
    },
    /// The plugin that is carried could not be unpacked.
    #[error("cannot unpack the QEMU plugin: {source}")]
    Unpack {
        /// What the system said.
        source: std::io::Error,
    },
}

impl Error {
    /// What the user can do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Error::Named { remedy, .. } | Error::Missing { remedy, .. } => remedy,
            Error::Unpack { .. } => "free some memory, or name a plugin in COREHOP_QEMU_PLUGIN",
        }
    }
}

impl Api {
    /// That of this version of QEMU.
    pub(crate) fn of(version: &str) -> Option<Api> {
        let mut numbers = version.split('.').map_while(|number| number.parse().ok());
        match (numbers.next()?, numbers.next().unwrap_or(0)) {
            (6..=8, _) => Some(Api::V1),
            (9, 2..) | (10.., _) => Some(Api::V4),
            _ => None,
        }
    }

    /// The name of the library.
    fn file(self) -> &'static str {
        match self {
            Api::V1 => "libcorehop_qemu_plugin.so",
            Api::V4 => "libcorehop_qemu_plugin_v4.so",
        }
    }

    /// What to do where there is none beside this program.
    fn remedy(self, program: &Path) -> &'static str {
        match (self, is_in_checkout(program)) {
            (Api::V1, true) => {
                "run `cargo build --package corehop-qemu-plugin`, or name it in COREHOP_QEMU_PLUGIN"
            }
            (Api::V4, true) => "use a release build (`make build`), which carries it",
            (_, false) => {
                "install a release build, which carries it (`cargo install --locked corehop` \
                 without --debug, or the Debian package), or name it in COREHOP_QEMU_PLUGIN"
            }
        }
    }

    /// `$COREHOP_QEMU_PLUGIN`, or the plugin that is carried, or where none is, the one beside this
    /// program.
    pub(crate) fn plugin(self, carried: &CarriedPlugins) -> Result<PathBuf, Error> {
        let carried = match self {
            Api::V1 => carried.v1,
            Api::V4 => carried.v4,
        };
        let executable = std::env::current_exe()
            .and_then(|path| path.canonicalize())
            .unwrap_or_default();
        if let Some(named) = std::env::var_os("COREHOP_QEMU_PLUGIN") {
            let path = PathBuf::from(named);
            let remedy = match carried {
                [] => self.remedy(&executable),
                _ => "unset the variable: this command carries the plugin",
            };
            return match path.is_file() {
                true => Ok(path),
                false => Err(Error::Named { path, remedy }),
            };
        }
        if !carried.is_empty() {
            return unpacked(carried).map_err(|source| Error::Unpack { source });
        }
        let folder = executable.parent().unwrap_or(Path::new("."));
        let path = folder.join(self.file());
        match path.is_file() {
            true => Ok(path),
            false => Err(Error::Missing {
                path,
                remedy: self.remedy(&executable),
            }),
        }
    }
}

/// Whether a program lies where a checkout is built, which has the plugin's source.
fn is_in_checkout(program: &Path) -> bool {
    let mut folders = program.ancestors().skip(1);
    folders.any(|folder| folder.join("qemu-plugin/Cargo.toml").is_file())
}

/// A file without a name that holds the carried plugin, as long as this process runs: QEMU opens it
/// by the path given, and nothing is left of it on any disk.
fn unpacked(carried: &[u8]) -> std::io::Result<PathBuf> {
    let mut file = File::from(memfd_create("corehop-qemu-plugin", MemfdFlags::CLOEXEC)?);
    file.write_all(carried)?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    // Open until this process ends.
    std::mem::forget(file);
    Ok(path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installed_program_is_told_to_be_installed_anew() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("target/debug/corehop");
        let remedy = || Api::V1.remedy(&program);
        assert!(
            remedy().starts_with("install a release build"),
            "{}",
            remedy()
        );
        std::fs::create_dir(folder.path().join("qemu-plugin")).unwrap();
        std::fs::write(folder.path().join("qemu-plugin/Cargo.toml"), "").unwrap();
        assert!(remedy().starts_with("run `cargo build"), "{}", remedy());
    }

    #[test]
    fn the_version_says_which_plugin_a_qemu_takes() {
        let file = |version| Api::of(version).map(Api::file);
        for version in ["6.0.0", "7.2.22 (Debian 1:7.2)", "8.2.1"] {
            assert_eq!(file(version), Some("libcorehop_qemu_plugin.so"));
        }
        for version in ["9.2.0", "10.0.13 (Debian 1:10.0)", "10.2", "11.0.50"] {
            assert_eq!(file(version), Some("libcorehop_qemu_plugin_v4.so"));
        }
        for version in ["5.2.0", "9.0.2", "9.1.3", "9", "unknown"] {
            assert_eq!(file(version), None, "{version}");
        }
    }
}
