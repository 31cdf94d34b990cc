//! System calls made synchronously, on another core, and in batches: the cost of each, and the
//! effect on servers.
//!
//! `make bench-syscalls` runs it in full. The part `pollution` measures the cost of calls for the
//! code around them. The part `bare` measures a no-op call, single and in batches. In the part
//! `cost`, one core's threads each send and receive a byte, which gives nanoseconds per call by the
//! number of threads to batch. In the part `servers`, `corehop measure --system-calls` starts six
//! servers unmodified and with asynchronous calls. They run under 1 to 256 connections that each
//! wait for their answers, compared with Soares's results with FlexSC (thesis, Toronto 2012,
//! chapters 5 and 6). The load is also this program, started with `--client`: it checks every
//! answer. `COREHOP_PARTS` selects parts, `COREHOP_BENCH` servers, `COREHOP_WAYS` ways, and
//! `COREHOP_ROUNDS` sets the number of rounds. The first two parts are drawn, in
//! `target/syscalls.svg`. Without arguments, as under `cargo test`, a few calls show that it works.

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
