//! How a trace is taken: by which addresses, and with which kernel.
//!
//! Every command that replays has these options, and says what was asked for beside all figures
//! (`corehop_partitioner::attribution::remarks`). The copy with a made-up kernel in it goes to a
//! file for temporary ones, which is gone as soon as it is open, so that nobody takes it for a
//! recording.

use crate::bundled::open_or_bundled;
use crate::failure::{Exit, Failure};
use crate::open::open;
use clap::{Args, ValueEnum};
use corehop_simulator::detail::Mode;
use corehop_simulator::kernel_model::{soares, write};
use corehop_traces::{Index, ThreadId, Trace};
use std::path::Path;

/// By which addresses lines are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Indexed {
    /// Virtual ones: each process has all lines for itself but those that it is known to share
    #[default]
    Virtual,
    /// Physical ones, of a trace of a machine (`record --system`): memory of several processes, and
    /// what the kernel maps a second time, is one set of lines
    Physical,
}

/// What is known of a kernel that was not recorded.
#[derive(Clone, Copy, ValueEnum)]
enum KernelModel {
    /// Lines that five system calls took from a processor's caches (docs/reference/kernel-model.md)
    Soares,
}

/// The options.
#[derive(Args)]
pub struct Taken {
    /// By which addresses caches are indexed and lines told apart
    #[arg(long, value_enum, default_value_t)]
    index: Indexed,
    /// Have each system call of the trace reference made-up lines of a kernel, as many as this
    /// model says
    #[arg(long, value_enum, value_name = "MODEL")]
    kernel_model: Option<KernelModel>,
}

impl Taken {
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

/// The trace with a made-up kernel in it.
fn with_kernel(trace: &Trace, name: &str) -> Result<Trace, Failure> {
    if Mode::Kernel.is_in(trace) {
        let message = format!("{name}: the kernel is in it as it was");
        return Err(Failure::new(Exit::Input, message).remedy("leave --kernel-model out"));
    }
    let mut threads = (0..trace.threads().len()).map(ThreadId::from_index);
    if threads.all(|thread| trace.system_calls(thread).is_empty()) {
        let message = format!("{name}: it has no system calls to model");
        let remedy = "record it again: traces did not always tell them, and imports may not";
        return Err(Failure::new(Exit::Input, message).remedy(remedy));
    }
    let folder = tempfile::tempdir().map_err(|error| {
        let message = format!("no folder for a temporary trace: {error}");
        Failure::new(Exit::Output, message).remedy("make room, or name another in TMPDIR")
    })?;
    let copy = folder.path().join("modelled.trace");
    write(trace, (soares::NAME, &soares::footprint), &copy)?;
    Ok(Trace::open(&copy)?)
}
