//! Prints the grid as a table and returns it as JSON.

use crate::grid::Grid;
use crate::native::Measured;
use crate::simulated::Rates;
use crate::text::TEXT;
use serde_json::{Value, json};

/// Prints ratios by working set and updates, as changes in percent.
pub fn changes(grid: &Grid, title: &str, ratios: &[f64]) {
    let words = grid.updates.iter().map(|updates| format!("{updates} %"));
    let row = |at: usize| ratios[at..at + grid.updates.len()].iter().copied();
    print(grid, (title, &words.collect::<Vec<_>>()), |at| {
        row(at).map(change).collect()
    });
}

/// Prints misses per hundred accesses: of each level without updates, and of the L2 when every
/// access writes, because writes cause misses there.
pub fn misses(grid: &Grid, found: &[[Rates; 2]]) {
    let levels = ["L1D", "L2", "L3", "L2, written"];
    let words = levels.map(|level| [level.to_owned(), "delegated".into()]);
    let last = grid.updates.len() - 1;
    print(grid, ("misses in 100 touches", &words.concat()), |at| {
        let pairs = [
            found[at].map(|rates| rates.l1d_misses),
            found[at].map(|rates| rates.l2_misses),
            found[at].map(|rates| rates.l3_misses),
            found[at + last].map(|rates| rates.coherence_misses),
        ];
        let shown = |misses: f64| format!("{:.2}", misses * 100.0);
        pairs.into_iter().flatten().map(shown).collect()
    });
}

/// Prints million accesses per second, in place and delegated, without updates and with updates
/// only.
pub fn rates(grid: &Grid, measured: &[Measured]) {
    let (first, last) = (grid.updates[0], grid.updates[grid.updates.len() - 1]);
    let words = [first, last].map(|u| [format!("at {u} %"), "delegated".into(), "ratio".into()]);
    print(grid, ("million touches a second", &words.concat()), |at| {
        let ends = [at, at + grid.updates.len() - 1];
        let shown = ends.map(|at| {
            let Measured { rates, ratio } = &measured[at];
            let [in_place, delegated] = rates.map(|rate| format!("{:.1}", rate / 1e6));
            [
                in_place,
                delegated,
                format!("{:.2}-{:.2}", ratio[0], ratio[2]),
            ]
        });
        shown.concat()
    });
}

/// Prints the thesis's figures and the same figures of these grids' ratios.
pub fn beside_text(grid: &Grid, all: &[(&str, &[f64])]) {
    let heads: String = all.iter().map(|(name, _)| format!("{name:>16}")).collect();
    println!("{:<36}{:>10}{heads}", "delegation changes", "text");
    for figure in &TEXT {
        let of = |(_, ratios): &(&str, &[f64])| {
            let ours = figure.of(grid, ratios);
            format!("{:>16}", ours.map_or_else(|| "-".into(), change))
        };
        let ours: String = all.iter().map(of).collect();
        println!("{:<36}{:>10}{ours}", figure.name, change(figure.ratio));
    }
}

/// Returns all points with their simulated figures.
pub fn figures(grid: &Grid, found: &[[Rates; 2]]) -> Value {
    let rates = |rates: &Rates| {
        json!({
            "touches_per_kcycle": rates.touches_per_kcycle, "l1d_misses": rates.l1d_misses,
            "l2_misses": rates.l2_misses, "l3_misses": rates.l3_misses,
            "coherence_misses": rates.coherence_misses,
        })
    };
    let point = |(point, [in_place, delegated]): (crate::simulated::Point, &[Rates; 2])| {
        json!({
            "working_set_kib": point.working_set_kib, "updates_percent": point.updates_percent,
            "in_place": rates(in_place), "delegated": rates(delegated),
        })
    };
    let points: Vec<Value> = grid.points().into_iter().zip(found).map(point).collect();
    json!({ "points": points })
}

/// Prints a row for each working set; `cells` receives the index of the row's first point.
fn print(grid: &Grid, (title, words): (&str, &[String]), cells: impl Fn(usize) -> Vec<String>) {
    let shown = |cells: &[String]| {
        let cells = cells.iter().map(|cell| format!("{cell:>13}"));
        cells.collect::<String>()
    };
    println!("{title:<26}{:>8}{}", "KiB", shown(words));
    for (row, (level, _, set)) in grid.rows.iter().enumerate() {
        let cells = cells(row * grid.updates.len());
        let around = format!("around an {}", level.name());
        println!("{around:<26}{set:>8}{}", shown(&cells));
    }
    println!();
}

/// Formats a ratio as a change in percent.
fn change(ratio: f64) -> String {
    format!("{:+.0} %", (ratio - 1.0) * 100.0)
}
