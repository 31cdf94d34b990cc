//! Selects the addresses by which a command reads a trace.
//!
//! Every command that replays has this option. It reports the option with all figures
//! (`corehop_partitioner::attribution::remarks`).

use crate::bundled::open_or_bundled;
use crate::failure::{Exit, Failure};
use crate::open::open;
use clap::{Args, ValueEnum};
use corehop_traces::{Index, Trace};
use std::path::Path;

/// By which addresses lines are distinguished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Indexed {
    /// Virtual addresses: each process has its own lines, except in memory known to be shared
    #[default]
    Virtual,
    /// Physical addresses, which `record --system` records: memory that is mapped twice has one set
    /// of lines
    Physical,
}

/// The options that determine it.
#[derive(Args)]
pub struct AddressingOptions {
    /// Addresses that index the caches and identify lines
    #[arg(
        long,
        value_enum,
        default_value_t,
        help_heading = "Simulation",
        hide_short_help = true
    )]
    index: Indexed,
}

impl AddressingOptions {
    /// Opens the trace.
    pub fn open(&self, path: &Path) -> Result<Trace, Failure> {
        self.of(open(path)?, &path.display().to_string())
    }

    /// Opens the trace at `path`, or the bundled sample without a path. Returns it with its display
    /// name.
    pub fn open_or_bundled(&self, path: Option<&Path>) -> Result<(Trace, String), Failure> {
        let (trace, name) = open_or_bundled(path)?;
        Ok((self.of(trace, &name)?, name))
    }

    fn of(&self, mut trace: Trace, name: &str) -> Result<Trace, Failure> {
        if self.index == Indexed::Physical {
            if trace.pages().is_empty() {
                let message = format!("{name}: the trace has no physical addresses");
                let remedy = "leave --index out, or record the server with --system";
                return Err(Failure::new(Exit::Input, message).remedy(remedy));
            }
            trace.index_by(Index::Physical);
        }
        Ok(trace)
    }
}
