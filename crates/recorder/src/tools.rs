//! The tools of a recording: a QEMU with plugin support, and the plugin.
//!
//! Both are checked before the server is started, because QEMU's own errors come late and do not
//! mention what to install. QEMU accepts only plugins for its own plugin API, so there are two
//! libraries, selected by QEMU's version.

mod release;

use crate::allocator::Allocator;
use crate::plugin::{self, Api, CarriedPlugins};
use release::Release;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A QEMU with plugin support.
#[derive(Clone, Debug)]
pub struct Qemu {
    /// The program's path.
    pub path: PathBuf,
    /// Its version string, e.g. `7.2.22 (Debian ...)`.
    pub version: String,
    api: Api,
}

/// QEMU and the plugin, found and checked.
#[derive(Clone, Debug)]
pub struct Tools {
    /// The program.
    pub qemu: Qemu,
    /// The plugin library.
    pub plugin: PathBuf,
}

/// Why QEMU or the plugin cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// QEMU could not be run.
    #[error("cannot run {path}: {source}")]
    Run {
        /// The program.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The program is not QEMU.
    #[error("{path} is not {program}: it printed {said:?}")]
    NotQemu {
        /// The program.
        path: PathBuf,
        /// The expected program.
        program: &'static str,
        /// The first line of its version output.
        said: String,
    },
    /// There is no plugin for this version.
    #[error("{path} is version {version}; the plugin requires version 6 to 8, or 9.2 or newer")]
    Version {
        /// The program.
        path: PathBuf,
        /// Its version.
        version: String,
    },
    /// It does not support plugins.
    #[error("{path} (version {version}) was built without plugins")]
    WithoutPlugins {
        /// The program.
        path: PathBuf,
        /// Its version.
        version: String,
    },
    /// One of these errors, for the QEMU that emulates whole machines.
    #[error(transparent)]
    OfSystem(Box<Error>),
    /// There is no plugin for it.
    #[error(transparent)]
    Plugin(#[from] plugin::Error),
}

impl Error {
    /// Returns what the user can do.
    pub fn remedy(&self) -> &'static str {
        match self {
            Error::Run { .. }
            | Error::NotQemu { .. }
            | Error::Version { .. }
            | Error::WithoutPlugins { .. } => Release::of_this_machine().remedy(),
            Error::OfSystem(_) => {
                "`apt-get install --no-install-recommends qemu-system-x86` (version 7.2 in Debian \
                 12), or name another qemu-system-x86_64 in COREHOP_QEMU_SYSTEM"
            }
            Error::Plugin(error) => error.remedy(),
        }
    }
}

/// Finds both. `$COREHOP_QEMU` and `$COREHOP_QEMU_PLUGIN` have priority.
pub fn find(carried: &CarriedPlugins) -> Result<Tools, Error> {
    let qemu = qemu()?;
    Ok(Tools {
        plugin: qemu.plugin(carried)?,
        qemu,
    })
}

/// The same with the QEMU that emulates whole machines.
pub fn find_system(carried: &CarriedPlugins) -> Result<Tools, Error> {
    let qemu = system_qemu()?;
    Ok(Tools {
        plugin: qemu.plugin(carried)?,
        qemu,
    })
}

/// Returns the path of the QEMU built by `make qemu`, which may not exist.
pub fn built_qemu() -> PathBuf {
    cache().join("qemu/qemu-x86_64")
}

/// Returns the user's cache folder.
pub fn cache() -> PathBuf {
    let named = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = named("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.unwrap_or_else(|| {
        let home = named("HOME").unwrap_or_default();
        Path::new(&home).join(".cache")
    });
    cache.join("corehop")
}

impl Tools {
    /// Returns a QEMU command with the plugin, without the program to run. The plugin finds the
    /// shared memory at `memory`, and the description of a whole machine at `guest`. Without
    /// `elision`, it reports each access. It also follows calls of these `allocators`.
    pub fn command(
        &self,
        memory: &Path,
        elision: bool,
        allocators: &[Allocator],
        guest: Option<&Path>,
    ) -> Command {
        let mut plugin = escaped(&self.plugin);
        plugin.push(",");
        plugin.push(memory_argument(memory));
        if let Some(guest) = guest {
            plugin.push(",system=");
            plugin.push(escaped(guest));
        }
        match elision {
            false => plugin.push(",elision=off"),
            // The plugin gets accesses of 16 and 32 bytes in pieces.
            true if self.qemu.version.starts_with("7.") => plugin.push(",elision=pieces"),
            true => {}
        }
        if !allocators.is_empty() {
            let named: Vec<String> = allocators.iter().map(ToString::to_string).collect();
            plugin.push(format!(",allocators={}", named.join("/")));
        }
        let mut command = Command::new(&self.qemu.path);
        command.arg("-plugin").arg(plugin);
        command
    }
}

