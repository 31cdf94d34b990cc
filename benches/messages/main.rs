//! Srinivasan's benchmark: a critical section in place under a lock, by a server that receives
//! messages, or by a hop to a dedicated core.
//!
//! `make bench-messages` runs it in full. It varies the section's size (data displacement), the
//! modified share of it (data invalidation), and the size of a message. A server copies messages,
//! reads them in place, or takes several together. The simulation uses the thesis's machine, with
//! its four sockets modeled as one with one L3. The native program is
//! `benches/programs/messages.c` on two cores with one thread each, compared with a simulation of
//! this machine. `COREHOP_PARTS` selects the parts to run (`simulated,native`), `COREHOP_ROUNDS`
//! the number of rounds. Without arguments, as under `cargo test`, one point of each experiment
//! shows that it works. Rejected: more native threads than cores, which measures the kernel's
//! scheduling.

#[path = "../asked/mod.rs"]
mod asked;
mod experiments;
#[path = "../machine/mod.rs"]
mod machine;
mod native;
#[path = "../patched/mod.rs"]
mod patched;
mod simulated;
#[path = "../synthetic/mod.rs"]
mod synthetic;
mod table;
mod text;

use corehop_simulator::Machine;
use experiments::Experiment;
use patched::Outcome;
use rayon::prelude::*;
use serde_json::{Value, json};
use simulated::Rates;

/// The thesis's machine, and its number of cores in four sockets.
const MACHINE: &str = "opteron-8431";
const MACHINE_CORES: u32 = 24;
const PARTS: [&str; 2] = ["simulated", "native"];
const ROUNDS: usize = 7;

fn main() -> Outcome<()> {
    let is_whole = std::env::args().any(|argument| argument == "--whole");
    let parts = asked::parts(&PARTS)?;
    let has = |part: &str| parts.iter().any(|wanted| wanted == part);
    let mut figures = json!({});
    if has("simulated") {
        let mut machine = Machine::named_or_path(MACHINE)?;
        machine.cores = MACHINE_CORES;
        let experiments = match is_whole {
            true => experiments::of_text(),
            false => experiments::brief(),
        };
        println!("simulated on {MACHINE} with {MACHINE_CORES} cores\n");
        figures["simulated"] = simulated(&machine, &experiments)?;
    }
    if has("native") {
        figures["native"] = native(is_whole)?;
    }
    println!("{figures}");
    Ok(())
}

fn simulated(machine: &Machine, experiments: &[Experiment]) -> Outcome<Value> {
    let found: Result<Vec<_>, _> = experiments.iter().map(|of| simulate(machine, of)).collect();
    let found = found?;
    for (experiment, rates) in experiments.iter().zip(&found) {
        table::print(experiment, rates, "in a million cycles");
    }
    for (experiment, rates) in experiments.iter().zip(&found) {
        table::counts(experiment, rates);
    }
    table::beside_text(experiments, &found);
    Ok(object(experiments, &found))
}

fn simulate(
    machine: &Machine,
    experiment: &Experiment,
) -> Result<Vec<Vec<Rates>>, corehop_simulator::timing::Error> {
    let ways = |&point: &simulated::Point| {
        let ways = experiment.ways.iter();
        ways.map(|&way| simulated::rates(machine, way, point))
            .collect()
    };
    experiment.points.par_iter().map(ways).collect()
}

/// Measures on this machine's first two cores.
fn native(is_whole: bool) -> Outcome<Value> {
    let Ok(host) = Machine::named_or_path("host") else {
        println!("the native part is left out: the kernel does not describe the caches");
        return Ok(Value::Null);
    };
    let program = patched::build("messages", ["local_component", "critical_section"])?;
    let [first, second] = program.processors;
    if first == second {
        println!("the native part is left out: this machine has one CPU");
        return Ok(Value::Null);
    }
    let l1d_lines = host.l1d.size_bytes / synthetic::LINE_BYTES;
    let experiments = match is_whole {
        true => experiments::of_two_cores(l1d_lines),
        false => experiments::brief(),
    };
    let (rounds, duration_ms) = match is_whole {
        true => (asked::rounds(ROUNDS)?, 100),
        false => (1, 20),
    };
    let measured = native::measure(&program, &experiments, rounds, duration_ms)?;
    println!("{}", machine::described());
    println!("CPUs {first} and {second}, medians of {rounds} rounds\n");
    for (experiment, rates) in experiments.iter().zip(&measured) {
        table::print(experiment, rates, "a second");
    }
    table::beside_text(&experiments, &measured);
    println!("simulated on this machine's description, {}\n", host.name);
    let found: Result<Vec<_>, _> = experiments.iter().map(|of| simulate(&host, of)).collect();
    let found = found?;
    for (experiment, rates) in experiments.iter().zip(&found) {
        table::print(experiment, rates, "in a million cycles");
    }
    table::beside_text(&experiments, &found);
    let (measured, simulated) = (
        object(&experiments, &measured),
        object(&experiments, &found),
    );
    Ok(json!({ "measured": measured, "simulated": simulated }))
}

fn object(experiments: &[Experiment], rates: &[Vec<Vec<Rates>>]) -> Value {
    let of = |(experiment, rates): (&Experiment, &Vec<Vec<Rates>>)| {
        (
            experiment.name.to_owned(),
            table::figures(experiment, rates),
        )
    };
    Value::Object(experiments.iter().zip(rates).map(of).collect())
}
