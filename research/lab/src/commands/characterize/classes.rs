//! Tables of classes, of a trace's functions and of a profile's.

use corehop::terminal::line::{Lines, line};
use corehop_lab::characterize::classes::{
    Class, Classes, FunctionClasses, Sum, Totals, WorkingSet,
};
use corehop_support::format::number::share;

/// The property of a class that a table shows.
pub type Part = (&'static str, fn(&Class) -> u64, fn(&Sum) -> u64);

/// Number of lines.
pub const LINES: Part = ("lines", |class| class.lines, |sum| sum.lines);
/// Number of accesses.
pub const ACCESSES: Part = ("accesses", |class| class.accesses, |sum| sum.accesses);

/// The functions of a table.
pub struct Rows<'a> {
    /// The server's lines.
    pub totals: &'a Totals,
    /// Whether session-local and session-global lines are distinguished.
    pub are_sessions_told_apart: bool,
    /// Name, score and classes of each.
    pub rows: Vec<(String, f64, &'a FunctionClasses)>,
}

impl Rows<'_> {
    /// Prints a row for each function, after an empty line.
    pub fn table(&self, text: &mut Lines, working_set: WorkingSet, part: Part) {
        let apart = self.are_sessions_told_apart;
        let (what, of) = match working_set {
            WorkingSet::Data => ("data", &self.totals.data),
            WorkingSet::Code => ("code", &self.totals.code),
        };
        line!(text);
        line!(
            text,
            "share of all {what} {} (and of the function's accesses to them, stores)",
            part.0
        );
        let head: String = columns(apart).map(|c| format!("{c:>18}")).collect();
        line!(text, "{:>8}{head}  function", "score");
        for (name, score, classes) in &self.rows {
            let cells: String = of_columns(classes.of(working_set), apart)
                .into_iter()
                .map(|class| format!("{:>18}", cell(class, part, of)))
                .collect();
            let score = format!("{:.2} %", score * 100.0);
            line!(text, "{score:>8}{cells}  {name}");
        }
    }
}

/// Returns the names of the printed classes.
pub fn columns(are_sessions_told_apart: bool) -> impl Iterator<Item = &'static str> {
    let columns = match are_sessions_told_apart {
        true => &["PL/SL", "PL/SG", "PG/SL", "PG/SG"][..],
        false => &["PL", "PG"],
    };
    columns.iter().copied()
}

/// Returns the printed classes, in the order of their names.
pub fn of_columns(classes: &Classes, are_sessions_told_apart: bool) -> Vec<Class> {
    match are_sessions_told_apart {
        true => [(false, false), (false, true), (true, false), (true, true)]
            .map(|(phase, session)| classes.of(phase, session))
            .to_vec(),
        false => vec![classes.both(false), classes.both(true)],
    }
}

/// Formats one class as a cell: its share, and the share of stores in it.
fn cell(class: Class, (_, part, whole): Part, of: &Sum) -> String {
    let percent = share(part(&class), whole(of), 2);
    match class.update_ratio() {
        Some(ratio) => format!("{percent:>8} ({:>3.0} %)", ratio * 100.0),
        None => format!("{percent:>8} (    -)"),
    }
}
