//! The statistics of `make bench-truth`, on values computed by hand.

#[path = "../benches/truth/statistics.rs"]
mod statistics;

use statistics::{error, median, rank_correlation};

fn correlation(left: &[f64], right: &[f64]) -> Option<f64> {
    let pairs: Vec<(f64, f64)> = left.iter().copied().zip(right.iter().copied()).collect();
    rank_correlation(&pairs)
}

#[test]
fn any_ascending_function_correlates_fully_and_any_descending_one_inversely() {
    let values = [3.0, 1.0, 2.0, 10.0];
    let (cubes, inverses) = (values.map(|v| v * v * v), values.map(|v| 1.0 / v));
    assert_eq!(correlation(&values, &cubes), Some(1.0));
    assert_eq!(correlation(&values, &inverses), Some(-1.0));
}

#[test]
fn without_ties_it_is_spearmans_formula() {
    // Ranks 1 2 3 4 5 and 2 1 4 3 5: the squares of differences add up to 4, 1 - 6 * 4 / (5 * 24).
    let found = correlation(&[0.1, 0.2, 0.3, 0.4, 0.5], &[7.0, 6.0, 9.0, 8.0, 10.0]);
    assert!((found.unwrap() - 0.8).abs() < 1e-12, "{found:?}");
}

#[test]
fn equal_values_share_the_mean_of_their_ranks() {
    // Ranks 1.5 1.5 3 and 1 2 3: products 1.5, squares 1.5 and 2.
    let found = correlation(&[5.0, 5.0, 6.0], &[1.0, 2.0, 3.0]);
    assert!(
        (found.unwrap() - 1.5 / 3.0_f64.sqrt()).abs() < 1e-12,
        "{found:?}"
    );
}

#[test]
fn there_is_no_correlation_of_one_pair_or_with_a_constant() {
    assert_eq!(correlation(&[1.0], &[2.0]), None);
    assert_eq!(correlation(&[], &[]), None);
    assert_eq!(correlation(&[1.0, 1.0], &[1.0, 2.0]), None);
}

#[test]
fn errors_are_shares_of_what_was_measured() {
    assert_eq!(error(1.5, 2.0), 0.25);
    assert_eq!(error(2.5, 2.0), 0.25);
    assert_eq!(median(vec![0.5, 0.1, 0.2]), Some(0.2));
    assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
    assert_eq!(median(Vec::new()), None);
}
