//! Compares the search for delegated calls with the naive way: replaying every set of them from the
//! trace, one after the other.
//!
//! Programs have a few functions that call each other and themselves. Machines have a few lines per
//! level, with every policy and sometimes an L3, so all kinds of eviction are frequent.

use crate::definitions;
use crate::random::{equal, machines};
use crate::searching::{Patience, alone, cases, found};
use corehop_partitioner::candidates::CandidateRule;
use corehop_partitioner::delegated::Wanted;
use corehop_partitioner::objective::Objective;
use corehop_partitioner::requests::Searched;
use corehop_partitioner::strategy::Strategy as How;
use corehop_partitioner::{Settings, partition};
use corehop_simulator::{CoreId, Machine, ReplayOptions, Split, replay};
use corehop_traces::{CodeBlock, EndReason, FunctionId, Kind, RequestId, ThreadId, Trace, Writer};
use proptest::collection::vec;
use proptest::prelude::*;
use rayon::ThreadPoolBuilder;
use std::collections::BTreeSet;
use std::path::Path;

const CODE: u64 = 0x40_0000;
const DATA: u64 = 0x1000_0000;
const STACK: u64 = 0x7000_0000;
const FUNCTIONS: u64 = 5;
/// Recorded requests: the last is incomplete, and the others are enough for a single round.
const REQUESTS: u32 = 41;
/// Maximum call depth.
const DEEPEST: usize = 3;

/// Next step of a program.
#[derive(Clone, Copy, Debug)]
enum Step {
    Call(u64),
    Return,
    Access(u64, Kind),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let access = (0u64..30, prop::bool::weighted(0.3)).prop_map(|(line, stores)| {
        Step::Access(line, if stores { Kind::Store } else { Kind::Load })
    });
    let step = prop_oneof![
        3 => (0..FUNCTIONS).prop_map(Step::Call),
        3 => Just(Step::Return),
        6 => access,
    ];
    vec(step, 1..40)
}

/// The code blocks of each function of a program.
struct Blocks {
    entry: u32,
    calling: u32,
    called: u32,
    returning: u32,
}

/// Records requests that all make these steps; calls still open at the end of a request return.
fn record(steps: &[Step], path: &Path) -> Trace {
    let (mut writer, module) =
        definitions::begin(path, &Default::default(), "serve", CODE).unwrap();
    let names = ["main", "a", "b", "c", "d", "e"];
    let blocks = (0..=FUNCTIONS).zip(names).map(|(function, name)| {
        let offset = function * 0x400;
        let named = (name, offset);
        let entry = definitions::function(&mut writer, (module, CODE), named, None).unwrap();
        let mut block = |at: u64| {
            let block = CodeBlock::new(CODE + offset + at, [4, 4]);
            writer.code_block(&block, None).unwrap()
        };
        Blocks {
            entry,
            calling: block(0x100),
            called: block(0x108),
            returning: block(0x200),
        }
    });
    let blocks: Vec<Blocks> = blocks.collect();
    let thread = writer.thread(1, 1).unwrap();
    for request in 0..REQUESTS {
        writer.stamp(thread, request.into()).unwrap();
        writer.request(thread).unwrap();
        writer.execution(thread, blocks[0].entry).unwrap();
        let mut open: Vec<usize> = vec![0];
        let back = vec![Step::Return; DEEPEST];
        for &step in steps.iter().chain(&back) {
            play(&mut writer, (thread, &blocks), &mut open, step);
        }
    }
    writer.finish(EndReason::RequestsReached).unwrap();
    Trace::open(path).unwrap()
}

fn play(
    writer: &mut Writer,
    (thread, blocks): (ThreadId, &[Blocks]),
    open: &mut Vec<usize>,
    step: Step,
) {
    let of = &blocks[open[open.len() - 1]];
    let return_address_at = |depth: usize| STACK - depth as u64 * 64;
    match step {
        Step::Access(line, kind) => {
            let address = DATA + line * 64;
            writer.execution(thread, of.called).unwrap();
            writer.data(thread, 0, kind, 8, address).unwrap();
        }
        Step::Call(function) if open.len() <= DEEPEST => {
            let at = return_address_at(open.len());
            writer.execution(thread, of.calling).unwrap();
            writer.data(thread, 1, Kind::Store, 8, at).unwrap();
            open.push(function as usize + 1);
            writer
                .execution(thread, blocks[open[open.len() - 1]].entry)
                .unwrap();
        }
        Step::Return if open.len() > 1 => {
            open.pop();
            let at = return_address_at(open.len());
            writer.execution(thread, of.returning).unwrap();
            writer.data(thread, 1, Kind::Load, 8, at).unwrap();
            writer
                .execution(thread, blocks[open[open.len() - 1]].called)
                .unwrap();
        }
        Step::Call(_) | Step::Return => {}
    }
}

