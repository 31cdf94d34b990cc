//! Curto's Accesstest: a hundred sessions share a working set on two cores, either in place or with
//! each half of it on its own core.
//!
//! `make bench-accesstest` runs it in full. A session walks around the first half of the working
//! set, then around the second. The sets grow from half an L1D to beyond an L3, and the share of
//! writes from none to all accesses. The simulation uses the thesis's machine, which gives the same
//! results everywhere, and this machine as the kernel or a calibration describes it. The native
//! program is `benches/programs/staged.c`, whose phases `corehop` hooks, with the carrier backend.
//! The tables show the thesis's figures next to both. `COREHOP_PARTS` selects the parts to run
//! (`simulated,native`), `COREHOP_ROUNDS` the number of rounds. Without arguments, as under
//! `cargo test`, two small points show that it works.

#[path = "../asked/mod.rs"]
mod asked;
mod grid;
#[path = "../machine/mod.rs"]
mod machine;
mod native;
#[path = "../patched/mod.rs"]
mod patched;
#[path = "../staged/point.rs"]
mod point;
mod simulated;
#[path = "../synthetic/mod.rs"]
mod synthetic;
mod table;
mod text;

use corehop_simulator::Machine;
use grid::{Grid, Level};
use patched::Outcome;
use serde_json::{Value, json};

/// The thesis's machine.
const MACHINE: &str = "xeon-d-1540";
const PARTS: [&str; 2] = ["simulated", "native"];
const ROUNDS: usize = 5;

fn main() -> Outcome<()> {
    let is_whole = std::env::args().any(|argument| argument == "--whole");
    let parts = asked::parts(&PARTS)?;
    let has = |part: &str| parts.iter().any(|wanted| wanted == part);
    let mut figures = json!({});
    if has("simulated") {
        let machine = Machine::named_or_path(MACHINE)?;
        figures["simulated"] = simulated(&machine, is_whole)?;
    }
    if has("native") {
        figures["native"] = native(is_whole)?;
    }
    println!("\n{figures}");
    Ok(())
}

/// Simulates the thesis's machine.
fn simulated(machine: &Machine, is_whole: bool) -> Outcome<Value> {
    let grid = match is_whole {
        true => Grid::whole(machine, &Level::ALL),
        false => Grid::small(machine),
    };
    let found = grid.simulate(machine)?;
    println!(
        "simulated on {MACHINE}, {} sessions: what delegating the phases changes in touches a \
         cycle, by updates\n",
        simulated::SESSIONS
    );
    let changes = found
        .iter()
        .map(|[in_place, delegated]| delegated.touches_per_kcycle / in_place.touches_per_kcycle);
    let changes: Vec<f64> = changes.collect();
    table::changes(&grid, "delegation changes, at", &changes);
    table::misses(&grid, &found);
    table::beside_text(&grid, &[("simulated", &changes)]);
    Ok(table::figures(&grid, &found))
}

/// Measures on this machine, with the predictions for it.
fn native(is_whole: bool) -> Outcome<Value> {
    let Ok(host) = Machine::named_or_path("host") else {
        println!("the native part is left out: the kernel does not describe the caches");
        return Ok(Value::Null);
    };
    let program = patched::build("staged", ["first_phase", "second_phase"])?;
    let [first, second] = program.processors;
    if first == second {
        println!("the native part is left out: this machine has one CPU");
        return Ok(Value::Null);
    }
    let grid = match is_whole {
        true => Grid::native(&host),
        false => Grid::small(&host),
    };
    let rounds = if is_whole { asked::rounds(ROUNDS)? } else { 1 };
    let measured = native::measure(&program, &grid, rounds, if is_whole { 100 } else { 20 })?;
    let simulated = grid.simulate(&host)?;
    println!("\n{}", machine::described());
    println!(
        "CPUs {first} and {second}, {} sessions, medians of {rounds} rounds: times the touches a \
         second when the phases are delegated (carrier)\n",
        simulated::SESSIONS
    );
    let changes: Vec<f64> = measured.iter().map(|point| point.ratio[1]).collect();
    table::changes(&grid, "delegation changes, at", &changes);
    table::rates(&grid, &measured);
    let predicted = simulated
        .iter()
        .map(|[in_place, delegated]| delegated.touches_per_kcycle / in_place.touches_per_kcycle);
    let predicted: Vec<f64> = predicted.collect();
    println!("simulated on this machine's description, {}\n", host.name);
    table::changes(&grid, "simulated here", &predicted);
    table::beside_text(
        &grid,
        &[("native", &changes), ("simulated here", &predicted)],
    );
    let mut figures = table::figures(&grid, &simulated);
    native::add(&mut figures, &measured);
    Ok(figures)
}
