//! Refuses numbers of cores and functions that allow no split, each with its own message.

use super::choices::BackendName;
use crate::failure::{Exit, Failure};
use corehop_partitioner::machine_list;
use corehop_partitioner::weights::Weighted;
use corehop_simulator::Machine;

/// Returns the given machines, with the hop cost of the given backend.
pub fn machines_of(
    named: &[String],
    cores: u32,
    backend: Option<BackendName>,
) -> Result<Vec<Weighted>, Failure> {
    let mut machines = machine_list::weighted(named)?;
    for of in &mut machines {
        check_cores(cores, &of.machine)?;
        if let Some(BackendName::Carrier) = backend {
            of.machine.set_hop_cost(of.machine.carried_hop_cycles());
        }
    }
    Ok(machines)
}

/// Refuses fewer than two cores, and more than the machine has.
fn check_cores(cores: u32, machine: &Machine) -> Result<(), Failure> {
    let usage = |message: String| Failure::new(Exit::Usage, message);
    match cores {
        0 | 1 => Err(usage(format!("--cores {cores}: a split needs at least 2 cores")).explained()),
        _ if cores > machine.cores => Err(usage(format!(
            "--cores {cores}: machine {} has {} cores",
            machine.name, machine.cores
        ))
        .remedy("use fewer cores, or a larger --machine")),
        _ => Ok(()),
    }
}

/// Refuses fewer functions than cores.
pub fn check_functions(functions: Option<u32>, cores: u32) -> Result<(), Failure> {
    match functions {
        Some(functions) if functions < cores => {
            let message = format!(
                "--functions {functions}: with {cores} cores, at least {cores} functions move \
                 threads, one to each"
            );
            Err(Failure::new(Exit::Usage, message).remedy("use fewer cores, or more functions"))
        }
        _ => Ok(()),
    }
}
