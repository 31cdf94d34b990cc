//! `corehop-lab kth-calls`: corehop's search with single calls of functions among its candidates.
//!
//! The calls are in this crate's library. The options are those of `corehop partition` and of
//! `corehop candidates`, whose code runs here with more functions.

use clap::{Args, Subcommand};
use corehop::commands::{candidates, partition};
use corehop::failure::{Exit, Failure};
use corehop::terminal::progress::Bar;
use corehop_lab::kth_calls::{Error, at_calls};
use corehop_partitioner::candidates::CandidateRule;
use corehop_traces::{RequestId, Trace};

/// Search for splits that move threads at single calls of a function in each request
///
/// research/kth-calls.md describes which calls are candidates.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Candidates(Candidates),
    Partition(Partition),
}

/// List the candidates of such a search
#[derive(Args)]
struct Candidates {
    #[command(flatten)]
    asked: candidates::Arguments,
}

/// Search for the best split, and write it as a plan
#[derive(Args)]
struct Partition {
    #[command(flatten)]
    asked: partition::Arguments,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::Candidates(of) => candidates::run_with(&of.asked, Some(&numbered)),
        Command::Partition(of) => partition::run_with(&of.asked, Some(&numbered)),
    }
}

fn numbered(trace: Trace, requests: &[RequestId], rule: &CandidateRule) -> Result<Trace, Failure> {
    at_calls(trace, requests, rule, &Bar::new()).map_err(|error| match error {
        Error::Trace(error) => error.into(),
        Error::NoRequestFunction => Failure::new(Exit::Input, error)
            .of_some_trace()
            .remedy("record with --request-at naming one that can"),
    })
}
