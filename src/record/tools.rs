//! What recording needs of the machine: a QEMU that takes plugins, and the plugin.
//!
//! Both are checked before the server is started, because QEMU's own complaints come late and say
//! nothing of what to install. QEMU takes a plugin for its own plugin API alone, so there are two
//! libraries, and QEMU's version says which.

use crate::failure::{Exit, Failure};
use rustix::fs::{MemfdFlags, memfd_create};
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A plugin API of QEMU, and the library for it.
#[derive(Debug, PartialEq, Eq)]
struct Api {
    file: &'static str,
    /// What a release build carries; empty in others.
    carried: &'static [u8],
    remedy: &'static str,
}

static API_1: Api = Api {
    file: "libcorehop_qemu_plugin.so",
    carried: include_bytes!(env!("COREHOP_CARRIED_PLUGIN")),
    remedy: "run `cargo build --package corehop-qemu-plugin`, or name it in COREHOP_QEMU_PLUGIN",
};

static API_4: Api = Api {
    file: "libcorehop_qemu_plugin_v4.so",
    carried: include_bytes!(env!("COREHOP_CARRIED_PLUGIN_V4")),
    remedy: "use a release build (`make build`), which carries it",
};

/// A QEMU that takes plugins.
pub struct Qemu {
    /// The program, as it is to be run.
    pub path: PathBuf,
    /// What it calls its version, such as `7.2.22 (Debian ...)`.
    pub version: String,
    api: &'static Api,
}

/// QEMU and the plugin, found and checked.
pub struct Tools {
    /// The program.
    pub qemu: Qemu,
    /// The plugin library.
    pub plugin: PathBuf,
}

const REMEDY: &str = "install Debian 12's qemu-user (`apt-get install qemu-user`, version 7.2), \
                      or name another qemu-x86_64 in COREHOP_QEMU (`make qemu` builds one)";

/// Finds both. `$COREHOP_QEMU` and `$COREHOP_QEMU_PLUGIN` come first.
pub fn find() -> Result<Tools, Failure> {
    let qemu = qemu()?;
    Ok(Tools {
        plugin: qemu.plugin()?,
        qemu,
    })
}

/// Where `make qemu` puts the QEMU that it builds, whether it is there or not.
pub fn built_qemu() -> PathBuf {
    let named = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = named("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.unwrap_or_else(|| {
        let home = named("HOME").unwrap_or_default();
        Path::new(&home).join(".cache")
    });
    cache.join("corehop/qemu/qemu-x86_64")
}

impl Tools {
    /// A run of QEMU with the plugin, which finds the shared memory at `memory`; what is to run
    /// under it is missing yet. Unless `elision`, it sees each access by itself.
    pub fn command(&self, memory: &Path, elision: bool) -> Command {
        let mut plugin = escaped(&self.plugin);
        plugin.push(",memory=");
        plugin.push(escaped(memory));
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

/// A path as part of a QEMU option, where a comma is doubled.
fn escaped(path: &Path) -> OsString {
    let bytes = path.as_os_str().to_string_lossy().replace(',', ",,");
    bytes.into()
}

/// The QEMU that `$COREHOP_QEMU` names, or that on PATH.
pub fn qemu() -> Result<Qemu, Failure> {
    let named = std::env::var_os("COREHOP_QEMU");
    qemu_at(named.unwrap_or_else(|| "qemu-x86_64".into()).into())
}

/// The QEMU of this name, if it takes plugins.
pub fn qemu_at(path: PathBuf) -> Result<Qemu, Failure> {
    let version = version(&path)?;
    let shown = path.display();
    let Some(api) = api_of(&version) else {
        return Err(missing(format!(
            "{shown} is version {version}; the plugin is made for versions 6 to 8 and from 9.2 on"
        )));
    };
    if !said_by(&path, "--help")?.contains("-plugin") {
        let message = format!("{shown} (version {version}) was built without plugins");
        return Err(missing(message));
    }
    Ok(Qemu { path, version, api })
}

/// QEMU 6 to 8 have plugin API 1, and 9.2 was the first with API 4.
fn api_of(version: &str) -> Option<&'static Api> {
    let mut numbers = version.split('.').map_while(|number| number.parse().ok());
    match (numbers.next()?, numbers.next().unwrap_or(0)) {
        (6..=8, _) => Some(&API_1),
        (9, 2..) | (10.., _) => Some(&API_4),
        _ => None,
    }
}

fn missing(message: String) -> Failure {
    Failure::new(Exit::Missing, message).remedy(REMEDY)
}

fn said_by(qemu: &Path, argument: &str) -> Result<String, Failure> {
    let output = Command::new(qemu)
        .arg(argument)
        .output()
        .map_err(|error| missing(format!("cannot run {}: {error}", qemu.display())))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn version(qemu: &Path) -> Result<String, Failure> {
    let said = said_by(qemu, "--version")?;
    let first = said.lines().next().unwrap_or_default();
    let version = first.split_once("version ").map(|(_, version)| version);
    let (Some(version), true) = (version, first.contains("qemu-x86_64")) else {
        let message = format!("{} is not qemu-x86_64: it says {first:?}", qemu.display());
        return Err(missing(message));
    };
    Ok(version.to_owned())
}

impl Qemu {
    /// `$COREHOP_QEMU_PLUGIN`, or the plugin for this QEMU that this command carries, or where it
    /// carries none, the one beside it.
    pub fn plugin(&self) -> Result<PathBuf, Failure> {
        self.api.plugin()
    }
}

/// The plugin where there is no QEMU to say which: that for Debian 12's.
pub fn usual_plugin() -> Result<PathBuf, Failure> {
    API_1.plugin()
}

impl Api {
    fn plugin(&self) -> Result<PathBuf, Failure> {
        let missing =
            |message: String| Err(Failure::new(Exit::Missing, message).remedy(self.remedy));
        if let Some(named) = std::env::var_os("COREHOP_QEMU_PLUGIN") {
            let named = PathBuf::from(named);
            let shown = named.display();
            return match named.is_file() {
                true => Ok(named),
                false => missing(format!(
                    "COREHOP_QEMU_PLUGIN names {shown}, which is no file"
                )),
            };
        }
        if !self.carried.is_empty() {
            return unpacked(self.carried);
        }
        let executable = std::env::current_exe()
            .and_then(|path| path.canonicalize())
            .unwrap_or_default();
        let folder = executable.parent().unwrap_or(Path::new("."));
        let plugin = folder.join(self.file);
        match plugin.is_file() {
            true => Ok(plugin),
            false => missing(format!(
                "the QEMU plugin {} does not exist",
                plugin.display()
            )),
        }
    }
}

/// A file without a name that holds the carried plugin, as long as this process runs: QEMU opens it
/// by the path given, and nothing is left of it on any disk.
fn unpacked(carried: &[u8]) -> Result<PathBuf, Failure> {
    let unpacked = || -> std::io::Result<File> {
        let mut file = File::from(memfd_create("corehop-qemu-plugin", MemfdFlags::CLOEXEC)?);
        file.write_all(carried)?;
        Ok(file)
    };
    let file = unpacked().map_err(|error| {
        Failure::new(
            Exit::Missing,
            format!("cannot unpack the QEMU plugin: {error}"),
        )
        .remedy("free some memory, or name a plugin in COREHOP_QEMU_PLUGIN")
    })?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    // Open until this process ends.
    std::mem::forget(file);
    Ok(path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_says_which_plugin_a_qemu_takes() {
        let file = |version| api_of(version).map(|api| api.file);
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
