//! A prediction and its measurement.

use crate::statistics::error;
use serde_json::{Value, json};
use std::fmt;

/// Number of largest errors to list.
const NAMED: usize = 3;
const NAME_WIDTH: usize = 76;

/// The original's time divided by that with hops, predicted and measured.
pub struct Row {
    /// Group for the summary.
    pub kind: &'static str,
    pub name: String,
    pub predicted: f64,
    pub measured: f64,
}

impl Row {
    /// Returns the error relative to the measurement.
    pub fn error(&self) -> f64 {
        error(self.predicted, self.measured)
    }

    /// Renders JSON.
    pub fn json(&self) -> Value {
        json!({
            "kind": self.kind, "name": self.name, "predicted": self.predicted,
            "measured": self.measured, "error": self.error(),
        })
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (predicted, measured) = (self.predicted, self.measured);
        let percent = self.error() * 100.0;
        write!(
            f,
            "{}: {}: predicted {predicted:.2}, measured {measured:.2}, {percent:.0} % off",
            self.kind, self.name
        )
    }
}

/// Prints all rows, one per line.
pub fn print(rows: &[Row]) {
    println!("\nthe original's time by that with hops (above 1: faster)\n");
    println!(
        "{:<NAME_WIDTH$}{:>10}{:>10}{:>9}",
        "configuration", "predicted", "measured", "error"
    );
    for row in rows {
        let error = format!("{:.1} %", row.error() * 100.0);
        let name = format!("{}: {}", row.kind, row.name);
        println!(
            "{name:<NAME_WIDTH$}{:>10.2}{:>10.2}{error:>9}",
            row.predicted, row.measured
        );
    }
}

/// Returns the rows with the largest errors, the largest first.
pub fn largest_errors(rows: &[Row]) -> Vec<&Row> {
    let mut rows: Vec<&Row> = rows.iter().collect();
    rows.sort_by(|a, b| b.error().total_cmp(&a.error()));
    rows.truncate(NAMED);
    rows
}
