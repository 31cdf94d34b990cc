//! Prints the points as a table and returns them as JSON.

use crate::found::{Found, ratios_of};
use crate::point::Point;
use serde_json::{Value, json};

/// Prints all points; the selected one is first.
pub fn print(found: &[Found]) {
    println!("million touches a second; ratios to two plain threads on the same cores, by round\n");
    println!(
        "{:>44}{:>15}{:>24}{:>17}{:>17}",
        "", "ratio", "quarters", "in equal time", "predicted"
    );
    let ways = |width: usize| {
        ["carrier", "affinity"]
            .map(|word| format!("{word:>width$}"))
            .concat()
    };
    println!(
        "{:>5}{:>8}{:>8}{:>9}{}{}{:>11}{:>11}{}{}",
        "KiB",
        "updates",
        "touches",
        "in place",
        ways(9),
        ways(9),
        "carrier",
        "affinity",
        ways(9),
        ways(9)
    );
    for found in found {
        println!("{}", row(found));
    }
}

fn row(found: &Found) -> String {
    let Point {
        working_set_kib,
        updates_percent,
        touches,
        ..
    } = found.point;
    let pair = |pair: [f64; 2]| pair.map(|ratio| format!("{ratio:>9.2}")).concat();
    let ratios = found.ratios();
    let quarters = ratios.map(|[low, _, high]| format!("{:>11}", format!("{low:.2}-{high:.2}")));
    [
        format!("{working_set_kib:>5}{updates_percent:>7}%{touches:>8}"),
        found
            .measured()
            .map(|rate| format!("{:>9.1}", rate / 1e6))
            .concat(),
        pair(ratios.map(|[_, median, _]| median)),
        quarters.concat(),
        pair(found.ratios_in_equal_time().map(|[_, median, _]| median)),
        found.predicted.map(ratios_of).map(pair).unwrap_or_default(),
    ]
    .concat()
}

/// Returns all points, together with the first one's figures.
pub fn figures(found: &[Found]) -> Value {
    let points: Vec<Value> = found.iter().map(figures_of).collect();
    let mut figures = points[0].clone();
    figures["points"] = points.into();
    figures
}

fn figures_of(found: &Found) -> Value {
    let [in_place, by_carrier, by_affinity] = found.measured();
    let [carrier, affinity] = found.ratios();
    let [carrier_in_equal_time, affinity_in_equal_time] = found.ratios_in_equal_time();
    let predicted = found.predicted.map(ratios_of);
    let point = found.point;
    json!({
        "working_set_kib": point.working_set_kib, "updates_percent": point.updates_percent,
        "touches": point.touches, "sessions": point.sessions,
        "in_place_touches_per_s": in_place, "carrier_touches_per_s": by_carrier,
        "affinity_touches_per_s": by_affinity, "cpu_shares": found.shares(),
        "carrier_ratio": carrier[1], "carrier_ratio_quarters": [carrier[0], carrier[2]],
        "affinity_ratio": affinity[1], "affinity_ratio_quarters": [affinity[0], affinity[2]],
        "carrier_ratio_in_equal_time": carrier_in_equal_time[1],
        "affinity_ratio_in_equal_time": affinity_in_equal_time[1],
        "predicted_carrier_ratio": predicted.map(|p| p[0]),
        "predicted_affinity_ratio": predicted.map(|p| p[1]),
    })
}
