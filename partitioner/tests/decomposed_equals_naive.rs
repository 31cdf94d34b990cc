//! The search's shortcuts against the obvious way: replaying each split access by access.
//!
//! Programs of a few functions and lines, on machines of a few lines a level with every policy, so
//! that all kinds of eviction are frequent. Each is written as a trace and searched; what the
//! search says of a split is held against the plain replay, which the simulator's tests in turn
//! hold against an oracle that shares nothing with it.

#[path = "../../traces/tests/definitions/mod.rs"]
mod definitions;
#[path = "../../simulator/tests/random/mod.rs"]
mod random;

use corehop_partitioner::checkpoint::{Checkpoint, Subject};
use corehop_partitioner::evaluate::{Choice, Evaluator, cores_of};
use corehop_partitioner::progress::{Progress, Silent};
use corehop_partitioner::strategy::{Ranking, Search, Strategy as How, search};
use corehop_simulator::{Alone, Machine, Prepared, ReplayOptions, Replayer, Split};
use corehop_traces::{EndReason, Kind, Trace, WriterOptions};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use random::{equal, machines};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

const FUNCTIONS: u32 = 6;
/// How often programs are replayed in a row.
const ROUNDS: usize = 2;
const CODE: u64 = 0x10_000;

/// One execution: thread, function entered, line addresses touched and whether by a store.
type Step = (u32, u32, Vec<(u64, bool)>);

