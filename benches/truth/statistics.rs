//! How well predictions order what was measured, and how far they are off.
//!
//! Spearman's rank correlation is Pearson's of the ranks, where equal values have the mean of their
//! ranks (Spearman, "The proof and measurement of association between two things", 1904; with ties
//! as in Kendall and Gibbons, *Rank Correlation Methods*, 5th edition, 1990, chapter 3). An error
//! is relative to what was measured; of errors there is the median, which a few wild ones do not
//! move.

/// Spearman's rank correlation of pairs; nothing for fewer than two, or where all are equal on one
/// side.
pub fn rank_correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let [left, right] = [|pair: &(f64, f64)| pair.0, |pair: &(f64, f64)| pair.1]
        .map(|side| ranks(&pairs.iter().map(side).collect::<Vec<_>>()));
    // The mean of ranks is the same with ties and without.
    let mean = (pairs.len() as f64 + 1.0) / 2.0;
    let product = |one: &[f64], other: &[f64]| -> f64 {
        let pairs = one.iter().zip(other);
        pairs.map(|(a, b)| (a - mean) * (b - mean)).sum()
    };
    let spread = (product(&left, &left) * product(&right, &right)).sqrt();
    (spread > 0.0).then(|| product(&left, &right) / spread)
}

/// The place of each value in ascending order, from 1; equal values have their places' mean.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = before as f64 + (equal.len() as f64 + 1.0) / 2.0;
        for &place in equal {
            ranks[place] = rank;
        }
        before += equal.len();
    }
    ranks
}

/// How far a prediction is off, as a share of what was measured.
pub fn error(predicted: f64, measured: f64) -> f64 {
    (predicted - measured).abs() / measured
}

/// The middle of some values, or the mean of the two in the middle.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        count if count % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}
