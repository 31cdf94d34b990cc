//! Random programs as an evaluator sees them, and the costs of their splits in a plain replay.
//!
//! Programs have a few functions and lines and are written as a trace. The plain replay processes
//! it access by access, without terms, set partitions or sums over cores.

use crate::entered::{Step, record};
use crate::searching::alone;
use corehop_partitioner::evaluate::{Evaluator, IndexedPlacement};
use corehop_partitioner::objective::Objective;
use corehop_partitioner::weights::{Factors, Weighted};
use corehop_simulator::{CoreId, Machine, Prepared, Replay, ReplayOptions, Replayer, Split};
use corehop_traces::{FunctionId, Trace};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

pub const FUNCTIONS: u32 = 6;
/// Number of consecutive replays of a program.
pub const ROUNDS: usize = 2;
const THREADS: u32 = 3;

/// Calls in any order, or in rounds of nearly the same order, as in servers.
pub fn programs() -> impl Strategy<Value = Vec<Step>> {
    // Spread out, or a few lines repeatedly.
    let data = || {
        let few =
            (1u64..7).prop_flat_map(|lines| vec((0..lines, prop::bool::weighted(0.3)), 0..24));
        prop_oneof![4 => vec((0u64..40, prop::bool::weighted(0.3)), 0..8), 1 => few]
    };
    let any_order = vec((0..THREADS, 0..FUNCTIONS, data()), 1..60);
    let called = prop::bool::weighted(0.9);
    let ordered = vec((called, prop::bool::weighted(0.05), data()), 1..60);
    let ordered = ordered.prop_map(|steps| {
        let numbered = (0u32..).zip(steps).filter(|(_, (called, ..))| *called);
        let step = |(number, (_, other, data))| {
            let function = (number + u32::from(other)) % FUNCTIONS;
            (0, function, data)
        };
        numbered.map(step).collect::<Vec<Step>>()
    });
    prop_oneof![any_order, ordered]
}

/// Returns a random machine with 8 cores and without the L3, which the ranking omits.
pub fn large(machine: Machine, is_alone: bool) -> Machine {
    let machine = Machine {
        cores: 8,
        l3: None,
        ..machine
    };
    match is_alone {
        true => alone(machine),
        false => machine,
    }
}

/// A plain replay, access by access.
pub fn replayed(trace: &Trace, machine: &Machine, split: &IndexedPlacement) -> Replay {
    let placed = split.iter();
    // Each function of the trace is searched.
    let split = Split::new(placed.map(|&(index, core)| (FunctionId(index), CoreId(core))));
    let mut replayer = Replayer::new(machine, &split).unwrap();
    for _ in 0..ROUNDS {
        let mut executions = trace.executions();
        while let Some(execution) = executions.next().unwrap() {
            replayer.execute(&execution);
        }
    }
    replayer.finish()
}

/// Returns an objective's value. For cycles, it is the part that the ranking counts: without the
/// cost common to all accesses, and with memory latency for every private-cache miss, as there is
/// no L3.
pub fn value(objective: Objective, machine: &Machine, replay: &Replay, is_alone: bool) -> u64 {
    let counters = &replay.counters;
    if objective != Objective::Cycles || !is_alone {
        return objective.of(replay);
    }
    let Machine { l1i, l1d, .. } = machine;
    let nearer = machine.memory_latency_cycles - machine.transfer_latency_cycles;
    counters.cycles + counters.transfers * u64::from(nearer)
        - counters.l1i.accesses() * u64::from(l1i.latency_cycles)
        - counters.l1d.accesses() * u64::from(l1d.latency_cycles)
}

/// The objective and the machines.
pub struct Aim<'a>(pub Objective, pub &'a [Machine]);

/// Returns the objective of L2 misses on one machine.
pub fn l2(machine: &Machine) -> Aim<'_> {
    Aim(Objective::L2, std::slice::from_ref(machine))
}

/// Passes to `test` an evaluator of the program, and a function for the plain replay's cost of any
/// split.
pub fn with_evaluator(
    steps: &[Step],
    Aim(objective, machines): &Aim<'_>,
    test: impl FnOnce(&mut Evaluator<'_>, &dyn Fn(&IndexedPlacement) -> u64) -> TestCaseResult,
) -> TestCaseResult {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("random.trace");
    record(steps, FUNCTIONS, THREADS, &path).unwrap();
    let trace = Trace::open(&path).unwrap();
    let functions: Vec<FunctionId> = (0..FUNCTIONS).map(FunctionId).collect();
    let options = ReplayOptions::default();
    let simulated: Vec<&Machine> = machines.iter().collect();
    let prepared = Prepared::new(&trace, &simulated, &functions, &options).unwrap();
    let weighted = machines.iter().zip([1.0, 2.5]);
    let weighted = weighted.map(|(machine, weight)| Weighted {
        machine: machine.clone(),
        weight,
    });
    let weighted: Vec<Weighted> = weighted.collect();
    let factors = Factors::of(&weighted, *objective, &prepared, ROUNDS).unwrap();
    let terms = factors.terms(&prepared, ROUNDS);
    let mut evaluator = match &terms {
        Some(terms) => Evaluator::new(terms, &functions),
        None => Evaluator::in_full(&prepared, &factors, &functions, ROUNDS),
    };
    let naive = |split: &IndexedPlacement| {
        let of_machines = factors.machines.iter();
        let values = of_machines.map(|&(machine, factor)| {
            let replay = replayed(&trace, machine, split);
            factor * value(*objective, machine, &replay, terms.is_some())
        });
        values.sum()
    };
    test(&mut evaluator, &naive)
}
