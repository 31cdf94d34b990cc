//! Renders the page's numbers for programs; `corehop schema report --keys` explains them.

use super::{encode, reproduction};
use crate::contents::{FUNCTIONS, Report};
use crate::search_space::space::SearchSpace;
use serde_json::Value;

/// Renders all data of the page except for the cells.
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
