//! Cores for the threads of a trace: one for each, or those that it records.
//!
//! A replay's threads stay where they are, so each gets the CPU on which it executed most code
//! blocks, if they are recorded. CPUs are renumbered: a server that was pinned to CPUs 4 and 9
//! needs two cores.

use corehop_simulator::{CoreId, Error, Machine, Split};
use corehop_traces::Trace;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Returns a split with a core for each thread, as far as the machine has cores.
#[must_use]
pub fn spread(trace: &Trace, machine: &Machine) -> Split {
    let threads = u32::try_from(trace.threads().len()).unwrap_or(u32::MAX);
    Split::thread_per_core(threads.clamp(1, machine.cores))
}

/// Returns the core of each thread. Threads without a recorded CPU are on the first core. `None` if
/// the trace has no CPUs.
///
/// # Errors
/// [`Error::Trace`] for a trace that cannot be read.
pub fn recorded_cores(trace: &Trace) -> Result<Option<Vec<CoreId>>, Error> {
    if trace.cpus().is_empty() {
        return Ok(None);
    }
    let mut executed = vec![BTreeMap::<u16, u64>::new(); trace.threads().len()];
    let mut executions = trace.executions();
    while let Some(execution) = executions.next()? {
        if let Some(cpu) = trace.cpu(execution.thread, execution.stamp) {
            *executed[execution.thread.index()].entry(cpu).or_default() += 1;
        }
    }
    let most = |of: &BTreeMap<u16, u64>| {
        let most = of
            .iter()
            .max_by_key(|&(&cpu, &count)| (count, Reverse(cpu)));
        most.map(|(&cpu, _)| cpu)
    };
    let cpus: Vec<Option<u16>> = executed.iter().map(most).collect();
    let mut used: Vec<u16> = cpus.iter().copied().flatten().collect();
    used.sort_unstable();
    used.dedup();
    let core = |cpu: Option<u16>| {
        let place = cpu.and_then(|cpu| used.binary_search(&cpu).ok());
        CoreId::from_index(place.unwrap_or(0))
    };
    Ok(Some(cpus.into_iter().map(core).collect()))
}
