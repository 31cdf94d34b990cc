//! Compares splits at single calls of functions with brute force: a replay of each one access by
//! access.
//!
//! The programs are small, with two threads and requests. The search has a function for each call
//! that it may choose. The sequential replay numbers calls independently (`Split::at_calls`, which
//! the simulator's tests compare with their oracle).

use crate::definitions;
use crate::random::{equal, machines};
use crate::searching::{all_splits, alone, cases, wanted};
use corehop_partitioner::evaluate::{Evaluator, IndexedPlacement, Term, cores_of};
use corehop_partitioner::strategy::{Strategy as How, search};
use corehop_plan::{KthCall, Mode};
use corehop_simulator::{CoreId, Machine, Prepared, PrivateReplay, ReplayOptions, Replayer, Split};
use corehop_traces::{EndReason, FunctionId, Kind, ThreadId, Trace, WriterOptions};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use std::path::Path;

const FUNCTIONS: u32 = 5;
const THREADS: u32 = 2;
const ROUNDS: usize = 2;
const CODE: u64 = 0x10_000;

/// An execution: its thread, the function it enters, and the lines it loads or stores. The first
/// function begins a request.
type Step = (u32, u32, Vec<(u64, bool)>);

fn programs() -> impl Strategy<Value = Vec<Step>> {
    let data = vec((0u64..40, prop::bool::weighted(0.3)), 0..8);
    vec((0..THREADS, 0..FUNCTIONS, data), 1..70)
}

/// Calls that become separate functions: the function, and the number of the call.
fn some_calls() -> impl Strategy<Value = Vec<(u32, u32)>> {
    let calls = btree_set((1..FUNCTIONS, 1u32..4), 1..7);
    calls.prop_map(|calls| calls.into_iter().collect())
}

fn record(steps: &[Step], executions_per_chunk: usize, path: &Path) -> Trace {
    let options = WriterOptions {
        executions_per_chunk,
        ..WriterOptions::default()
    };
    let (mut writer, module) = definitions::begin(path, &options, "f0", CODE).unwrap();
    definitions::functions(&mut writer, (module, CODE), FUNCTIONS).unwrap();
    for thread in 0..THREADS {
        writer.thread(1, thread).unwrap();
    }
    for (stamp, (thread, function, data)) in (1..).zip(steps) {
        let thread = ThreadId(*thread);
        writer.stamp(thread, stamp).unwrap();
        if *function == 0 {
            writer.request(thread).unwrap();
        }
        writer.execution(thread, *function).unwrap();
        for &(line, store) in data {
            let kind = if store { Kind::Store } else { Kind::Load };
            writer.data(thread, 0, kind, 8, line * 64).unwrap();
        }
    }
    writer.finish(EndReason::Interrupted).unwrap();
    Trace::open(path).unwrap()
}

/// Returns L2 misses of a split, access by access, with the trace as recorded.
fn naive(trace: &Trace, machine: &Machine, split: &[((u32, Option<u32>), u32)]) -> u64 {
    let whole = split.iter().filter(|((_, call), _)| call.is_none());
    let fixed =
        Split::new(whole.map(|&((function, _), core)| (FunctionId(function), CoreId(core))));
    let at_call = |&((function, call), core): &((u32, Option<u32>), u32)| {
        let call = call?;
        Some((FunctionId(function), KthCall { core, call }, Mode::Enter))
    };
    let at_calls: Vec<_> = split.iter().filter_map(at_call).collect();
    let split = fixed.at_calls(trace, &at_calls).unwrap();
    let mut replayer = Replayer::new(machine, &split).unwrap();
    for _ in 0..ROUNDS {
        let mut executions = trace.executions();
        while let Some(execution) = executions.next().unwrap() {
            replayer.execute(&execution);
        }
    }
    replayer.finish().counters.l2.misses()
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn what_is_said_to_be_optimal_is_what_brute_force_finds(
        steps in programs(), calls in some_calls(), machine in machines(), chunk in 1usize..30,
        cores in 1u32..4, shared in 0u32..2,
    ) {
        let functions = cores + shared;
        // The ranking does not model the L3.
        let machine = Machine { l3: None, ..alone(machine) };
        found_as_by_brute_force(&steps, &calls, &machine, chunk, (functions, cores))?;
    }
}

fn found_as_by_brute_force(
    steps: &[Step],
    calls: &[(u32, u32)],
    machine: &Machine,
    chunk: usize,
    (chosen, cores): (u32, u32),
) -> TestCaseResult {
    let folder = tempfile::tempdir().unwrap();
    let recorded = record(steps, chunk, &folder.path().join("recorded.trace"));
    let numbered: Vec<_> = calls
        .iter()
        .map(|&(of, call)| (FunctionId(of), call))
        .collect();
    let trace = record(steps, chunk, &folder.path().join("numbered.trace"));
    let trace = trace.with_functions_at_calls(&numbered, &|_| ()).unwrap();
    let all = (0..trace.functions().len() as u32).map(FunctionId);
    let functions: Vec<FunctionId> = all.filter(|&of| !trace.has_numbered_calls(of)).collect();
    let meant = |&of: &FunctionId| match trace.call_meant(of) {
        Some((function, call)) => (function.0, Some(call)),
        None => (of.0, None),
    };
    let meant: Vec<(u32, Option<u32>)> = functions.iter().map(meant).collect();
    let options = ReplayOptions::default();
    let prepared = Prepared::new(&trace, &[machine], &functions, &options).unwrap();
    let terms = [Term::l2(
        PrivateReplay::new(&prepared, machine, ROUNDS).unwrap(),
    )];
    let mut evaluator = Evaluator::new(&terms, &functions);
    let of = |split: IndexedPlacement| {
        let named = split
            .iter()
            .map(|&(place, core)| (meant[place as usize], core));
        (naive(&recorded, machine, &named.collect::<Vec<_>>()), split)
    };
    let all = all_splits(functions.len() as u32, chosen, cores);
    let mut brute: Vec<_> = all.clone().into_iter().map(of).collect();
    brute.sort();
    let Some(best) = brute.first().map(|best| best.0) else {
        return Ok(());
    };
    brute.truncate(3);
    let strategies = [
        None,
        Some(How::Exhaustive),
        Some(How::Bound),
        Some(How::Local),
        Some(How::Random),
    ];
    for strategy in strategies {
        let ranking = search(&mut evaluator, &wanted((chosen, cores), strategy));
        // With more functions than cores there is no bound: branch and bound is then a local
        // search.
        let is_local = strategy == Some(How::Bound) && chosen > cores;
        if is_local || matches!(strategy, Some(How::Local | How::Random)) {
            prop_assert!(ranking.lower_bound <= best && best <= ranking.best[0].0);
            prop_assert!(all.contains(&ranking.best[0].1));
            equal(cores_of(&ranking.best[0].1) as u32, cores)?;
        } else {
            equal(&ranking.best, &brute)?;
            equal((ranking.lower_bound, ranking.is_optimal()), (best, true))?;
        }
    }
    Ok(())
}
