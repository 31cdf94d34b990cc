//! `corehop sample`: writes a bundled sample to a file, for subcommands that want a trace's name.

use crate::bundled::Sample;
use crate::failure::Failure;
use clap::Args;
use corehop_support::atomic_file::{Output, PRIVATE};
use std::path::PathBuf;

/// Write a trace that corehop carries
#[derive(Args)]
#[command(after_help = "\
Example: corehop sample mariadb-tpcc-4 -o four.trace
Then:    corehop info four.trace")]
pub struct Arguments {
    /// Which one
    #[arg(value_enum)]
    name: Sample,
    /// Where to write it; `-` for standard output
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
