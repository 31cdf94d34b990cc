//! What recording needs of the machine: a QEMU that takes plugins, and the plugin.
//!
//! Both are checked before the server is started, because QEMU's own complaints come late and say
//! nothing of what to install. QEMU takes a plugin for its own plugin API alone, so there are two
//! libraries, and QEMU's version says which.

mod release;

use crate::plugin::{self, Api, CarriedPlugins};
use release::Release;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A QEMU that takes plugins.
#[derive(Clone, Debug)]
pub struct Qemu {
    /// The program, as it is to be run.
    pub path: PathBuf,
    /// What it calls its version, such as `7.2.22 (Debian ...)`.
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
        /// What the system said.
        source: std::io::Error,
    },
    /// The program is another one.
    #[error("{path} is not {program}: it printed {said:?}")]
    NotQemu {
        /// The program.
        path: PathBuf,
        /// What it should be.
        program: &'static str,
        /// The first line that it printed of its version.
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
    /// It takes no plugin.
    #[error("{path} (version {version}) was built without plugins")]
    WithoutPlugins {
        /// The program.
        path: PathBuf,
        /// Its version.
        version: String,
    },
    /// One of these, of the QEMU that emulates whole machines.
    #[error(transparent)]
    OfSystem(Box<Error>),
    /// There is no plugin for it.
    #[error(transparent)]
    Plugin(#[from] plugin::Error),
}

impl Error {
    /// What the user can do about it.
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

/// Finds both. `$COREHOP_QEMU` and `$COREHOP_QEMU_PLUGIN` come first.
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

/// Where `make qemu` puts the QEMU that it builds, whether it is there or not.
pub fn built_qemu() -> PathBuf {
    cache().join("qemu/qemu-x86_64")
}

/// Where what is made for this user stays.
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
    /// A run of QEMU with the plugin, which finds the shared memory at `memory`, and at `guest`
    /// what describes a whole machine; what is to run under it is missing yet. Unless `elision`, it
    /// sees each access by itself.
    pub fn command(&self, memory: &Path, elision: bool, guest: Option<&Path>) -> Command {
        let mut plugin = escaped(&self.plugin);
        plugin.push(",");
        plugin.push(memory_argument(memory));
        if let Some(guest) = guest {
            plugin.push(",system=");
            plugin.push(escaped(guest));
        }
        match elision {
            false => plugin.push(",elision=off"),
            // How the plugin sees moves of 16 and 32 bytes.
            true if self.qemu.version.starts_with("7.") => plugin.push(",elision=pieces"),
            true => {}
        }
        let mut command = Command::new(&self.qemu.path);
        command.arg("-plugin").arg(plugin);
        command
    }
}

/// The plugin's argument that names the shared memory.
pub fn memory_argument(memory: &Path) -> OsString {
    let mut argument = OsString::from("memory=");
    argument.push(escaped(memory));
    argument
}

/// A path as part of a QEMU option, where a comma is doubled.
fn escaped(path: &Path) -> OsString {
    let bytes = path.as_os_str().to_string_lossy().replace(',', ",,");
    bytes.into()
}

/// The first QEMU that takes plugins: the one that `$COREHOP_QEMU` names, or without that the one
/// on PATH, or the one that `make qemu` has built.
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

/// The same of the QEMU that emulates whole machines, which `$COREHOP_QEMU_SYSTEM` names.
pub fn system_qemu() -> Result<Qemu, Error> {
    let named = std::env::var_os("COREHOP_QEMU_SYSTEM");
    let path = named.unwrap_or_else(|| Mode::System.program().into());
    found(path.into(), Mode::System).map_err(|error| Error::OfSystem(Box::new(error)))
}

/// The QEMU of this name, if it takes plugins.
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

    /// How such a QEMU begins to say its version.
    fn introduction(self) -> &'static str {
        match self {
            Mode::User => "qemu-x86_64 version ",
            Mode::System => "QEMU emulator version ",
        }
    }
}

/// QEMU 6 to 8 have plugin API 1, and 9.2 was the first with API 4.
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
    /// `$COREHOP_QEMU_PLUGIN`, or the plugin for this QEMU that is carried, or where none is, the
    /// one beside this program.
    pub fn plugin(&self, carried: &CarriedPlugins) -> Result<PathBuf, Error> {
        Ok(self.api.plugin(carried)?)
    }
}

/// The plugin where there is no QEMU to say which: that for Debian 12's.
pub fn usual_plugin(carried: &CarriedPlugins) -> Result<PathBuf, Error> {
    Ok(Api::V1.plugin(carried)?)
}
