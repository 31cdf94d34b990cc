//! One picture: a drawing, the sentence that stands for it where it is not seen, and the table of
//! its numbers.

use crate::drawing::chart::Drawing;
use crate::drawing::table::Table;
use corehop_partitioner::attribution::Explanation;
use corehop_simulator::LevelCounters;

/// One picture.
pub struct Picture {
    /// Name of its files, and its place in the page.
    pub name: String,
    pub title: String,
    /// What to look at, in a sentence or two.
    pub hint: String,
    /// What it shows, for those who do not see it.
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

/// Of all counted requests, each one's share.
pub fn per_request(explained: &Explanation<'_>, count: u64) -> f64 {
    count as f64 / explained.after.0.requests.max(1) as f64
}

/// So few misses a request are no base for a percentage: one more or less would be many percent.
const FEW: f64 = 10.0;

/// How misses of a request change: in percent, or, where they are few, in misses.
pub fn changed(before: f64, after: f64) -> String {
    match before {
        FEW.. => corehop_support::format::number::change(after / before),
        _ if before == after => String::new(),
        _ => format!("{:+.1}", after - before),
    }
}

/// What is said of a change behind a number; nothing of none.
pub fn in_brackets(change: &str) -> String {
    match change {
        "" => String::new(),
        change => format!(" ({change})"),
    }
}

/// A number of which a tenth is worth telling only while it is small.
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
