//! Draws the best split for each number of cores on each machine of a sweep.
//!
//! elsewhere.rs shows this plan on other machines, for which it was not made.

use super::picture::{Picture, changed, in_brackets, told};
use crate::drawing::chart::{BarPart, Drawing, scale};
use crate::drawing::table::Table;
use crate::search_space::sweep::{Sweep, SweepRow};
use corehop_support::format::number::change_between;

/// Width reserved for the names of bars.
const NAMES: f64 = 62.0;

/// Draws L2 misses per request on one core, and of the best split over 2 cores or more.
pub fn machines(sweep: &Sweep) -> Picture {
    let mut drawing = Drawing::default();
    let mut table = Table::new(&[
        "machine",
        "cores",
        "one core",
        "split",
        "change",
        "hops",
        "break-even",
        "change of cycles",
    ]);
    let most = sweep.rows.iter().flat_map(SweepRow::misses);
    let scale = scale(NAMES, most.fold(0.0, f64::max), 16);
    drawing.legend(&[("cold", "one core"), ("own", "the best split")]);
    let mut best = Vec::new();
    for rows in sweep.by_machine() {
        let machine = &rows[0].machine;
        drawing.heading(machine);
        let mut bar = |class, name: &str, value: f64, brackets: &str| {
            let part = BarPart {
                class,
                value,
                label: format!("{machine}, {name}: {} misses", told(value)),
            };
            let said = format!("{}{brackets}", told(value));
            drawing.bar((name, NAMES), scale, &[part], &said);
        };
        bar("cold", "one core", rows[0].misses()[0], "");
        for row in rows {
            let [_, after] = row.misses();
            bar(
                "own",
                &format!("{} cores", row.cores),
                after,
                &in_brackets(&saved(row)),
            );
            table.row(numbers(row));
        }
        best.extend(fewest(rows));
    }
    Picture {
        name: "sweep".into(),
        title: "Best splits on other machines".into(),
        hint: format!(
            "L2 misses of a request. Each split was searched for its machine and number of cores, \
             and evaluated on held-out requests; the sweep is of {}.",
            sweep.trace
        ),
        said: match &best[..] {
            [] => "No split has fewer L2 misses than one core.".into(),
            some => format!(
                "Fewest L2 misses compared with one core: {}.",
                some.join(", ")
            ),
        },
        drawing,
        table,
    }
}

/// Returns a row of the table.
fn numbers(row: &SweepRow) -> [String; 8] {
    let [before, after] = row.misses();
    let even = row.break_even_hop_cycles.filter(|even| *even > 0.0);
    [
        row.machine.clone(),
        row.cores.to_string(),
        format!("{before:.2}"),
        format!("{after:.2}"),
        saved(row),
        format!("{:.2}", row.hops as f64 / row.requests as f64),
        even.map_or("none".into(), |cycles| format!("{cycles:.0}")),
        change_between(row.baseline.cycles, row.split.cycles),
    ]
}

fn saved(row: &SweepRow) -> String {
    let [before, after] = row.misses();
    changed(before, after)
}

/// Describes the number of cores with the fewest misses; `None` if splitting only adds misses.
fn fewest(rows: &[SweepRow]) -> Option<String> {
    let ratio = |row: &SweepRow| row.split.l2.misses as f64 / row.baseline.l2.misses.max(1) as f64;
    let best = rows
        .iter()
        .filter(|row| row.split.l2.misses < row.baseline.l2.misses)
        .min_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
    Some(format!(
        "{} {} on {} cores",
        best.machine,
        saved(best),
        best.cores
    ))
}
