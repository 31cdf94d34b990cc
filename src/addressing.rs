//! How a command reads a trace: by which addresses, and with which kernel.
//!
//! Every command that replays has these options, and reports them with all figures
//! (`corehop_partitioner::attribution::remarks`). The copy with a synthetic kernel goes to a
//! temporary file, which is removed as soon as it is open. So nobody mistakes it for a recording.

use crate::bundled::open_or_bundled;
use crate::failure::{Exit, Failure};
use crate::open::open;
use clap::{Args, ValueEnum};
use corehop_simulator::detail::Mode;
use corehop_simulator::kernel_model::{soares, write};
use corehop_traces::{Index, ThreadId, Trace};
use std::path::Path;

/// By which addresses lines are distinguished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Indexed {
    /// Virtual addresses: each process has its own lines, except those that it is known to share
    #[default]
    Virtual,
    /// Physical addresses, which `record --system` records: memory that processes share, or that
    /// the kernel maps twice, is one set of lines
    Physical,
}

/// The models of a kernel that was not recorded.
#[derive(Clone, Copy, ValueEnum)]
enum KernelModel {
    /// What five system calls displaced from the caches of a processor in Soares's measurements
    Soares,
}

/// The options that determine it.
#[derive(Args)]
pub struct AddressingOptions {
    /// Addresses by which caches are indexed and lines are distinguished
    #[arg(
        long,
        value_enum,
        default_value_t,
        help_heading = "Simulation",
        hide_short_help = true
    )]
    index: Indexed,
    /// Add synthetic kernel accesses after each system call of the trace
    ///
    /// This is for traces that were recorded without the kernel. The model determines how many
    /// lines each call accesses (docs/reference/kernel-model.md). Default: none are added.
    #[arg(
        long,
        value_enum,
        value_name = "MODEL",
        help_heading = "Simulation",
        hide_short_help = true
    )]
    kernel_model: Option<KernelModel>,
}

impl AddressingOptions {
    /// Opens the trace.
    pub fn open(&self, path: &Path) -> Result<Trace, Failure> {
        self.of(open(path)?, &path.display().to_string())
    }

    /// Opens the trace at `path`, or the bundled sample where none is named; and what to call it.
    pub fn open_or_bundled(&self, path: Option<&Path>) -> Result<(Trace, String), Failure> {
        let (trace, name) = open_or_bundled(path)?;
        Ok((self.of(trace, &name)?, name))
    }

    fn of(&self, trace: Trace, name: &str) -> Result<Trace, Failure> {
        let mut trace = match self.kernel_model {
            Some(KernelModel::Soares) => with_kernel(&trace, name)?,
            None => trace,
        };
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

/// The trace with a synthetic kernel in it.
fn with_kernel(trace: &Trace, name: &str) -> Result<Trace, Failure> {
    if Mode::Kernel.is_in(trace) {
        let message = format!("{name}: the trace already has the kernel");
        return Err(Failure::new(Exit::Input, message).remedy("leave --kernel-model out"));
    }
    let mut threads = (0..trace.threads().len()).map(ThreadId::from_index);
    if threads.all(|thread| trace.system_calls(thread).is_empty()) {
        let message = format!("{name}: it has no system calls to model");
        let remedy = "record it again; old recordings and some imports lack them";
        return Err(Failure::new(Exit::Input, message).remedy(remedy));
    }
    let folder = tempfile::tempdir().map_err(|error| {
        let message = format!("cannot create a folder for a temporary trace: {error}");
        Failure::new(Exit::Output, message).remedy("make room, or name another folder in TMPDIR")
    })?;
    let copy = folder.path().join("modelled.trace");
    write(trace, (soares::NAME, &soares::footprint), &copy)?;
    Ok(Trace::open(&copy)?)
}
