//! `corehop sample`: writes a bundled sample to a file, for subcommands that need a trace file.

use crate::bundled::Sample;
use crate::failure::Failure;
use clap::Args;
use corehop_support::atomic_file::{Output, PRIVATE};
use std::path::PathBuf;

/// Write a bundled sample trace to a file
#[derive(Args)]
#[command(after_help = "\
Example: corehop sample mariadb-tpcc-4 -o four.trace
Then:    corehop info four.trace")]
pub struct Arguments {
    /// Sample to write
    #[arg(value_enum)]
    name: Sample,
    /// File to write; `-` for standard output
    #[arg(short, long, value_name = "TRACE")]
    output: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = Output::at(&arguments.output, arguments.force)?;
    Ok(output.write(arguments.name.bytes(), PRIVATE)?)
}
