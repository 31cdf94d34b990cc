//! Draws throughput by working set, as an SVG picture.
//!
//! It has three measured lines, and the simulator's lines dashed. The simulator has no clock, so
//! its rates are scaled to agree with the measurement in place at the first point.

use crate::found::{Found, Ways};
use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 110.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 50.0;
const LINES: [(&str, &str); 3] = [
    ("in place", "#444444"),
    ("carrier", "#0072b2"),
    ("affinity", "#d55e00"),
];

/// Draws points that differ only in their working sets.
pub fn draw(found: &[&Found]) -> String {
    let mut found = found.to_vec();
    found.sort_by_key(|f| f.point.working_set_kib);
    let scale = found
        .iter()
        .find_map(|f| Some(f.measured()[0] / f.predicted?[0]));
    let predicted = |f: &&Found| {
        f.predicted
            .map(|rates| rates.map(|r| r * scale.unwrap_or(1.0)))
    };
    let rates = found
        .iter()
        .map(|f| f.measured())
        .chain(found.iter().filter_map(predicted));
    let most = rates.flatten().fold(1e6, f64::max) * 1.05;
    let sizes: Vec<f64> = found
        .iter()
        .map(|f| f64::from(f.point.working_set_kib))
        .collect();
    let (first, last) = (sizes[0].ln(), sizes[sizes.len() - 1].ln());
    let x =
        |kib: f64| LEFT + (kib.ln() - first) / (last - first).max(1e-9) * (WIDTH - LEFT - RIGHT);
    let y = |rate: f64| HEIGHT - BOTTOM - rate / most * (HEIGHT - TOP - BOTTOM);
    let mut svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' \
         font-family='sans-serif' font-size='12'>\n\
         <rect width='100%' height='100%' fill='white'/>\n\
         <text x='{LEFT}' y='18'>million touches a second; dashes: simulated, scaled</text>\n\
         <text x='{}' y='{}'>working set of a phase, KiB</text>\n",
        WIDTH / 2.0 - 80.0,
        HEIGHT - 12.0
    );
    for kib in &sizes {
        let (x, y) = (x(*kib), HEIGHT - BOTTOM + 16.0);
        let _ = writeln!(
            svg,
            "<text x='{x:.0}' y='{y}' text-anchor='middle'>{kib}</text>"
        );
    }
    for step in 0..=4 {
        let rate = most * f64::from(step) / 4.0;
        let (y, end, millions) = (y(rate), WIDTH - RIGHT, rate / 1e6);
        let _ = writeln!(
            svg,
            "<path d='M{LEFT} {y:.0} H{end}' stroke='#dddddd'/>\
             <text x='{}' y='{:.0}' text-anchor='end'>{millions:.0}</text>",
            LEFT - 6.0,
            y + 4.0
        );
    }
    let line = |of: &dyn Fn(&&Found) -> Option<Ways>, index: usize| {
        let places = found.iter().zip(&sizes);
        let places = places.filter_map(|(f, &kib)| Some((x(kib), y(of(f)?[index]))));
        let places: Vec<String> = places.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        places.join(" ")
    };
    for (index, (name, colour)) in LINES.into_iter().enumerate() {
        let simulated = line(&predicted, index);
        let measured = line(&|f| Some(f.measured()), index);
        let end = TOP + 16.0 * (index + 1) as f64;
        let _ = writeln!(
            svg,
            "<polyline points='{simulated}' fill='none' stroke='{colour}' \
             stroke-dasharray='5 4'/>\n\
             <polyline points='{measured}' fill='none' stroke='{colour}' stroke-width='2'/>\n\
             <text x='{}' y='{end:.0}' fill='{colour}'>{name}</text>",
            WIDTH - RIGHT + 8.0
        );
    }
    svg + "</svg>\n"
}
