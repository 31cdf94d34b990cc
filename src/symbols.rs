//! The functions of a binary, as the symbolizer (a Python program of its own) prints them.
//!
//! It is found beside this build, so that a checkout needs no installation, or in PATH. It keeps
//! what it has read by build id, so asking twice costs a fraction of a second.

use crate::failure::{Exit, Failure};
use serde::Deserialize;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = "corehop-symbolizer";

/// One function.
#[derive(Clone, Debug, Deserialize)]
pub struct Symbol {
    /// Virtual address of the entry in the ELF file.
    pub offset: u64,
    /// Size in bytes; 0 when unknown.
    pub size: u64,
    /// Linker symbol, or a made-up name where the file has none.
    pub symbol: String,
    /// The symbol demangled.
    pub name: String,
    /// Other linker symbols of the same entry.
    #[serde(default)]
    pub aliases: Vec<String>,
}

#[derive(Deserialize)]
struct Output {
    functions: Vec<Symbol>,
}

/// The functions of the ELF file at `path`, sorted by offset.
pub fn of(path: &Path) -> Result<Vec<Symbol>, Failure> {
    let program = find();
    // In a process group of its own, so that a Ctrl-C meant for a recording does not cut it short.
    let output = Command::new(&program).arg(path).process_group(0).output();
    let output = output.map_err(|error| {
        let message = format!("cannot run the symbolizer {}: {error}", program.display());
        Failure::new(Exit::Missing, message)
            .remedy("run `make build`, which installs it, or name it in COREHOP_SYMBOLIZER")
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim().trim_start_matches("corehop-symbolizer: ");
        let message = format!("no functions of {}: {said}", path.display());
        return Err(Failure::new(Exit::Input, message)
            .remedy("`corehop doctor` says whether the symbolizer works at all"));
    }
    let parsed: Result<Output, _> = serde_json::from_slice(&output.stdout);
    parsed.map(|output| output.functions).map_err(|error| {
        let message = format!(
            "what {} printed for {} makes no sense: {error}",
            program.display(),
            path.display()
        );
        Failure::new(Exit::Missing, message).remedy("run `make build` to install this version's")
    })
}

/// `$COREHOP_SYMBOLIZER`, or the one in the checkout's environment, or any in PATH.
fn find() -> PathBuf {
    if let Some(named) = std::env::var_os("COREHOP_SYMBOLIZER") {
        return named.into();
    }
    let beside = std::env::current_exe().ok().and_then(|executable| {
        executable
            .ancestors()
            .map(|folder| folder.join(".venv/bin").join(PROGRAM))
            .find(|candidate| candidate.is_file())
    });
    beside.unwrap_or_else(|| PROGRAM.into())
}
