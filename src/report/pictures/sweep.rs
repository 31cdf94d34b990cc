//! The best split for each number of cores on each machine of a sweep.
//!
//! elsewhere.rs has this plan on other machines, which are not what it was made for.

use super::super::chart::{Drawing, Part, scale};
use super::super::sweep::{Row, Sweep};
use super::super::table::Table;
use super::{Picture, told};
use crate::number::change_between;

/// Room for the names of bars.
const NAMES: f64 = 62.0;

/// L2 misses of a request on one core, and of the best split over 2 cores and more.
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
    let most = sweep.rows.iter().flat_map(Row::misses);
    let scale = scale(NAMES, most.fold(0.0, f64::max), 16);
    drawing.legend(&[("cold", "one core"), ("own", "the best split")]);
    let mut best = Vec::new();
    for rows in sweep.by_machine() {
        let machine = &rows[0].machine;
        drawing.heading(machine);
        let mut bar = |class, name: &str, value: f64, brackets: &str| {
            let part = Part {
                class,
                value,
                label: format!("{machine}, {name}: {} misses", told(value)),
            };
            let said = format!("{}{brackets}", told(value));
            drawing.bar((name, NAMES), scale, &[part], &said);
        };
        bar("cold", "one core", rows[0].misses()[0], "");
        for row in rows {
            let saved = change_between(row.baseline.l2.misses, row.split.l2.misses);
            let [before, after] = row.misses();
            bar(
                "own",
                &format!("{} cores", row.cores),
                after,
                &format!(" ({saved})"),
            );
            let even = row.break_even_hop_cycles.filter(|even| *even > 0.0);
            table.row([
                machine.clone(),
                row.cores.to_string(),
                format!("{before:.2}"),
                format!("{after:.2}"),
                saved,
                format!("{:.2}", row.hops as f64 / row.requests as f64),
                even.map_or("none".into(), |cycles| format!("{cycles:.0}")),
                change_between(row.baseline.cycles, row.split.cycles),
            ]);
        }
        let ratio = |row: &&Row| row.misses()[1] / row.misses()[0].max(1.0);
        let fewest = rows.iter().min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        best.extend(
            fewest
                .filter(|row| row.split.l2.misses < row.baseline.l2.misses)
                .map(|row| {
                    let saved = change_between(row.baseline.l2.misses, row.split.l2.misses);
                    format!("{machine} {saved} on {} cores", row.cores)
                }),
        );
    }
    Picture {
        name: "sweep".into(),
        title: "The best splits elsewhere".into(),
        hint: format!(
            "L2 misses of a request, each split searched for its own machine and number of cores \
             and judged on requests not searched; the sweep is of {}.",
            sweep.trace
        ),
        said: match &best[..] {
            [] => "No split has fewer L2 misses than one core.".into(),
            some => format!("Fewest L2 misses beside one core: {}.", some.join(", ")),
        },
        drawing,
        table,
    }
}
