//! The command line of `run`.

use clap::Parser;
use corehop_support::atomic_file::Output;
use corehop_support::topology::{list, ranges};
use std::path::PathBuf;

/// Measure this machine for corehop: caches, hops by distance, connections on 2, 4, and 8 cores,
/// and servers
///
/// Prints tables and, in the last line, one JSON object. Ctrl-C prints what was found so far, with
/// "complete": false.
#[derive(Parser)]
#[command(
    name = "run",
    after_help = "\
Example: ./run --out many-cores.json
         ./run --seconds 120 --cpus 0-7

Exit code 2 for a wrong option, 6 if the machine lacks something, 7 if the time ran out in a part,
130 if interrupted."
)]
pub struct Options {
    /// File for the JSON object, besides standard output; it must not exist
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Time for everything, in seconds; a run ends within 30 s after it
    #[arg(long, value_name = "N", default_value_t = 540,
          value_parser = clap::value_parser!(u64).range(10..=560))]
    pub seconds: u64,
    /// CPUs to use, as in 0-7,16; default: all that this process may use
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// Check in a few seconds that everything works here; the figures are useless
    #[arg(long)]
    pub brief: bool,
}

impl Options {
    /// Returns where the JSON goes besides standard output.
    pub fn output(&self) -> Result<Option<Output>, corehop_support::atomic_file::Error> {
        let output = self.out.as_ref().map(|path| Output::at(path, false));
        output.transpose()
    }

    /// Returns the CPUs to use, of those that this process may use.
    pub fn cpus(&self, allowed: &[usize]) -> Result<Vec<usize>, String> {
        let Some(text) = &self.cpus else {
            return Ok(allowed.to_vec());
        };
        let wanted = list(text).filter(|cpus| !cpus.is_empty());
        let wanted = wanted.ok_or_else(|| format!("--cpus {text}: not a list such as 0-7,16"))?;
        match wanted.iter().find(|cpu| !allowed.contains(cpu)) {
            None => Ok(wanted.into_iter().collect()),
            Some(other) => {
                let allowed = ranges(allowed.iter().copied());
                Err(format!(
                    "--cpus {text}: this process may use {allowed}, not CPU {other}"
                ))
            }
        }
    }
}
