//! The exact results of `auto` for synthetic loads. `needs_two_cpus/auto.rs` measures real loads
//! while other programs run.

use crate::workshop::{build_alone, run};
use std::collections::BTreeMap;
use std::process::Command;

/// The results of the runtime's own file in these trials (`fixtures/decides.c`).
fn decided<const TRIALS: usize>(trials: [&[&str]; TRIALS]) -> [String; TRIALS] {
    let folder = tempfile::tempdir().unwrap();
    let program = build_alone(folder.path(), "decides");
    trials.map(|trial| {
        let ran = run(Command::new(&program).args(trial));
        assert!(ran.status.success(), "{trial:?}: {}", ran.errors);
        ran.output
    })
}

#[test]
fn nine_wins_or_four_losses_in_a_row_are_an_answer_by_windows_of_a_hundred_requests() {
    let answers = decided([
        &["answers", "2000", "3000"],
        &["answers", "2000", "1250"],
        // Equal is not better.
        &["answers", "2000", "2000"],
        &["answers", "20", "30"],
    ]);
    let expected = [
        "gain, trials 1, pairs 9, won 9, window 50000\n",
        "no gain, trials 1, pairs 4, won 0, window 50000\n",
        "no gain, trials 1, pairs 4, won 0, window 50000\n",
        "gain, trials 1, pairs 9, won 9, window 500000\n",
    ];
    assert_eq!(answers, expected);
}

#[test]
fn a_load_that_comes_late_has_the_windows_of_one_that_was_there() {
    let [late] = decided([&["late", "2000", "1250"]]);
    assert_eq!(late, "no gain, trials 1, pairs 4, won 0, window 50000\n");
}

#[test]
fn a_burst_keeps_no_thread_once_hops_do_not_pay_and_a_new_load_is_looked_at() {
    let [rests] = decided([&["rests"]]);
    assert_eq!(
        rests,
        "stays 0, trials 1\nafter 13 s: gain, trials 2, pairs 9, won 9, window 25000\n"
    );
}

/// The probability of each end of a trial if hops win each pair with this probability: a gain, no
/// gain, and no answer. It follows Wald's test in auto.c, pair by pair.
fn probabilities(wins: f64) -> [f64; 3] {
    let (mut gain, mut no_gain) = (0.0, 0.0);
    let mut going_on = BTreeMap::from([(0, 1.0)]);
    for _ in 0..40 {
        let mut next = BTreeMap::new();
        for (evidence, probability) in going_on {
            for (step, share) in [(470, wins), (-916, 1.0 - wins)] {
                *match evidence + step {
                    3861.. => &mut gain,
                    ..=-2976 => &mut no_gain,
                    evidence => next.entry(evidence).or_default(),
                } += probability * share;
            }
        }
        going_on = next;
    }
    [gain, no_gain, going_on.values().sum()]
}

/// Hops win half of the pairs, or four in five: the errors stated in auto.c. These trials have
/// fixed random numbers, so the outcome is always the same. A correct program exceeds the bounds of
/// four standard deviations with one in 15 000 choices of random numbers.
#[test]
fn a_trial_errs_as_seldom_as_walds_test() {
    const TRIALS: u32 = 20_000;
    let trials = &*TRIALS.to_string();
    let gains = decided([&["errors", "50", trials], &["errors", "80", trials]]);
    let gains = gains.map(|count| count.trim().parse::<f64>().unwrap());
    let half = probabilities(0.5);
    let most = probabilities(0.8);
    for (counted, [gain, ..]) in gains.into_iter().zip([half, most]) {
        let expected = f64::from(TRIALS) * gain;
        let deviation = (expected * (1.0 - gain)).sqrt();
        assert!(
            (counted - expected).abs() < 4.0 * deviation,
            "{counted}, not {expected}"
        );
    }
    assert!(half[0] < 0.02, "{half:?}");
    assert!(most[1] < 0.05 && most[2] < 0.065, "{most:?}");
}