/// Calls in any order, or round after round in nearly the same one, as servers make them.
fn programs() -> impl Strategy<Value = Vec<Step>> {
    let data = || vec((0u64..40, prop::bool::weighted(0.3)), 0..8);
    let any_order = vec((0u32..3, 0..FUNCTIONS, data()), 1..60);
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

fn record(steps: &[Step], path: &Path) -> Result<(), corehop_traces::Error> {
    let (mut writer, module) = definitions::begin(path, &WriterOptions::default(), "f0", CODE)?;
    for number in 0..FUNCTIONS {
        let function = (&*format!("f{number}"), u64::from(number) * 64);
        definitions::function(&mut writer, (module, CODE), function, None)?;
    }
    for thread in 0..3 {
        writer.thread(1, thread)?;
    }
    for (stamp, (thread, function, data)) in (1..).zip(steps) {
        writer.stamp(*thread, stamp)?;
        writer.execution(*thread, *function)?;
        for &(line, store) in data {
            let kind = if store { Kind::Store } else { Kind::Load };
            writer.data(*thread, 0, kind, 8, line * 64)?;
        }
    }
    writer.finish(EndReason::Interrupted)?;
    Ok(())
}

/// A random machine of 8 cores, without the L3, which the ranking leaves out.
fn large(machine: Machine, is_alone: bool) -> Machine {
    let mut machine = Machine {
        cores: 8,
        l3: None,
        ..machine
    };
    if is_alone {
        let levels = [&mut machine.l1i, &mut machine.l1d, &mut machine.l2];
        levels.into_iter().for_each(|level| level.shared_by = 1);
    }
    machine
}

/// Every split at `chosen` functions over `cores` cores, each once: functions by counting in
/// binary, cores by counting to their base, those that number cores by their first functions kept.
fn all_splits(chosen: u32, cores: u32) -> Vec<Choice> {
    let functions = |mask: u32| (0..FUNCTIONS).filter(move |f| mask >> f & 1 == 1);
    let masks = (0..1u32 << FUNCTIONS).filter(|mask| mask.count_ones() == chosen);
    let numbers = 0..cores.pow(chosen);
    let placed = masks.flat_map(|mask| {
        let placed = move |number: u32| -> Choice {
            let core = move |place: u32| number / cores.pow(place) % cores;
            functions(mask).zip((0..).map(core)).collect()
        };
        numbers.clone().map(placed)
    });
    placed
        .filter(|split| cores_of(split) as u32 == cores && is_numbered(split))
        .collect()
}

/// Whether each core's first function comes after those of all lower cores.
fn is_numbered(split: &Choice) -> bool {
    let is_next = |place: usize| split[place].1 as usize <= used(&split[..place]);
    (0..split.len()).all(is_next)
}

fn used(split: &[(u32, u32)]) -> usize {
    let cores: std::collections::BTreeSet<u32> = split.iter().map(|&(_, core)| core).collect();
    cores.len()
}

fn naive(trace: &Trace, machine: &Machine, split: &Choice) -> u64 {
    let split = Split::new(split.iter().copied());
    let mut replayer = Replayer::new(machine, &split).unwrap();
    for _ in 0..ROUNDS {
        let mut executions = trace.executions();
        while let Some(execution) = executions.next().unwrap() {
            replayer.execute(&execution);
        }
    }
    replayer.finish().counters.l2.misses()
}

/// Hands an evaluator of the program to `test`, with what a plain replay of any split misses.
fn with_evaluator(
    steps: &[Step],
    machine: &Machine,
    test: impl FnOnce(&mut Evaluator<'_>, &dyn Fn(&Choice) -> u64) -> TestCaseResult,
) -> TestCaseResult {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("random.trace");
    record(steps, &path).unwrap();
    let trace = Trace::open(&path).unwrap();
    let functions: Vec<u32> = (0..FUNCTIONS).collect();
    let options = ReplayOptions::default();
    let prepared = Prepared::new(&trace, &[machine], &functions, &options).unwrap();
    let alone = Alone::new(&prepared, machine, ROUNDS);
    let mut evaluator = match &alone {
        Some(alone) => Evaluator::new(alone, &functions),
        None => Evaluator::in_full(&prepared, machine, &functions, ROUNDS),
    };
    test(&mut evaluator, &|split| naive(&trace, machine, split))
}

fn ranking(evaluator: &mut Evaluator<'_>, cores: (u32, u32), strategy: Option<How>) -> Ranking {
    watched(evaluator, cores, strategy, &Silent)
}

fn watched(
    evaluator: &mut Evaluator<'_>,
    (functions, cores): (u32, u32),
    strategy: Option<How>,
    progress: &dyn Progress,
) -> Ranking {
    let wanted = Search {
        cores,
        functions,
        strategy,
        seed: 1,
        keep: 3,
        until: None,
        progress,
    };
    search(evaluator, &wanted)
}

/// Wants the search to end after it was asked so often.
struct Patience(AtomicI64);

impl Progress for Patience {
    fn begin(&self, _: &str, _: Option<u64>) {}
    fn advance(&self, _: u64) {}
    fn end(&self) {}
    fn is_stopped(&self) -> bool {
        self.0.fetch_sub(1, Ordering::Relaxed) <= 0
    }
}

static POOLS: LazyLock<[ThreadPool; 3]> = LazyLock::new(|| {
    [1, 2, 3].map(|threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap()
    })
});

fn cases(count: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(count)
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn a_sum_over_cores_equals_a_replay(
        steps in programs(), machine in machines(), is_alone in prop::bool::weighted(0.9),
        cores in 1u32..5, shared in 0u32..3,
    ) {
        let machine = large(machine, is_alone);
        with_evaluator(&steps, &machine, |evaluator, naive| {
            let splits = all_splits(FUNCTIONS.min(cores + shared), cores);
            for (split, misses) in splits.iter().zip(evaluator.evaluate(&splits)) {
                equal(misses, naive(split))?;
            }
            Ok(())
        })?;
    }

    #[test]
    fn what_is_said_to_be_optimal_is_what_brute_force_finds(
        steps in programs(), machine in machines(), cores in 1u32..7,
    ) {
        let machine = large(machine, true);
        with_evaluator(&steps, &machine, |evaluator, naive| {
            let of = |split: Choice| (naive(&split), split);
            let mut brute: Vec<_> = all_splits(cores, cores).into_iter().map(of).collect();
            brute.sort();
            brute.truncate(3);
            for strategy in [None, Some(How::Exhaustive), Some(How::Bound)] {
                let ranking = ranking(evaluator, (cores, cores), strategy);
                equal(&ranking.best, &brute)?;
                equal((ranking.floor, ranking.is_optimal()), (brute[0].0, true))?;
            }
            for strategy in [How::Local, How::Random] {
                let ranking = ranking(evaluator, (cores, cores), Some(strategy));
                prop_assert!(ranking.floor <= brute[0].0 && brute[0].0 <= ranking.best[0].0);
            }
            Ok(())
        })?;
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn several_functions_on_a_core_are_searched_as_brute_force_does(
        steps in programs(), machine in machines(), is_alone in prop::bool::weighted(0.9),
        cores in 1u32..4, more in 1u32..3,
    ) {
        let machine = large(machine, is_alone);
        let functions = cores + more;
        with_evaluator(&steps, &machine, |evaluator, naive| {
            let of = |split: Choice| (naive(&split), split);
            let mut brute: Vec<_> = all_splits(functions, cores).into_iter().map(of).collect();
            brute.sort();
            brute.truncate(3);
            for strategy in [None, Some(How::Exhaustive)] {
                let ranking = ranking(evaluator, (functions, cores), strategy);
                equal(&ranking.best, &brute)?;
                equal((ranking.floor, ranking.is_optimal()), (brute[0].0, true))?;
            }
            for strategy in [How::Bound, How::Local, How::Random] {
                let ranking = ranking(evaluator, (functions, cores), Some(strategy));
                prop_assert!(ranking.floor <= brute[0].0 && brute[0].0 <= ranking.best[0].0);
                prop_assert!(all_splits(functions, cores).contains(&ranking.best[0].1));
                prop_assert!(ranking.strategy != How::Bound, "{}", ranking.why);
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_search_without_time_has_a_floor_below_every_split(
        steps in programs(), machine in machines(), cores in 1u32..5, microseconds in 0u64..20_000,
    ) {
        let machine = large(machine, true);
        with_evaluator(&steps, &machine, |evaluator, naive| {
            let splits = all_splits(cores, cores);
            let least = splits.iter().map(naive).min().unwrap();
            let wanted = Search {
                cores,
                functions: cores,
                strategy: Some(How::Bound),
                seed: 1,
                keep: 3,
                until: Some(Instant::now() + Duration::from_micros(microseconds)),
                progress: &Silent,
            };
            let ranking = search(evaluator, &wanted);
            prop_assert!(ranking.floor <= least && least <= ranking.best[0].0);
            prop_assert!(ranking.stopped || ranking.is_optimal());
            Ok(())
        })?;
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn a_search_that_was_stopped_ends_as_one_that_was_not(
        steps in programs(), machine in machines(), is_alone in prop::bool::weighted(0.8),
        cores in 1u32..5, patience in 0i64..12, strategy in 0usize..4,
    ) {
        let machine = large(machine, is_alone);
        let strategy = [How::Exhaustive, How::Bound, How::Local, How::Random][strategy];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("search.checkpoint");
        let subject = || Subject {
            machine: machine.name.clone(),
            functions: (0..FUNCTIONS).collect(),
            requests: Vec::new(),
            rounds: ROUNDS,
        };
        let checkpoint = || &*Box::leak(Box::new(Checkpoint::open(&path, Vec::new()).unwrap()));
        let mut whole = None;
        with_evaluator(&steps, &machine, |evaluator, _| {
            let ranking = ranking(evaluator, (cores, cores), Some(strategy));
            whole = Some((ranking, evaluator.sets_known()));
            Ok(())
        })?;
        let (whole, sets) = whole.unwrap();
        with_evaluator(&steps, &machine, |evaluator, _| {
            evaluator.keep_in(checkpoint(), subject());
            let patience = Patience(patience.into());
            let stopped = watched(evaluator, (cores, cores), Some(strategy), &patience);
            prop_assert!(!stopped.best.is_empty() && stopped.floor <= whole.best[0].0);
            evaluator.keep();
            Ok(())
        })?;
        for _ in 0..2 {
            with_evaluator(&steps, &machine, |evaluator, _| {
                evaluator.keep_in(checkpoint(), subject());
                let before = evaluator.sets_known();
                let resumed = ranking(evaluator, (cores, cores), Some(strategy));
                equal(format!("{resumed:?}"), format!("{whole:?}"))?;
                // A search that is over before it has anything evaluates one split that others need
                // not meet.
                let most = sets + cores as usize;
                prop_assert!(before <= most);
                prop_assert!((sets..=most).contains(&evaluator.sets_known()));
                evaluator.keep();
                Ok(())
            })?;
        }
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn the_number_of_host_threads_changes_nothing(
        steps in programs(), machine in machines(), is_alone in any::<bool>(), cores in 1u32..5,
    ) {
        let machine = large(machine, is_alone);
        for strategy in [How::Exhaustive, How::Bound, How::Local, How::Random] {
            let on = |pool: &ThreadPool| {
                let mut said = String::new();
                pool.install(|| with_evaluator(&steps, &machine, |evaluator, _| {
                    said = format!("{:?}", ranking(evaluator, (cores, cores), Some(strategy)));
                    Ok(())
                })).unwrap();
                said
            };
            let [one, two, three] = POOLS.each_ref().map(on);
            prop_assert_eq!(&one, &two);
            prop_assert_eq!(&one, &three);
        }
    }
}
