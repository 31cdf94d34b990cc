//! Draws the accesses of one request for papers: fetches and data in two colors, time across,
//! addresses up, the core in the background. The page draws the same on a canvas that can be
//! zoomed; here, a point is as large as its print.

use super::picture::{KINDS, Picture};
use super::split::{class_of, lengths};
use crate::drawing::chart::{Drawing, WIDTH};
use crate::drawing::table::Table;
use crate::pass::grid::Cells;
use crate::pass::pictured::PicturedRequest;
use corehop_partitioner::attribution::Explanation;
use corehop_support::format::number::grouped;
use std::collections::BTreeMap;

/// Width reserved for the names of regions.
const NAMES: f64 = 120.0;

/// Height of the plot.
const HEIGHT: f64 = 300.0;

/// Side of a point.
const POINT: f64 = 1.0;

/// Regions lower than this have no name.
const NAMED: f64 = 9.0;

/// Draws one request.
pub fn request(explained: &Explanation<'_>, of: &PicturedRequest) -> Picture {
    let mut drawing = Drawing::default();
    drawing.legend(&KINDS);
    let top = drawing.y;
    let references = of.cells.references.max(1) as f64;
    let mut x = NAMES;
    for (stay, length) in lengths(of) {
        let width = length as f64 / references * (WIDTH - NAMES);
        let class = format!("{} band", class_of(stay.core.0));
        let said = format!("core {}", stay.core);
        drawing.rectangle([x, top, width, HEIGHT], &class, &said);
        if width > 45.0 {
            drawing.text(x + 3.0, top + 11.0, "small", &said);
        }
        x += width;
    }
    draw_points(&mut drawing, &of.cells, top);
    let lines = of.cells.lines.len().max(1) as f64;
    for (region, end) in of.regions.iter().zip(ends(of)) {
        let [low, high] =
            [end, region.first].map(|place| top + HEIGHT * (1.0 - place as f64 / lines));
        drawing.line((NAMES, high), (WIDTH, high), "region");
        if high - low >= NAMED {
            let middle = (low + high) / 2.0 + 3.5;
            drawing.text(NAMES - 4.0, middle, "tiny end", &clipped(&region.name));
        }
    }
    drawing.y = top + HEIGHT + 14.0;
    let axis = format!("time: {} accesses →", grouped(of.cells.references));
    drawing.text(NAMES, drawing.y, "small", &axis);
    Picture {
        name: format!("accesses-of-request-{}", of.request),
        title: format!("Accesses of request {}", of.request),
        hint: String::new(),
        said: format!(
            "Request {} of {}: {} accesses to {} lines, L2 misses {} on one core and {} with the \
             split.",
            of.request,
            explained.trace_name,
            grouped(of.cells.references),
            grouped(of.cells.lines.len() as u64),
            grouped(of.missed[0]),
            grouped(of.missed[1])
        ),
        drawing,
        table: table(of),
    }
}

/// Returns where the lines of each region end.
fn ends(of: &PicturedRequest) -> impl Iterator<Item = usize> {
    let next = of.regions.iter().skip(1).map(|region| region.first);
    next.chain([of.cells.lines.len()])
}

fn clipped(name: &str) -> String {
    const MOST: usize = 22;
    match name.chars().count() > MOST {
        true => name.chars().take(MOST - 1).chain(['…']).collect(),
        false => name.into(),
    }
}

/// Draws cells as runs of points, with one path per color.
fn draw_points(drawing: &mut Drawing, cells: &Cells, top: f64) {
    let columns = cells.references as f64 / cells.references_per_column as f64;
    let rows = (cells.lines.len() as f64 / f64::from(cells.lines_per_row)).max(1.0);
    let across = (WIDTH - NAMES) / POINT;
    let up = HEIGHT / POINT;
    // By kind and position from the top: the horizontal positions that have a cell.
    let mut points = BTreeMap::<(bool, u32), Vec<u32>>::new();
    for (column, of) in cells.columns.iter().enumerate() {
        let first = (column as f64 / columns * across) as u32;
        for &(row, cell) in of {
            let y = up - 1.0 - (f64::from(row) / rows * up).floor();
            let places = points.entry((cell.fetches == 0, y as u32)).or_default();
            if places.last() != Some(&first) {
                places.push(first);
            }
        }
    }
    let mut paths = [String::new(), String::new()];
    for ((is_data, y), places) in points {
        for run in places.chunk_by(|a, b| b - a <= 1) {
            let x = NAMES + f64::from(run[0]) * POINT;
            let width = f64::from(run[run.len() - 1] - run[0] + 1) * POINT;
            let y = top + f64::from(y) * POINT;
            let path = &mut paths[usize::from(is_data)];
            *path += &format!("M{x:.0} {y:.0}h{width:.0}v{POINT}h-{width:.0}z");
        }
    }
    for (class, path) in ["fetch", "data"].into_iter().zip(paths) {
        drawing.path(&path, class);
    }
}

/// Tabulates the request by region.
fn table(of: &PicturedRequest) -> Table {
    let head = [
        "region",
        "lines",
        "fetches",
        "loads",
        "stores",
        "L2 misses, one core",
        "L2 misses, split",
    ];
    let mut table = Table::new(&head);
    let ends: Vec<usize> = ends(of).collect();
    let mut sums = vec![[0_u64; 5]; ends.len()];
    for (row, cell) in of.cells.columns.iter().flatten() {
        let line = *row as usize * of.cells.lines_per_row as usize;
        let region = ends.partition_point(|&end| end <= line);
        let [one, split] = cell.missed;
        let counts = [cell.fetches, cell.loads, cell.stores, one, split];
        for (sum, count) in sums[region].iter_mut().zip(counts) {
            *sum += u64::from(count);
        }
    }
    for ((region, end), sums) in of.regions.iter().zip(ends).zip(sums) {
        let lines = (end - region.first).to_string();
        let counts = sums.map(|sum| sum.to_string());
        table.row([region.name.clone(), lines].into_iter().chain(counts));
    }
    table
}
