//! Draws the figures of `pollution` and `bare` as one SVG picture of four panels.

use crate::patched::Outcome;
use plotters::prelude::*;
use serde_json::Value;
use std::path::Path;

const COLOURS: [RGBColor; 3] = [
    RGBColor(0x44, 0x44, 0x44),
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
];

/// A line's name and its points.
type Line = (String, Vec<(f64, f64)>);

struct Panel {
    title: &'static str,
    across: &'static str,
    lines: Vec<Line>,
}

/// Draws the parts that were measured.
pub fn draw(figures: &Value, path: &Path) -> Outcome<()> {
    let panels = [
        user(figures),
        kernel(figures),
        since(figures),
        bare(figures),
    ];
    let panels: Vec<Panel> = panels
        .into_iter()
        .filter(|panel| panel.lines.iter().any(|(_, points)| points.len() > 1))
        .collect();
    if panels.is_empty() {
        return Ok(());
    }
    let rows = panels.len().div_ceil(2);
    let root = SVGBackend::new(path, (960, 340 * rows as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    for (area, panel) in root.split_evenly((rows, 2)).iter().zip(&panels) {
        panel.draw(area)?;
    }
    root.present()?;
    Ok(())
}

impl Panel {
    fn draw(&self, area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>) -> Outcome<()> {
        let points = || self.lines.iter().flat_map(|(_, points)| points);
        let least = points().map(|point| point.0).fold(f64::INFINITY, f64::min);
        let [right, top] = [0, 1].map(|axis| {
            let of = points().map(|point| if axis == 0 { point.0 } else { point.1 });
            of.fold(0.0, f64::max)
        });
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, ("sans-serif", 15))
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(50)
            .build_cartesian_2d((least..right).log_scale(), 0.0..top * 1.1)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .x_desc(self.across)
            .x_label_formatter(&|number| format!("{number:.0}"))
            .draw()?;
        for ((name, points), colour) in self.lines.iter().zip(COLOURS) {
            let line = LineSeries::new(points.iter().copied(), colour.stroke_width(2));
            chart
                .draw_series(line)?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour));
        }
        chart
            .configure_series_labels()
            .background_style(WHITE.mix(0.8))
            .position(SeriesLabelPosition::UpperRight)
            .draw()?;
        Ok(())
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}

fn rows(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn by_frequency(figures: &Value, name: &str, set_kib: u64, of: &dyn Fn(&Value) -> f64) -> Line {
    let all = rows(&figures["pollution"]["by_frequency"]);
    let all = all.filter(|row| row["set_kib"] == set_kib);
    let points = all.map(|row| (number(&row["loads"]), of(row)));
    (format!("{name}, {set_kib} KiB"), points.collect())
}

fn user(figures: &Value) -> Panel {
    let slower = |kind: &'static str| {
        move |row: &Value| {
            let of = |kind: &str| number(&row["load_ns"][kind][1]);
            (100.0 * (of(kind) / of("none") - 1.0)).max(0.0)
        }
    };
    let sets = crate::pollution::SETS_KIB.map(u64::from);
    Panel {
        title: "loads slower by calls between them, % (his 4.2, 4.3)",
        across: "loads from one call to the next",
        lines: vec![
            by_frequency(figures, "getppid", sets[0], &slower("getppid")),
            by_frequency(figures, "pwrite", sets[0], &slower("pwrite")),
            by_frequency(figures, "pwrite", sets[1], &slower("pwrite")),
        ],
    }
}

fn kernel(figures: &Value) -> Panel {
    let call = |row: &Value| number(&row["call_ns"]["pwrite"][1]);
    let sets = crate::pollution::SETS_KIB.map(u64::from);
    Panel {
        title: "a pwrite, ns (his 4.4)",
        across: "loads from one call to the next",
        lines: sets
            .map(|set| by_frequency(figures, "pwrite", set, &call))
            .into(),
    }
}

fn since(figures: &Value) -> Panel {
    let line = |row: &Value| {
        let bucket = number(&row["bucket_loads"]);
        let points = rows(&row["load_ns"]).zip(1..);
        let points = points.map(|(ns, at)| (bucket * f64::from(at), number(ns)));
        (format!("{} KiB", row["set_kib"]), points.collect())
    };
    Panel {
        title: "a load, ns, after a pwrite (his 4.1)",
        across: "loads since the call",
        lines: rows(&figures["pollution"]["since_a_call"])
            .map(line)
            .collect(),
    }
}

fn bare(figures: &Value) -> Panel {
    let line = |name: &str| {
        let points = rows(&figures["bare"]);
        let points = points.map(|row| (number(&row["batch"]), number(&row["ns"][name][1])));
        (name.to_owned(), points.collect())
    };
    Panel {
        title: "a call that does nothing, ns (his 5.3, 5.4)",
        across: "calls made together",
        lines: ["getppid", "batch", "batch:1"].map(line).into(),
    }
}
