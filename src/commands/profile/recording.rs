//! `corehop profile TRACE --request-at WHERE -- SERVER`: records the server first.
//!
//! The trace remains, so that other profiles of it need no further recording. The server's output
//! is shown only if it fails: standard output has the profile. `corehop record` has more options.

use crate::failure::{Exit, Failure};
use crate::options::words::word;
use crate::recording::{self, CARRIED};
use clap::Args;
use corehop_recorder::{Allocator, Options};
use corehop_support::atomic_file::private_folder;
use corehop_support::quantity::size::{Size, mebibytes};
use std::path::Path;

const HEADING: &str = "Recording of a server";

/// The server to record, and how.
#[derive(Args)]
pub struct RecordingArguments {
    /// Where a request begins, as for `corehop record`: a function, `magic`, or `syscalls`
    #[arg(long, value_name = "WHERE", requires = "command", help_heading = HEADING)]
    request_at: Option<String>,
    /// Number of requests to record; default: all until the server ends
    #[arg(long, value_name = "N", requires = "command", help_heading = HEADING,
          value_parser = clap::value_parser!(u64).range(1..))]
    record: Option<u64>,
    /// Function that returns memory, as for `corehop record`; can be repeated
    #[arg(long = "allocator", value_name = "FUNCTION[:ARGUMENT]", requires = "command",
          help_heading = HEADING, hide_short_help = true)]
    allocators: Vec<Allocator>,
    /// Limit of the resident memory of server and recorder together, as for `corehop record`
    #[arg(long, value_name = "SIZE", default_value = "4096", value_parser = mebibytes,
          help_heading = HEADING, hide_short_help = true)]
    memory_limit: Size,
    /// Server to record first, and its arguments
    #[arg(last = true, requires_all = ["trace", "request_at"], conflicts_with = "interactive",
          value_name = "COMMAND", value_parser = word())]
    command: Vec<String>,
}

impl RecordingArguments {
    /// Records the server, if there is one, to this new trace. Returns what remains if the profile
    /// is interrupted.
    pub fn record(&self, trace: Option<&Path>) -> Result<Option<String>, Failure> {
        let (Some(trace), Some(request_at)) = (trace, &self.request_at) else {
            return Ok(None);
        };
        if trace.exists() {
            let message = format!("{} exists already", trace.display());
            return Err(Failure::new(Exit::Output, message)
                .remedy("profile it without a command, or name another trace"));
        }
        let scratch = private_folder().map_err(|error| Failure::no_temporary_folder(&error))?;
        recording::run(Options {
            allocators: self.allocators.clone(),
            log: Some(scratch.path().join("log")),
            ..Options::of_first(
                self.record,
                (trace.into(), request_at.clone()),
                self.command.clone(),
                self.memory_limit,
                CARRIED,
            )
        })?;
        Ok(Some(format!("the recording is {}", trace.display())))
    }
}
