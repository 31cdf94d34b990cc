//! A split compared with one core, as JSON.

use corehop_partitioner::Comparison;
use serde_json::{Value, json};

/// Returns the counters of each side, and the number of their requests.
pub fn value(comparison: &Comparison) -> Value {
    json!({
        "requests": comparison.requests,
        "baseline": comparison.baseline,
        "split": comparison.split,
    })
}
