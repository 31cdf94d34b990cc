//! `corehop-lab kernel-model`: a copy of a trace of user code, with a synthetic kernel.
//!
//! Every command treats the copy like a trace of a whole machine, and reports next to its figures
//! that the kernel is synthetic. The footprints are in this crate's library; this file has the
//! options.

use clap::{Args, ValueEnum};
use corehop::failure::{Exit, Failure};
use corehop::open;
use corehop::options::new_trace;
use corehop_lab::kernel_model::{self, soares};
use corehop_simulator::detail::Mode;
use corehop_traces::{ThreadId, Trace};
use std::path::PathBuf;

/// Copy a trace, and add synthetic kernel accesses after each system call
///
/// This is for traces that were recorded without the kernel. The model determines how many lines
/// each call accesses (research/kernel-model.md).
#[derive(Args)]
#[command(after_help = "\
Example: corehop-lab kernel-model bank.trace -o modelled.trace
         corehop replay modelled.trace --warm-up 10")]
pub struct Arguments {
    /// Trace to copy
    trace: PathBuf,
    /// Trace to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// Model that determines the accesses
    #[arg(long, value_enum, default_value_t)]
    model: Model,
}

/// The models of a kernel that was not recorded.
#[derive(Clone, Copy, Default, ValueEnum)]
enum Model {
    /// What five system calls displaced from the caches of a processor in Soares's measurements
    #[default]
    Soares,
}

/// Writes the copy.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    new_trace::check(&arguments.output, arguments.force)?;
    let trace = open::open(&arguments.trace)?;
    check(&trace, &arguments.trace.display().to_string())?;
    let model: kernel_model::Named<'_> = match arguments.model {
        Model::Soares => (soares::NAME, &soares::footprint),
    };
    let (output, stage) = (
        &*arguments.output,
        ("code blocks copied", trace.execution_count()),
    );
    new_trace::write(output, arguments.force, stage, |watched| {
        kernel_model::write(&trace, model, output, watched)
    })
}

/// Rejects a trace that has a kernel, or has nothing to model.
fn check(trace: &Trace, name: &str) -> Result<(), Failure> {
    if Mode::Kernel.is_in(trace) {
        let message = format!("{name}: the trace already has the kernel");
        return Err(Failure::new(Exit::Input, message).remedy("replay it as it is"));
    }
    let mut threads = (0..trace.threads().len()).map(ThreadId::from_index);
    if threads.all(|thread| trace.system_calls(thread).is_empty()) {
        let message = format!("{name}: it has no system calls to model");
        let remedy = "record it again; old recordings and some imports lack them";
        return Err(Failure::new(Exit::Input, message).remedy(remedy));
    }
    Ok(())
}
