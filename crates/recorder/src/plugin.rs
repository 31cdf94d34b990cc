//! QEMU's plugin: selects and locates the library for a QEMU.
//!
//! QEMU accepts only plugins for its own plugin API, so there are two libraries, selected by QEMU's
//! version. Release builds embed both.

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

/// The plugins embedded in a program, for both plugin APIs; empty if not embedded.
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
    /// The plugin in the environment variable does not exist.
    #[error("COREHOP_QEMU_PLUGIN: {path} is not a file")]
    Named {
        /// The file.
        path: PathBuf,
        /// What the user can do.
        remedy: &'static str,
    },
    /// There is no plugin next to the program.
    #[error("the QEMU plugin {path} does not exist")]
    Missing {
        /// The file.
        path: PathBuf,
        /// What the user can do.
        remedy: &'static str,
    },
    /// The embedded plugin could not be unpacked.
    #[error("cannot unpack the QEMU plugin: {source}")]
    Unpack {
        /// The system's error.
        source: std::io::Error,
    },
}

impl Error {
    /// Returns what the user can do.
    pub fn remedy(&self) -> &'static str {
        match self {
            Error::Named { remedy, .. } | Error::Missing { remedy, .. } => remedy,
            Error::Unpack { .. } => "free some memory, or name a plugin in COREHOP_QEMU_PLUGIN",
        }
    }
}

impl Api {
    /// Returns the plugin API of this version of QEMU: API 1 for 6 to 8, API 4 from 9.2.
    pub(crate) fn of(version: &str) -> Option<Api> {
        let mut numbers = version.split('.').map_while(|number| number.parse().ok());
        match (numbers.next()?, numbers.next().unwrap_or(0)) {
            (6..=8, _) => Some(Api::V1),
            (9, 2..) | (10.., _) => Some(Api::V4),
            _ => None,
        }
    }

    /// Returns the file name of the library.
    fn file(self) -> &'static str {
        match self {
            Api::V1 => "libcorehop_qemu_plugin.so",
            Api::V4 => "libcorehop_qemu_plugin_v4.so",
        }
    }

    /// Returns what to do if there is no library next to this program.
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

    /// Returns the path of `$COREHOP_QEMU_PLUGIN`, or of the embedded plugin, or else of the one
    /// next to this program.
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

/// Whether a program is in the build folder of a checkout, which contains the plugin's source.
fn is_in_checkout(program: &Path) -> bool {
    let mut folders = program.ancestors().skip(1);
    folders.any(|folder| folder.join("qemu-plugin/Cargo.toml").is_file())
}

/// Writes the embedded plugin to an unnamed file that exists as long as this process runs. QEMU
/// opens it by the returned path, and nothing remains on disk.
fn unpacked(carried: &[u8]) -> std::io::Result<PathBuf> {
    let mut file = File::from(memfd_create("corehop-qemu-plugin", MemfdFlags::CLOEXEC)?);
    file.write_all(carried)?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    // Keep it open until this process ends.
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
