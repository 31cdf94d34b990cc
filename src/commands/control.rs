//! `corehop control`: starts, stops, marks, or queries a running recording from another terminal.
//!
//! The recorder listens on a socket next to the trace that it writes. Its side is `control.rs` of
//! `corehop-recorder`, which documents what each order does.

use crate::failure::{Exit, Failure};
use crate::recording::reading;
use crate::terminal::console;
use crate::terminal::line::{Lines, line};
use clap::{Args, Subcommand};
use corehop_recorder::control::{Order, ask};
use std::path::PathBuf;

/// Start, stop, mark, or query a running recording
///
/// TRACE is the value of `corehop record -o`. While a recording is stopped, it still counts
/// requests. `corehop record --paused` starts a recording that is stopped. To end a recording,
/// press Ctrl-C in its own terminal.
///
/// It does not control hops. To stop the hops of a running server, write `off` into its
/// COREHOP_CONTROL file (docs/guide/deployment.md).
#[derive(Args)]
#[command(after_help = "\
Example: corehop control mark bank.trace \"the load doubles\"")]
pub struct Arguments {
    #[command(subcommand)]
    order: Orders,
}

#[derive(Subcommand)]
enum Orders {
    /// Resume recording with the next request
    Start(Target),
    /// Stop recording requests until the next start
    ///
    /// A request that is being recorded is recorded to its end.
    Stop(Target),
    /// Store a note in the trace, which `corehop info` prints
    Mark {
        #[command(flatten)]
        target: Target,
        /// Text of the note, at most 1000 bytes
        text: String,
    },
    /// Print the progress of the recording
    Status(Target),
}

#[derive(Args)]
struct Target {
    /// Trace that is being recorded
    trace: PathBuf,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (target, order) = match &arguments.order {
        Orders::Start(target) => (target, Order::Start),
        Orders::Stop(target) => (target, Order::Stop),
        Orders::Mark { target, text } => (target, Order::Mark(text.replace(char::is_control, " "))),
        Orders::Status(target) => (target, Order::Status),
    };
    if matches!(&order, Order::Mark(text) if text.len() > 1000) {
        let message = "a note has at most 1000 bytes";
        return Err(Failure::new(Exit::Usage, message).remedy("shorten the note"));
    }
    let reading = ask(&target.trace, &order)?;
    let mut lines = Lines::new();
    match target.json {
        true => lines = Lines::of_json(&serde_json::json!(reading)),
        false => line!(lines, "{}", reading::line(&reading)),
    }
    console::print(&lines)
}
