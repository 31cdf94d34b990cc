//! `corehop control`: starts, stops, marks or watches a recording that runs, from another terminal.
//!
//! The recorder listens on a socket beside the trace that it writes; `control.rs` of
//! `corehop-recorder` is its side of it, and says what each order does.

use crate::console;
use crate::failure::{Exit, Failure};
use crate::line::{Lines, line};
use crate::recording::reading;
use clap::{Args, Subcommand};
use corehop_recorder::control::{Order, ask};
use std::path::PathBuf;

/// Start, stop, mark or watch a recording that runs
#[derive(Args)]
#[command(after_help = "\
TRACE is what `corehop record -o` was given. A recording that is stopped goes on counting requests;
begin one so with `corehop record --paused`. Ctrl-C in its own terminal ends it.

Example: corehop control mark bank.trace \"the load doubles\"")]
pub struct Arguments {
    #[command(subcommand)]
    order: Orders,
}

#[derive(Subcommand)]
enum Orders {
    /// Record requests, from the next that begins
    Start(Target),
    /// Record no further requests until started again
    Stop(Target),
    /// Keep a note in the trace
    Mark {
        #[command(flatten)]
        target: Target,
        /// The note
        text: String,
    },
    /// Say how the recording stands
    Status(Target),
}

#[derive(Args)]
struct Target {
    /// The trace that is being recorded
    trace: PathBuf,
    /// Print one JSON object instead
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
        return Err(Failure::new(Exit::Usage, message).remedy("say it in fewer words"));
    }
    let reading = ask(&target.trace, &order)?;
    let mut lines = Lines::new();
    match target.json {
        true => lines = Lines::of_json(&serde_json::json!(reading)),
        false => line!(lines, "{}", reading::line(&reading)),
    }
    console::print(&lines)
}
