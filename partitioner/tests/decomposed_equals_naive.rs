//! Compares the search's shortcuts with the naive way: replaying each split access by access.
//!
//! Programs have a few functions and lines. Machines have a few lines per level, with every policy,
//! so all kinds of eviction are frequent. Each program is written as a trace and searched. The
//! search's cost of a split is compared with the plain replay, which the simulator's tests compare
//! with an oracle that shares no code with it.

use crate::random::{equal, machines};
use crate::searched::{Aim, FUNCTIONS, ROUNDS, l2, large, programs, with_evaluator};
use crate::searching::{Patience, all_splits, cases, wanted};
use corehop_partitioner::checkpoint::{Checkpoint, Subject};
use corehop_partitioner::evaluate::{Evaluator, IndexedPlacement};
use corehop_partitioner::objective::Objective;
use corehop_partitioner::progress::{Progress, Silent};
use corehop_partitioner::strategy::{Ranking, Search, Strategy as How, search};
use corehop_simulator::Machine;
use corehop_traces::FunctionId;
use proptest::collection::vec;
use proptest::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Objectives that are sums over cores.
fn objectives() -> impl Strategy<Value = Objective> {
    prop_oneof![
        3 => Just(Objective::L2),
        1 => Just(Objective::L1),
        1 => Just(Objective::Fetch),
        1 => Just(Objective::Data),
        2 => Just(Objective::Cycles),
    ]
}

/// One or two machines.
fn some_machines() -> impl Strategy<Value = Vec<Machine>> {
    prop_oneof![vec(machines(), 1), vec(machines(), 2)]
}

fn ranking(evaluator: &mut Evaluator<'_>, cores: (u32, u32), strategy: Option<How>) -> Ranking {
    watched(evaluator, cores, strategy, &Silent)
}

fn watched(
    evaluator: &mut Evaluator<'_>,
    cores: (u32, u32),
    strategy: Option<How>,
    progress: &dyn Progress,
) -> Ranking {
    let wanted = Search {
        progress,
        ..wanted(cores, strategy)
    };
    search(evaluator, &wanted)
}

static POOLS: LazyLock<[ThreadPool; 3]> = LazyLock::new(|| {
    [1, 2, 3].map(|threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap()
    })
});

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn a_sum_over_cores_equals_a_replay(
        steps in programs(), machines in some_machines(), is_alone in prop::bool::weighted(0.9),
        objective in objectives(), cores in 1u32..5, shared in 0u32..3,
    ) {
        let machines: Vec<Machine> = machines.into_iter().map(|m| large(m, is_alone)).collect();
        with_evaluator(&steps, &Aim(objective, &machines), |evaluator, naive| {
            let splits = all_splits(FUNCTIONS, FUNCTIONS.min(cores + shared), cores);
            for (split, misses) in splits.iter().zip(evaluator.evaluate(&splits)) {
                equal(misses, naive(split))?;
            }
            Ok(())
        })?;
    }

    #[test]
    fn what_is_said_to_be_optimal_is_what_brute_force_finds(
        steps in programs(), machines in some_machines(), objective in objectives(),
        cores in 1u32..7,
    ) {
        let machines: Vec<Machine> = machines.into_iter().map(|m| large(m, true)).collect();
        with_evaluator(&steps, &Aim(objective, &machines), |evaluator, naive| {
            let of = |split: IndexedPlacement| (naive(&split), split);
            let splits = all_splits(FUNCTIONS, cores, cores);
            let mut brute: Vec<_> = splits.into_iter().map(of).collect();
            brute.sort();
            brute.truncate(3);
            for strategy in [None, Some(How::Exhaustive), Some(How::Bound)] {
                let ranking = ranking(evaluator, (cores, cores), strategy);
                equal(&ranking.best, &brute)?;
                equal((ranking.lower_bound, ranking.is_optimal()), (brute[0].0, true))?;
            }
            for strategy in [How::Local, How::Random] {
                let ranking = ranking(evaluator, (cores, cores), Some(strategy));
                prop_assert!(ranking.lower_bound <= brute[0].0 && brute[0].0 <= ranking.best[0].0);
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
        with_evaluator(&steps, &l2(&machine), |evaluator, naive| {
            let of = |split: IndexedPlacement| (naive(&split), split);
            let splits = all_splits(FUNCTIONS, functions, cores);
            let mut brute: Vec<_> = splits.iter().cloned().map(of).collect();
            brute.sort();
            brute.truncate(3);
            for strategy in [None, Some(How::Exhaustive)] {
                let ranking = ranking(evaluator, (functions, cores), strategy);
                equal(&ranking.best, &brute)?;
                equal((ranking.lower_bound, ranking.is_optimal()), (brute[0].0, true))?;
            }
            for strategy in [How::Bound, How::Local, How::Random] {
                let ranking = ranking(evaluator, (functions, cores), Some(strategy));
                prop_assert!(ranking.lower_bound <= brute[0].0 && brute[0].0 <= ranking.best[0].0);
                prop_assert!(splits.contains(&ranking.best[0].1));
                prop_assert!(ranking.strategy != How::Bound, "{}", ranking.why);
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_search_without_time_has_a_lower_bound_below_every_split(
        steps in programs(), machines in some_machines(), objective in objectives(),
        cores in 1u32..5, microseconds in 0u64..20_000,
    ) {
        let machines: Vec<Machine> = machines.into_iter().map(|m| large(m, true)).collect();
        with_evaluator(&steps, &Aim(objective, &machines), |evaluator, naive| {
            let splits = all_splits(FUNCTIONS, cores, cores);
            let least = splits.iter().map(naive).min().unwrap();
            let wanted = Search {
                until: Some(Instant::now() + Duration::from_micros(microseconds)),
                ..wanted((cores, cores), Some(How::Bound))
            };
            let ranking = search(evaluator, &wanted);
            prop_assert!(ranking.lower_bound <= least && least <= ranking.best[0].0);
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
            value: machine.name.clone(),
            functions: (0..FUNCTIONS).map(FunctionId).collect(),
            requests: Vec::new(),
            rounds: ROUNDS,
        };
        let checkpoint = || &*Box::leak(Box::new(Checkpoint::open(&path, Vec::new()).unwrap()));
        let mut whole = None;
        with_evaluator(&steps, &l2(&machine), |evaluator, _| {
            let ranking = ranking(evaluator, (cores, cores), Some(strategy));
            whole = Some((ranking, evaluator.sets_known()));
            Ok(())
        })?;
        let (whole, sets) = whole.unwrap();
        with_evaluator(&steps, &l2(&machine), |evaluator, _| {
            evaluator.keep_in(checkpoint(), subject());
            let patience = Patience(patience.into());
            let stopped = watched(evaluator, (cores, cores), Some(strategy), &patience);
            prop_assert!(!stopped.best.is_empty() && stopped.lower_bound <= whole.best[0].0);
            evaluator.keep();
            Ok(())
        })?;
        for _ in 0..2 {
            with_evaluator(&steps, &l2(&machine), |evaluator, _| {
                evaluator.keep_in(checkpoint(), subject());
                let resumed = ranking(evaluator, (cores, cores), Some(strategy));
                equal(format!("{resumed:?}"), format!("{whole:?}"))?;
                // Only requested sets count, whatever else the checkpoint contains.
                equal(evaluator.sets_known(), sets)?;
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
                pool.install(|| with_evaluator(&steps, &l2(&machine), |evaluator, _| {
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
