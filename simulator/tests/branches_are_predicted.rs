//! Branch predictors equal naive ones on random branches, and are right where their rules say so.

use crate::timing::against_naive::predictors::Naive;
use corehop_simulator::branches::{Branch, Predictor, Way};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn branch(way: Way, pc: u64, target: u64) -> Branch {
    Branch {
        way,
        pc,
        behind: pc + 2,
        target,
        calls: false,
    }
}

fn conditional(pc: u64, taken: bool) -> Branch {
    let target = if taken { pc + 100 } else { pc + 2 };
    branch(Way::Conditional, pc, target)
}

/// Returns the share of the last `counted` of these branches that are predicted wrongly.
fn share_mispredicted(branches: impl Iterator<Item = Branch>, counted: usize) -> f64 {
    let mut predictor = Predictor::new();
    let right: Vec<bool> = branches.map(|branch| predictor.predict(&branch)).collect();
    let last = &right[right.len() - counted..];
    last.iter().filter(|&&is_right| !is_right).count() as f64 / counted as f64
}

/// Branches of a program of `places`, some of which follow earlier ones, repeat or are random.
fn program(places: u64, seed: u64) -> impl FnMut() -> Branch {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut latest = [false; 40];
    let mut count = 0u64;
    move || {
        count += 1;
        let place = random.random_range(0..places);
        // Some places have the same index in tables.
        let pc = 0x40_0000 + place * if place % 3 == 0 { 2048 } else { 7 };
        let calls = random.random_range(0..4) == 0;
        let back = latest[(place * 5 % 40) as usize];
        match place % 8 {
            0 => Branch {
                calls,
                ..branch(Way::Indirect, pc, pc + 64 * random.random_range(1..4))
            },
            1 => branch(
                Way::Return,
                pc,
                0x40_0000 + 7 * random.random_range(0..places) + 2,
            ),
            2 => Branch {
                calls,
                ..branch(Way::Fixed, pc, pc + 9)
            },
            kind => {
                let taken = match kind {
                    3 => random.random_range(0..2) == 0,
                    4 => back,
                    5 => count.is_multiple_of(place + 2),
                    _ => random.random_range(0..20) != 0,
                };
                latest.rotate_right(1);
                latest[0] = taken;
                conditional(pc, taken)
            }
        }
    }
}

#[test]
fn predictors_equal_naive_ones() {
    // The first program is long enough for useful counters to be halved, twice.
    let programs = [(60, 900_000), (3, 20_000), (900, 60_000), (9000, 60_000)];
    for (seed, (places, length)) in programs.into_iter().enumerate() {
        let mut next = program(places, seed as u64);
        let (mut predictor, mut naive) = (Predictor::new(), Naive::default());
        let mut wrong = 0;
        for number in 0..length {
            let branch = next();
            let is_right = predictor.predict(&branch);
            let expected = naive.predict(&branch);
            assert_eq!(is_right, expected, "{places} places, {number}: {branch:?}");
            wrong += u32::from(!is_right);
        }
        assert!(wrong > length / 50, "{places} places: {wrong}");
    }
}

#[test]
fn a_pattern_is_learned_and_chance_is_not() {
    let of_period = |period: u64| (0..20_000).map(move |n| conditional(40, n % period == 0));
    for period in [2, 7, 40, 100] {
        assert_eq!(
            share_mispredicted(of_period(period), 10_000),
            0.0,
            "{period}"
        );
    }
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let by_chance = (0..20_000).map(|_| conditional(40, random.random()));
    let share = share_mispredicted(by_chance, 10_000);
    assert!((0.45..0.55).contains(&share), "{share}");
}

#[test]
fn a_branch_that_another_determines_is_learned() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let pair = |taken: bool| [conditional(40, taken), conditional(90, !taken)];
    let pairs = (0..10_000).flat_map(|_| pair(random.random()));
    // One of each pair is by chance.
    let share = share_mispredicted(pairs, 10_000);
    assert!((0.2..0.3).contains(&share), "{share}");
}

#[test]
fn returns_are_predicted_up_to_sixteen_deep() {
    let call = |depth: u64| Branch {
        calls: true,
        ..branch(Way::Fixed, 1000 + 10 * depth, 1010 + 10 * depth)
    };
    for (depth, wrong) in [(1, 0), (16, 0), (17, 1), (20, 4)] {
        let mut predictor = Predictor::new();
        for depth in 0..depth {
            assert!(predictor.predict(&call(depth)));
        }
        let returns = (0..depth).rev();
        let returns = returns.map(|depth| branch(Way::Return, 5000 + depth, call(depth).behind));
        let mispredicted = returns.filter(|branch| !predictor.predict(branch)).count();
        assert_eq!(mispredicted, wrong, "{depth}");
    }
}

#[test]
fn an_indirect_jump_goes_where_it_went_after_the_same_branches() {
    let jump = |taken: bool| branch(Way::Indirect, 70, if taken { 800 } else { 900 });
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let pair = |taken: bool| [conditional(40, taken), jump(taken)];
    let pairs = (0..40_000).flat_map(|_| pair(random.random()));
    // The branch before it is by chance.
    let share = share_mispredicted(pairs, 10_000);
    assert!((0.2..0.3).contains(&share), "{share}");
}
