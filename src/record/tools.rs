//! What recording needs of the machine: a QEMU that takes plugins, and the plugin.
//!
//! Both are checked before the server is started, because QEMU's own complaints come late and say
//! nothing of what to install.

use crate::failure::{Exit, Failure};
use rustix::fs::{MemfdFlags, memfd_create};
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;

/// QEMU and the plugin, found and checked.
pub struct Tools {
    /// The program, as it is to be run.
    pub qemu: PathBuf,
    /// What it calls its version, such as `7.2.22 (Debian ...)`.
    pub qemu_version: String,
    /// The plugin library.
    pub plugin: PathBuf,
}

const REMEDY: &str = "install Debian 12's qemu-user (`apt-get install qemu-user`, version 7.2), \
                      or name a qemu-x86_64 of version 6 to 8 in COREHOP_QEMU";

/// Finds both. `$COREHOP_QEMU` and `$COREHOP_QEMU_PLUGIN` come first.
pub fn find() -> Result<Tools, Failure> {
    let (qemu, qemu_version) = qemu()?;
    Ok(Tools {
        plugin: plugin()?,
        qemu,
        qemu_version,
    })
}

impl Tools {
    /// A run of QEMU with the plugin, which finds the shared memory at `memory`; what is to run
    /// under it is missing yet.
    pub fn command(&self, memory: &Path) -> Command {
        let mut plugin = escaped(&self.plugin);
        plugin.push(",memory=");
        plugin.push(escaped(memory));
        let mut command = Command::new(&self.qemu);
        command.arg("-plugin").arg(plugin);
        command
    }
}

/// A path as part of a QEMU option, where a comma is doubled.
fn escaped(path: &Path) -> OsString {
    let bytes = path.as_os_str().to_string_lossy().replace(',', ",,");
    bytes.into()
}

/// A QEMU that takes plugins, and its version.
pub fn qemu() -> Result<(PathBuf, String), Failure> {
    let qemu: PathBuf = std::env::var_os("COREHOP_QEMU")
        .unwrap_or_else(|| "qemu-x86_64".into())
        .into();
    let qemu_version = version(&qemu)?;
    if !said_by(&qemu, "--help")?.contains("-plugin") {
        let message = format!(
            "{} (version {qemu_version}) was built without plugins",
            qemu.display()
        );
        return Err(missing(message));
    }
    Ok((qemu, qemu_version))
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
    let major = version.split('.').next().and_then(|text| text.parse().ok());
    match major {
        Some(6..=8) => Ok(version.to_owned()),
        _ => Err(missing(format!(
            "{} is version {version}; the plugin needs plugin API 1, which versions 6 to 8 have",
            qemu.display()
        ))),
    }
}

/// The plugin that a release build carries; empty in others.
const CARRIED: &[u8] = include_bytes!(env!("COREHOP_CARRIED_PLUGIN"));

/// `$COREHOP_QEMU_PLUGIN`, or the plugin that this command carries, or where it carries none, the
/// one beside it.
pub fn plugin() -> Result<PathBuf, Failure> {
    const FILE: &str = "libcorehop_qemu_plugin.so";
    let remedy = "run `cargo build --package corehop-qemu-plugin`, or name it in \
                  COREHOP_QEMU_PLUGIN";
    let missing = |message: String| Err(Failure::new(Exit::Missing, message).remedy(remedy));
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
    if !CARRIED.is_empty() {
        return unpacked(CARRIED);
    }
    let executable = std::env::current_exe()
        .and_then(|path| path.canonicalize())
        .unwrap_or_default();
    let folder = executable.parent().unwrap_or(Path::new("."));
    let plugin = folder.join(FILE);
    match plugin.is_file() {
        true => Ok(plugin),
        false => missing(format!(
            "the QEMU plugin {} does not exist",
            plugin.display()
        )),
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
