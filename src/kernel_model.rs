//! `--kernel-model`: a trace of user code with a made-up kernel behind its system calls.
//!
//! The copy with the kernel in it goes to a file for temporary ones, which is gone as soon as it is
//! open, so that nobody takes it for a recording.

use crate::failure::{Exit, Failure};
use crate::open::{Indexed, open_by};
use clap::{Args, ValueEnum};
use corehop_simulator::detail::Mode;
use corehop_simulator::kernel_model::{soares, write};
use corehop_traces::{ThreadId, Trace};
use std::path::Path;

/// What is known of a kernel that was not recorded.
#[derive(Clone, Copy, ValueEnum)]
enum KernelModel {
    /// Lines that five system calls took from a processor's caches (docs/reference/kernel-model.md)
    Soares,
}

/// The option that asks for one.
#[derive(Args)]
pub struct KernelArguments {
    /// Have each system call of the trace reference made-up lines of a kernel, as many as this
    /// model says
    #[arg(long, value_enum, value_name = "MODEL", conflicts_with = "timed")]
    kernel_model: Option<KernelModel>,
}

impl KernelArguments {
    /// Opens the trace, with the kernel in it that was asked for.
    pub fn open(&self, path: &Path, indexed: Indexed) -> Result<Trace, Failure> {
        let trace = open_by(path, indexed)?;
        if self.kernel_model.is_none() {
            return Ok(trace);
        }
        let mut blocks = trace.code_blocks().iter();
        if blocks.any(|block| Mode::of(block.start) == Mode::Kernel) {
            let message = format!("{}: the kernel is in it as it was", path.display());
            return Err(Failure::new(Exit::Input, message).remedy("leave --kernel-model out"));
        }
        let mut threads = (0..trace.threads().len()).map(ThreadId::from_index);
        if threads.all(|thread| trace.system_calls(thread).is_empty()) {
            let message = format!("{}: it tells no system calls to model", path.display());
            let remedy = "record it again: traces did not always tell them, and imports may not";
            return Err(Failure::new(Exit::Input, message).remedy(remedy));
        }
        let folder = tempfile::tempdir().map_err(|error| {
            let message = format!("no folder for a temporary trace: {error}");
            Failure::new(Exit::Output, message).remedy("make room, or name another in TMPDIR")
        })?;
        let copy = folder.path().join("modelled.trace");
        write(&trace, (soares::NAME, &soares::footprint), &copy)?;
        Ok(Trace::open(&copy)?)
    }

    /// The model's name.
    pub fn name(&self) -> Option<&'static str> {
        self.kernel_model.map(|KernelModel::Soares| soares::NAME)
    }
}
