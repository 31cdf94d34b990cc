//! How well predictions order the measurements, and the size of their errors.
//!
//! The order is measured by the rank correlation that is also used to characterize functions. An
//! error is relative to the measurement; its median is robust against a few outliers.

pub use corehop_measure::rank::spearman as rank_correlation;

/// Returns the error of a prediction as a share of the measurement.
pub fn error(predicted: f64, measured: f64) -> f64 {
    (predicted - measured).abs() / measured
}

/// Returns the median of some values, or the mean of the two in the middle.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        count if count % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}
