//! Draws throughput and L2 misses by connections, as an SVG picture of two panels.
//!
//! Each scheduler has a line. Crosses show the published changes applied to the values of `free`;
//! dashed lines show the published mean changes.

use crate::published::{
    CONTROL_PERCENT, MEAN_MISSES_PERCENT, MEAN_THROUGHPUT_PERCENT, THROUGHPUT_PERCENT,
};
use crate::timed::Timed;
use std::fmt::Write;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 380.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 50.0;
const PANEL: f64 = 300.0;
const LEFTS: [f64; 2] = [60.0, 440.0];
const COLOURS: [&str; 6] = [
    "#444444", "#009e73", "#0072b2", "#d55e00", "#cc79a7", "#e69f00",
];
const TEXT_COLOUR: &str = "#b00000";

/// One panel: the value of a replay that it shows, and the published crosses by connections and
/// mean.
struct Panel {
    left: f64,
    title: &'static str,
    of: fn(&Timed, f64) -> f64,
    crosses: Vec<(u32, f64)>,
    mean: f64,
}

/// Ranges of a panel's axes.
struct Scale {
    left: f64,
    connections: f64,
    most: f64,
}

impl Scale {
    fn x(&self, connections: u32) -> f64 {
        self.left + (f64::from(connections) - 1.0) / (self.connections - 1.0).max(1.0) * PANEL
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - value / self.most * (HEIGHT - TOP - BOTTOM)
    }
}

/// Draws the picture, for transactions of this many requests.
pub fn draw(found: &[Timed], statements: f64) -> String {
    let mut crosses = THROUGHPUT_PERCENT.to_vec();
    crosses.push((1, CONTROL_PERCENT[0]));
    let panels = [
        Panel {
            left: LEFTS[0],
            title: "transactions in a million cycles",
            of: |timed, statements| timed.throughput / statements,
            crosses,
            mean: MEAN_THROUGHPUT_PERCENT,
        },
        Panel {
            left: LEFTS[1],
            title: "L2 misses a transaction",
            of: |timed, statements| timed.l2_misses * statements,
            crosses: vec![(1, CONTROL_PERCENT[1])],
            mean: MEAN_MISSES_PERCENT,
        },
    ];
    let mut svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' \
         font-family='sans-serif' font-size='12'>\n\
         <rect width='100%' height='100%' fill='white'/>\n"
    );
    for panel in &panels {
        panel.draw(found, statements, &mut svg);
    }
    legend(&schedulers(found), &mut svg);
    svg + "</svg>\n"
}

/// Returns the names of the schedulers in order of appearance; the unmodified server is first.
fn schedulers(found: &[Timed]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for timed in found {
        if !names.contains(&&*timed.scheduler) {
            names.push(&timed.scheduler);
        }
    }
    names
}

fn legend(names: &[&str], svg: &mut String) {
    let mut entry = |number: usize, name: &str, colour: &str| {
        let x = LEFTS[0] + 120.0 * number as f64;
        let _ = writeln!(svg, "<text x='{x}' y='16' fill='{colour}'>{name}</text>");
    };
    for (number, (name, colour)) in names.iter().zip(COLOURS).enumerate() {
        entry(number, name, colour);
    }
    entry(names.len(), "+ and dashes: the text", TEXT_COLOUR);
}

impl Panel {
    fn draw(&self, found: &[Timed], statements: f64, svg: &mut String) {
        let of = |timed: &Timed| (self.of)(timed, statements);
        let names = schedulers(found);
        let line = |name: &str| {
            let own = found.iter().filter(|timed| timed.scheduler == name);
            own.map(|timed| (timed.connections, of(timed)))
                .collect::<Vec<_>>()
        };
        let baseline = names.first().map_or(Vec::new(), |name| line(name));
        let changed = |value: f64, percent: f64| value * (1.0 + percent / 100.0);
        let crosses = self.crosses.iter().filter_map(|&(connections, percent)| {
            let (_, value) = baseline.iter().find(|(number, _)| *number == connections)?;
            Some((connections, changed(*value, percent)))
        });
        let crosses: Vec<(u32, f64)> = crosses.collect();
        let mean: Vec<(u32, f64)> = baseline
            .iter()
            .map(|&(connections, value)| (connections, changed(value, self.mean)))
            .collect();
        let values = found.iter().map(of);
        let shown = values.chain(crosses.iter().chain(&mean).map(|&(_, value)| value));
        let last = found.iter().map(|timed| timed.connections).max();
        let scale = Scale {
            left: self.left,
            connections: f64::from(last.unwrap_or(1)),
            most: shown.fold(1e-9, f64::max) * 1.05,
        };
        self.axes(&scale, svg);
        for (name, colour) in names.iter().zip(COLOURS) {
            polyline(&line(name), &scale, colour, "stroke-width='2'", svg);
        }
        polyline(&mean, &scale, TEXT_COLOUR, "stroke-dasharray='5 4'", svg);
        for (connections, value) in crosses {
            let (x, y) = (scale.x(connections), scale.y(value));
            let _ = writeln!(
                svg,
                "<path d='M{:.1} {y:.1} h8 M{x:.1} {:.1} v8' stroke='{TEXT_COLOUR}'/>",
                x - 4.0,
                y - 4.0
            );
        }
    }

    fn axes(&self, scale: &Scale, svg: &mut String) {
        let (left, right) = (self.left, self.left + PANEL);
        let _ = writeln!(svg, "<text x='{left}' y='36'>{}</text>", self.title);
        let digits = if scale.most < 10.0 { 2 } else { 0 };
        for step in 0..=4 {
            let value = scale.most * f64::from(step) / 4.0;
            let y = scale.y(value);
            let _ = writeln!(
                svg,
                "<path d='M{left} {y:.0} H{right}' stroke='#dddddd'/>\
                 <text x='{}' y='{:.0}' text-anchor='end'>{value:.digits$}</text>",
                left - 6.0,
                y + 4.0
            );
        }
        for connections in 1..=scale.connections as u32 {
            let _ = writeln!(
                svg,
                "<text x='{:.0}' y='{}' text-anchor='middle'>{connections}</text>",
                scale.x(connections),
                HEIGHT - BOTTOM + 16.0
            );
        }
        let _ = writeln!(
            svg,
            "<text x='{}' y='{}' text-anchor='middle'>connections</text>",
            left + PANEL / 2.0,
            HEIGHT - BOTTOM + 34.0
        );
    }
}

fn polyline(points: &[(u32, f64)], scale: &Scale, colour: &str, more: &str, svg: &mut String) {
    let places: Vec<String> = points
        .iter()
        .map(|&(connections, value)| format!("{:.1},{:.1}", scale.x(connections), scale.y(value)))
        .collect();
    let places = places.join(" ");
    let _ = writeln!(
        svg,
        "<polyline points='{places}' fill='none' stroke='{colour}' {more}/>"
    );
}