/// Returns the plugin argument for the shared memory.
pub fn memory_argument(memory: &Path) -> OsString {
    let mut argument = OsString::from("memory=");
    argument.push(escaped(memory));
    argument
}

/// Escapes a path for a QEMU option, by doubling commas.
fn escaped(path: &Path) -> OsString {
    let bytes = path.as_os_str().to_string_lossy().replace(',', ",,");
    bytes.into()
}

/// Returns the first QEMU with plugin support: `$COREHOP_QEMU`; if unset, the one in PATH or the
/// one built by `make qemu`.
pub fn qemu() -> Result<Qemu, Error> {
    if let Some(named) = std::env::var_os("COREHOP_QEMU") {
        return qemu_at(named.into());
    }
    let built = built_qemu();
    match qemu_at("qemu-x86_64".into()) {
        Err(_) if built.is_file() => qemu_at(built),
        on_path => on_path,
    }
}

/// Returns the QEMU that emulates whole machines; `$COREHOP_QEMU_SYSTEM` overrides it.
pub fn system_qemu() -> Result<Qemu, Error> {
    let named = std::env::var_os("COREHOP_QEMU_SYSTEM");
    let path = named.unwrap_or_else(|| Mode::System.program().into());
    found(path.into(), Mode::System).map_err(|error| Error::OfSystem(Box::new(error)))
}

/// Returns the QEMU at this path, if it supports plugins.
pub fn qemu_at(path: PathBuf) -> Result<Qemu, Error> {
    found(path, Mode::User)
}

fn found(path: PathBuf, mode: Mode) -> Result<Qemu, Error> {
    let version = version(&path, mode)?;
    let Some(api) = Api::of(&version) else {
        return Err(Error::Version { path, version });
    };
    if !said_by(&path, "--help")?.contains("-plugin") {
        return Err(Error::WithoutPlugins { path, version });
    }
    Ok(Qemu { path, version, api })
}

/// What a QEMU emulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// A process.
    User,
    /// A machine.
    System,
}

impl Mode {
    fn program(self) -> &'static str {
        match self {
            Mode::User => "qemu-x86_64",
            Mode::System => "qemu-system-x86_64",
        }
    }

    /// Returns the text before the version number in its output.
    fn introduction(self) -> &'static str {
        match self {
            Mode::User => "qemu-x86_64 version ",
            Mode::System => "QEMU emulator version ",
        }
    }
}

/// Runs QEMU with one argument and returns its output.
fn said_by(qemu: &Path, argument: &str) -> Result<String, Error> {
    let output = Command::new(qemu)
        .arg(argument)
        .output()
        .map_err(|source| Error::Run {
            path: qemu.into(),
            source,
        })?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn version(qemu: &Path, mode: Mode) -> Result<String, Error> {
    let said = said_by(qemu, "--version")?;
    let first = said.lines().next().unwrap_or_default();
    let version = first.split_once(mode.introduction());
    let Some((_, version)) = version else {
        return Err(Error::NotQemu {
            path: qemu.into(),
            program: mode.program(),
            said: first.into(),
        });
    };
    Ok(version.to_owned())
}

impl Qemu {
    /// Returns the path of `$COREHOP_QEMU_PLUGIN`, or of the embedded plugin for this QEMU, or else
    /// of the one next to this program.
    pub fn plugin(&self, carried: &CarriedPlugins) -> Result<PathBuf, Error> {
        Ok(self.api.plugin(carried)?)
    }
}

/// Returns the plugin for Debian 12's QEMU, for use without a QEMU.
pub fn usual_plugin(carried: &CarriedPlugins) -> Result<PathBuf, Error> {
    Ok(Api::V1.plugin(carried)?)
}