fn settings(most: u32, elsewhere: u32, strategy: Option<How>) -> Settings<'static> {
    Settings {
        cores: elsewhere + 1,
        searched: Searched::All,
        strategy,
        delegated_calls: Some(Wanted {
            functions: most,
            rule: CandidateRule {
                max_calls: 1000,
                min_share: 0.0,
                group_within: 0,
            },
            with_split: false,
        }),
        ..Settings::default()
    }
}

/// Returns the cost of the best set of up to `most` calls, each on any of `elsewhere` other cores.
fn brute_force(
    trace: &Trace,
    (machine, objective): (&Machine, Objective),
    (most, elsewhere): (usize, u32),
) -> u64 {
    let mut functions = BTreeSet::new();
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        functions.extend(execution.entry);
    }
    let mut sets: Vec<Vec<(FunctionId, CoreId)>> = vec![Vec::new()];
    for &function in &functions {
        for set in sets.clone() {
            for core in 1..=elsewhere {
                let mut larger = set.clone();
                larger.push((function, CoreId(core)));
                sets.push(larger);
            }
        }
    }
    sets.retain(|set| (1..=most).contains(&set.len()));
    let value = |set: &Vec<(FunctionId, CoreId)>| {
        let delegated = set.iter().map(|&(function, _)| function);
        let split = Split::new(set.iter().copied()).delegating(delegated);
        let options = ReplayOptions {
            requests: Some((0..REQUESTS - 1).map(RequestId).collect()),
            ..ReplayOptions::default()
        };
        objective.of(&replay(trace, machine, &split, &options).unwrap())
    };
    sets.iter().map(value).min().unwrap()
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn the_best_call_is_what_brute_force_finds(
        steps in steps(), random in machines(), cycles in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let trace = record(&steps, &folder.path().join("calls.trace"));
        let machine = alone(random);
        let objective = if cycles { Objective::Cycles } else { Objective::L2 };
        let best = brute_force(&trace, (&machine, objective), (1, 1));
        let settings = Settings { objective, ..settings(1, 1, None) };
        let found = found(&trace, &[machine.clone().into()], &settings);
        let ranking = &found.ranking;
        equal((ranking.best[0].0, ranking.is_optimal()), (best, true))?;
        equal(objective.of_cores(&found.evaluated.searched.split, &[]), best)?;
        equal((found.split.len(), found.delegated.len()), (1, 1))?;
    }

    #[test]
    fn what_is_said_of_several_calls_is_true(
        steps in steps(), random in machines(), most in 2u32..4, elsewhere in 1u32..3,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let trace = record(&steps, &folder.path().join("calls.trace"));
        let machine = alone(random);
        let best = brute_force(&trace, (&machine, Objective::L2), (most as usize, elsewhere));
        for strategy in [None, Some(How::Exhaustive), Some(How::Bound)] {
            let settings = settings(most, elsewhere, strategy);
            let ranking = found(&trace, &[machine.clone().into()], &settings).ranking;
            prop_assert!(ranking.lower_bound <= best && best <= ranking.best[0].0);
            if strategy != Some(How::Bound) || elsewhere == 1 {
                equal((ranking.best[0].0, ranking.lower_bound), (best, best))?;
            }
        }
        let settings = settings(most, elsewhere, Some(How::Local));
        let ranking = found(&trace, &[machine.clone().into()], &settings).ranking;
        prop_assert!(ranking.lower_bound <= best && best <= ranking.best[0].0);
    }
}

proptest! {
    #![proptest_config(cases(30))]

    #[test]
    fn the_number_of_host_threads_changes_nothing(steps in steps(), random in machines()) {
        let folder = tempfile::tempdir().unwrap();
        let trace = record(&steps, &folder.path().join("calls.trace"));
        let machine = alone(random);
        for strategy in [How::Exhaustive, How::Bound, How::Local] {
            let on = |threads: usize| {
                let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let settings = settings(2, 1, Some(strategy));
                let found = pool.install(|| found(&trace, &[machine.clone().into()], &settings));
                format!("{:?} {:?}", found.ranking, found.split)
            };
            equal(on(1), on(3))?;
        }
    }

    #[test]
    fn a_search_that_is_stopped_has_a_set_and_a_lower_bound(
        steps in steps(), random in machines(), patience in 0i64..6, which in 0usize..3,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let trace = record(&steps, &folder.path().join("calls.trace"));
        let machine = alone(random);
        let best = brute_force(&trace, (&machine, Objective::L2), (2, 1));
        let strategy = [How::Exhaustive, How::Bound, How::Local][which];
        let patience = Patience(patience.into());
        let settings = settings(2, 1, Some(strategy));
        let found = partition(&trace, &[machine.into()], &settings, &patience).unwrap();
        let ranking = found.ranking;
        prop_assert!(ranking.lower_bound <= best && best <= ranking.best[0].0);
    }
}
