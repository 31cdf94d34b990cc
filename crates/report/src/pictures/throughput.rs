//! Draws the throughput on the plan's cores by the number of connections: the throughput table of
//! `corehop explain` as curves.

use super::picture::{Picture, told};
use crate::drawing::chart::{BAR, Drawing, HEIGHT, WIDTH};
use crate::drawing::table::Table;
use corehop_partitioner::attribution::Explanation;
use corehop_partitioner::attribution::demands::Throughput;
use corehop_support::format::number::{change, counted};

/// Side of the square that marks a point.
const POINT: f64 = 6.0;

/// The figure that a curve shows.
type Figure = fn(&Throughput) -> f64;

/// Class, name and figure of each curve.
const CURVES: [(&str, &str, Figure); 3] = [
    ("limit", "split, at most", |of| of.at_most),
    ("cold", "without the split", |of| of.before),
    ("own", "split", |of| of.after),
];

/// Draws the throughput over connections.
pub fn over_connections(explained: &Explanation<'_>) -> Picture {
    let throughputs = explained.throughputs();
    let mut drawing = Drawing::default();
    drawing.legend(&CURVES.map(|(class, name, _)| (class, name)));
    let top = drawing.y + 12.0;
    let highest = CURVES
        .iter()
        .flat_map(|(_, _, figure)| throughputs.iter().map(figure));
    let highest = highest.fold(f64::MIN_POSITIVE, f64::max);
    // The number of connections doubles from one point to the next.
    let between = (WIDTH - 2.0 * POINT) / (throughputs.len().max(2) - 1) as f64;
    let across = |place: usize| POINT + place as f64 * between;
    let upwards = |requests: f64| top + HEIGHT - requests / highest * HEIGHT;
    for part in [0.0, 0.5, 1.0] {
        let y = upwards(highest * part);
        drawing.line((0.0, y), (WIDTH, y), "axis");
        if part > 0.0 {
            drawing.text(0.0, y - 4.0, "tiny", &told(highest * part));
        }
    }
    for (class, name, figure) in CURVES {
        let points = throughputs.iter().enumerate();
        let points = points.map(|(place, of)| (across(place), upwards(figure(of))));
        let points: Vec<(f64, f64)> = points.collect();
        drawing.curve(&points, class);
        if class == "limit" {
            continue;
        }
        for (of, (x, y)) in throughputs.iter().zip(points) {
            let place = [x - POINT / 2.0, y - POINT / 2.0, POINT, POINT];
            let connections = counted(of.connections.into(), "connection", "connections");
            let said = format!("{connections}, {name}: {:.2}", figure(of));
            drawing.rectangle(place, class, &said);
        }
    }
    drawing.y = top + HEIGHT + BAR;
    let mut table = Table::new(&["connections", "without it", "split", "change", "at most"]);
    let last = throughputs.len() - 1;
    for (place, of) in throughputs.iter().enumerate() {
        let class = match place {
            0 => "small",
            _ if place == last => "small end",
            _ => "small middle",
        };
        let x = if place == last { WIDTH } else { across(place) };
        let x = if place == 0 { 0.0 } else { x };
        drawing.text(x, drawing.y, class, &of.connections.to_string());
        let figures = [of.before, of.after].map(|figure| format!("{figure:.2}"));
        let rest = [gain(of), format!("{:.2}", of.at_most)];
        let row = [of.connections.to_string()].into_iter().chain(figures);
        table.row(row.chain(rest));
    }
    drawing.y += BAR;
    drawing.text(WIDTH / 2.0, drawing.y, "small middle", "connections");
    let said = verdict(&throughputs);
    Picture {
        name: "throughput".into(),
        title: "Throughput over connections".into(),
        hint: format!(
            "{said} Requests completed in a million cycles by as many cores as the plan has, over \
             the number of clients: with the split, and without it, where each core serves whole \
             requests. A queueing model computes them from the cycles of the replay of up to {}, \
             for requests of very unequal length. The more equal the requests are, the closer the \
             split comes to the dashed line.",
            counted(explained.connections().into(), "connection", "connections")
        ),
        said,
        drawing,
        table,
    }
}

/// Formats the split's gain in throughput; empty if there is no throughput without it.
fn gain(of: &Throughput) -> String {
    if of.before > 0.0 {
        change(of.after / of.before)
    } else {
        String::new()
    }
}

/// Describes the ends of the curves.
fn verdict(throughputs: &[Throughput]) -> String {
    let of = |of: &Throughput| {
        let connections = counted(of.connections.into(), "connection", "connections");
        format!("{} with {connections}", gain(of))
    };
    match throughputs {
        [first, .., last] => format!("Throughput of the split: {}, {}.", of(first), of(last)),
        _ => "Throughput is not known.".into(),
    }
}
