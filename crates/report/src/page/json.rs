//! The numbers of the page for programs; `corehop schema report --keys` says what they mean.

use super::{encode, reproduction};
use crate::contents::{FUNCTIONS, Report};
use crate::search_space::space::SearchSpace;
use serde_json::Value;

/// Everything that the page knows, but for its cells.
pub fn render(report: &Report<'_>) -> Value {
    let mut object = corehop_partitioner::attribution::json::render(report.explained, FUNCTIONS);
    let pictured = report.pictured.iter();
    let pictured = pictured.map(|of| encode::summary(of, report.explained.trace));
    object["sources"] = serde_json::json!(report.sources.all());
    object["pictured"] = pictured.collect();
    object["space"] = report.space.as_ref().map(SearchSpace::json).into();
    object["sweep"] = serde_json::json!(report.sweep);
    object["repeat"] = reproduction::json(report);
    object
}
