//! One picture: a drawing, its text alternative, and the table of its numbers.

use crate::drawing::chart::Drawing;
use crate::drawing::table::Table;
use corehop_partitioner::attribution::Explanation;
use corehop_simulator::LevelCounters;

/// One picture.
pub struct Picture {
    /// Name of its files, and its anchor in the page.
    pub name: String,
    pub title: String,
    /// A hint on how to read it, in a sentence or two.
    pub hint: String,
    /// Text alternative for readers who do not see it.
    pub said: String,
    pub drawing: Drawing,
    pub table: Table,
}

/// Classes and meanings of the two parts of a bar of misses.
pub const KINDS: [(&str, &str); 2] = [("fetch", "fetches"), ("data", "loads and stores")];

/// Misses of a level, in the order of [`KINDS`].
pub fn kinds(level: &LevelCounters) -> [u64; 2] {
    [level.fetch_misses(), level.data_misses()]
}

/// Returns the average per counted request.
pub fn per_request(explained: &Explanation<'_>, count: u64) -> f64 {
    count as f64 / explained.after.0.requests.max(1) as f64
}

/// Fewer misses per request than this have no percentage: one miss would be many percent.
const FEW: f64 = 10.0;

/// Formats the change of misses per request: in percent, or in misses if they are few.
pub fn changed(before: f64, after: f64) -> String {
    match before {
        FEW.. => corehop_support::format::number::change(after / before),
        _ if before == after => String::new(),
        _ => format!("{:+.1}", after - before),
    }
}

/// Formats a change in brackets; empty if there is none.
pub fn in_brackets(change: &str) -> String {
    match change {
        "" => String::new(),
        change => format!(" ({change})"),
    }
}

/// Formats a number, with one decimal only if it is small.
pub fn told(number: f64) -> String {
    match number.abs() {
        0.0..1000.0 => format!("{number:.1}"),
        _ => corehop_support::format::number::grouped(number.round() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_misses_change_by_misses_and_many_by_percent() {
        let of = |before, after| in_brackets(&changed(before, after));
        assert_eq!(of(3642.0, 1403.0), " (-61.5 %)");
        assert_eq!(of(10.0, 10.0), " (+0.0 %)");
        assert_eq!(of(3.0, 30.0), " (+27.0)");
        assert_eq!(of(0.0, 0.25), " (+0.2)");
        assert_eq!(of(0.0, 0.0), "");
    }
}
