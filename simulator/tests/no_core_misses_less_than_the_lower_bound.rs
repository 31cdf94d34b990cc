//! Compares the lower bound, which is computed without caches, with the misses of caches.
//!
//! Random programs run on random machines, where every kind of eviction is frequent. For every set
//! of occurrences, the lower bound must not exceed the misses of the simulated core. A machine
//! whose caches hold everything misses only on lines that it did not have.

use crate::entered::{Step, record};
use crate::random::{equal, machines};
use corehop_simulator::{
    CacheLevel, Inclusion, LANES, LowerBound, Machine, Prepared, PrivateReplay, ReplayOptions,
    Tally,
};
use corehop_traces::{FunctionId, Kind, Trace};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

const FUNCTIONS: u32 = 5;
const THREADS: u32 = 2;

fn programs() -> impl Strategy<Value = Vec<Step>> {
    let data = || vec((0u64..40, prop::bool::weighted(0.3)), 0..12);
    vec((0..THREADS, 0..FUNCTIONS, data()), 1..80)
}

fn l2_misses(tally: &Tally, kinds: &[Kind]) -> u64 {
    let misses = kinds.iter().map(|&kind| tally.misses(CacheLevel::L2, kind));
    misses.map(|misses| misses.total()).sum()
}

/// Calls `test` for every set partition and for as many sets as are counted together. Its arguments
/// are the lower bounds for fetches, for data, and for both, and the misses of a core.
fn compare(
    steps: &[Step],
    machine: &Machine,
    drawn: &[u64],
    test: impl Fn([u64; 3], [u64; 3], &Tally) -> TestCaseResult,
) -> TestCaseResult {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("random.trace");
    record(steps, FUNCTIONS, THREADS, &path).unwrap();
    let trace = Trace::open(&path).unwrap();
    let functions: Vec<FunctionId> = (0..FUNCTIONS).map(FunctionId).collect();
    let options = ReplayOptions::default();
    let prepared = Prepared::new(&trace, &[machine], &functions, &options).unwrap();
    let private_replay = PrivateReplay::new(&prepared, machine, 2).unwrap();
    let lower_bound = LowerBound::new(&private_replay);
    let words = drawn
        .iter()
        .cycle()
        .take(private_replay.occurrences().len());
    let runs: Vec<u64> = words.copied().collect();
    for set_partition in 0..private_replay.set_partitions() {
        let [fetches, data, both] = [[true, false], [false, true], [true, true]]
            .map(|counted| lower_bound.misses(set_partition, &runs, counted));
        for lane in 0..LANES {
            let runs: Vec<bool> = runs.iter().map(|lanes| lanes >> lane & 1 == 1).collect();
            let met = [both[0][lane], both[1][lane], both[2][lane]];
            let bounds = [
                fetches[0][lane] + fetches[2][lane],
                data[1][lane] + data[2][lane],
            ];
            let bounds = [bounds[0], bounds[1], met.iter().sum()];
            test(bounds, met, &private_replay.tally(set_partition, &runs))?;
        }
    }
    Ok(())
}

fn cases() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(300)
    }
}

/// A random machine whose cores share only the L3.
fn private(machine: Machine) -> Machine {
    let mut machine = machine;
    for level in [&mut machine.l1i, &mut machine.l1d, &mut machine.l2] {
        level.shared_by = 1;
    }
    machine
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn no_core_misses_less_than_the_lower_bound(
        steps in programs(), machine in machines(), drawn in vec(any::<u64>(), 100),
    ) {
        compare(&steps, &private(machine), &drawn, |[fetches, data, both], _, tally| {
            prop_assert!(fetches <= l2_misses(tally, &[Kind::Fetch]));
            prop_assert!(data <= l2_misses(tally, &[Kind::Load, Kind::Store]));
            prop_assert!(both <= l2_misses(tally, &[Kind::Fetch, Kind::Load, Kind::Store]));
            Ok(())
        })?;
    }

    #[test]
    fn caches_that_hold_everything_miss_only_what_the_core_had_not(
        steps in programs(), machine in machines(), drawn in vec(any::<u64>(), 100),
    ) {
        let mut machine = private(machine);
        for level in [&mut machine.l1i, &mut machine.l1d, &mut machine.l2] {
            (level.ways, level.size_bytes) = (64, level.sets() * 64 * 64);
        }
        machine.l2.inclusion = Inclusion::NonInclusive;
        machine.l3 = None;
        compare(&steps, &machine, &drawn, |_, [fetches, data, little], tally| {
            equal([fetches, data], [
                l2_misses(tally, &[Kind::Fetch]),
                l2_misses(tally, &[Kind::Load, Kind::Store]),
            ])?;
            equal(little, 0)
        })?;
    }
}
