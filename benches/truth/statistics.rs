//! How well predictions order what was measured, and how far they are off.
//!
//! The order is told by the rank correlation by which functions are characterised. An error is
//! relative to what was measured; of errors there is the median, which a few wild ones do not move.

pub use corehop_measure::rank::spearman as rank_correlation;

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
