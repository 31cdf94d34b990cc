//! Measures the machine that this program runs on, with the files of a packed folder.
//!
//! Each part has a share of the time. It measures until that is used up, at least once, and leaves
//! the rest to the next part. What is found so far is published after every step (`report`), so
//! that an interrupted run prints it too.

mod calibrated;
mod connections;
mod counted;
mod hops;
mod options;
mod plans;
mod report;
mod rounds;
mod servers;
mod system;
mod time;

use crate::compressed::unpack;
use crate::{Outcome, machine};
use clap::Parser;
use corehop_simulator::Machine;
use corehop_support::topology::{Topology, allowed, ranges};
use options::Options;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::path::Path;
use std::process::ExitCode;
use time::Budget;

/// Shares of the time at whose end a part ends.
const CALIBRATED_AT: f64 = 0.2;
const HOPS_AT: f64 = 0.22;
const CONNECTIONS_AT: f64 = 0.64;
const SERVERS_AT: f64 = 0.95;
/// L2 size if the kernel does not report it: that of most servers since 2017.
const USUAL_L2_BYTES: u64 = 1 << 20;

/// Exit codes of corehop for the same events.
const USAGE: u8 = 2;
const WRITING: u8 = 4;

/// The machine that all parts measure.
struct Here {
    topology: Topology,
    /// CPUs to use.
    cpus: Vec<usize>,
    l2_bytes: u64,
}

/// Measures everything, and prints it. Returns the exit code.
pub fn measure(folder: &Path) -> Outcome<ExitCode> {
    let options = Options::parse();
    let output = match options.output() {
        Ok(output) => output,
        Err(error) => return Ok(refused(&error.to_string(), WRITING)),
    };
    let cpus = match options.cpus(&allowed()) {
        Ok(cpus) => cpus,
        Err(reason) => return Ok(refused(&reason, USAGE)),
    };
    if let Err(error) = unpack(folder) {
        return Ok(refused(&error.to_string(), WRITING));
    }
    let budget = Budget::of(options.seconds);
    time::listen()?;
    stay_on(&cpus)?;
    let l2 = Machine::named_or_path("host").map(|host| host.l2.size_bytes);
    let here = Here {
        topology: Topology::here(),
        l2_bytes: *l2.as_ref().unwrap_or(&USUAL_L2_BYTES),
        cpus,
    };
    report::begin(machine::described(), options.seconds, output);
    report::watch(budget.limit());
    report::publish(
        "machine",
        system::described(&here, l2.is_ok()),
        String::new(),
    );
    eprintln!(
        "CPUs {}, {} s",
        ranges(here.cpus.iter().copied()),
        options.seconds
    );
    calibrated::measure(&budget, CALIBRATED_AT, options.brief)?;
    hops::measure(&here, budget.at(HOPS_AT), options.brief)?;
    let plans = plans::Plans::of(folder)?;
    connections::measure(&here, &plans, budget.at(CONNECTIONS_AT), options.brief)?;
    servers::measure(&here, &plans, budget.at(SERVERS_AT), options.brief)?;
    counted::measure(&here, &plans, budget.at(1.0))?;
    Ok(report::print(!time::is_over()))
}

fn refused(reason: &str, code: u8) -> ExitCode {
    eprintln!("run: {reason}");
    code.into()
}

/// Pins this thread, and what it starts, to these CPUs.
fn stay_on(cpus: &[usize]) -> Outcome<()> {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|&cpu| set.set(cpu));
    Ok(sched_setaffinity(None, &set)?)
}
