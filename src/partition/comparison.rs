//! A split compared with one core, as JSON.

use corehop_partitioner::Comparison;
use serde_json::{Value, json};

/// The counters of each side, and of how many requests they are.
pub fn value(comparison: &Comparison) -> Value {
    json!({
        "requests": comparison.requests,
        "baseline": comparison.baseline,
        "split": comparison.split,
    })
}
