//! A table with the size of each column of a trace file.

use crate::terminal::line::{Lines, line};
use corehop_support::format::number::grouped;
use corehop_traces::Trace;

/// Returns a line for each column, the largest first.
pub fn as_text(trace: &Trace, accesses: u64) -> Lines {
    let mut columns = trace.column_sizes();
    columns.sort_by_key(|column| std::cmp::Reverse(column.size_bytes));
    let accesses = accesses.max(1) as f64;
    let mut text = Lines::new();
    line!(
        text,
        "{:<30}{:>14}{:>14}{:>12}",
        "column",
        "in the file",
        "values",
        "an access"
    );
    for column in columns {
        let name = match column.column {
            "" => format!("{}, all else", column.entry),
            name => format!("{}.{name}", column.entry),
        };
        let [bytes, values] = [column.size_bytes, column.values_bytes].map(grouped);
        let share = column.size_bytes as f64 / accesses;
        line!(text, "{name:<30}{bytes:>14}{values:>14}{share:>12.4}");
    }
    text
}
