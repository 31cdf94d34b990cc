//! System calls where they are, on another core, and in batches: what each costs, and what servers
//! make of it.
//!
//! `make bench-syscalls` runs it whole. The part `pollution` tells what calls cost the code around
//! them; `bare` what a call that does nothing costs by itself and in batches. The part `cost` has
//! one core's threads each send and receive a byte, and tells nanoseconds a call by how many
//! threads there are to batch. The part `servers` has `corehop measure --system-calls` start six
//! servers as they are and with their calls posted, under 1 to 256 connections that each wait for
//! their answers, beside what Soares found with FlexSC (thesis, Toronto 2012, chapters 5 and 6).
//! The load is this program too, started with `--client`: it checks every answer. `COREHOP_PARTS`
//! names parts, `COREHOP_BENCH` servers, `COREHOP_WAYS` ways, `COREHOP_ROUNDS` says how many
//! rounds. The first two parts are drawn, in `target/syscalls.svg`. Without arguments, as under
//! `cargo test`, a few calls show that it works.

#[path = "../asked/mod.rs"]
mod asked;
mod bare;
mod chart;
mod client;
mod cost;
#[path = "../machine/mod.rs"]
mod machine;
#[path = "../mariadb/data.rs"]
mod mariadb;
mod mariadb_session;
mod measured;
#[path = "../patched/mod.rs"]
mod patched;
mod pollution;
mod program;
mod servers;

use patched::Outcome;
use serde_json::Value;
use std::path::Path;

const PICTURE: &str = "target/syscalls.svg";

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "--client") {
        return client::run(&arguments[1..]);
    }
    let is_whole = arguments.iter().any(|argument| argument == "--whole");
    let parts = asked::parts(&["pollution", "bare", "cost", "servers"])?;
    let mut told = serde_json::Map::new();
    println!("{}", machine::described());
    for part in parts {
        let figures = match &*part {
            "pollution" => pollution::measure(is_whole)?,
            "bare" => bare::measure(is_whole)?.into(),
            "cost" => cost::measure(is_whole)?.into(),
            _ => measured::measure(is_whole)?.into(),
        };
        told.insert(part, figures);
    }
    let told = Value::from(told);
    if is_whole {
        chart::draw(&told, Path::new(PICTURE))?;
    }
    println!("\n{told}");
    Ok(())
}
