//! Draws the effect of delegated calls: when calls run on another core.

use super::picture::Picture;
use super::split::{class_of, lengths};
use crate::drawing::chart::{BAR, BarPart, Drawing, beyond, scale};
use crate::drawing::table::Table;
use crate::pass::pictured::{PicturedRequest, Stay};
use corehop_partitioner::attribution::Explanation;
use corehop_support::format::name::shortened;
use corehop_support::format::number::{counted, grouped};
use corehop_traces::FunctionId;

/// Width reserved for the names of rows.
const NAMES: f64 = 76.0;

/// Minimum width of a call, so that short ones are visible.
const LEAST: f64 = 1.5;

/// Draws the selected requests, each with the calls that ran on another core.
pub fn calls(explained: &Explanation<'_>, pictured: &[PicturedRequest]) -> Picture {
    let delegated: Vec<FunctionId> = explained.split.delegated().collect();
    let longest = pictured.iter().map(|of| of.cells.references).max();
    let names = pictured.iter().map(|of| format!("request {}", of.request));
    let names: Vec<String> = names.collect();
    let begin = beyond(names.iter().map(String::as_str), NAMES);
    let scale = scale(begin, longest.unwrap_or(0) as f64, 10);
    let mut drawing = Drawing::default();
    legend(&mut drawing, explained, &delegated);
    let mut table = Table::new(&[
        "request",
        "call",
        "core",
        "first access",
        "accesses",
        "L2 misses",
    ]);
    let mut all = 0;
    for (of, name) in pictured.iter().zip(&names) {
        let whole = BarPart {
            class: "cold band",
            value: of.cells.references as f64,
            label: format!("{name}, where it began"),
        };
        let away: Vec<(&Stay, u64, usize)> = away(of, &delegated).collect();
        all += away.len();
        let y = drawing.y;
        let said = counted(away.len() as u64, "call", "calls");
        drawing.bar((name, begin), scale, &[whole], &said);
        for (stay, accesses, place) in away {
            let called = shortened(explained.name(delegated[place]));
            let left = begin + stay.begins as f64 * scale;
            let width = (accesses as f64 * scale).max(LEAST);
            let said = format!(
                "{name}, core {}, {called}: {} accesses, {} L2 misses",
                stay.core,
                grouped(accesses),
                grouped(stay.missed)
            );
            drawing.rectangle([left, y, width, BAR], &colour_of(place), &said);
            let numbers = [stay.begins, accesses, stay.missed].map(|number| number.to_string());
            let named = [of.request.to_string(), called, stay.core.to_string()];
            table.row(named.into_iter().chain(numbers));
        }
    }
    drawing.y += 12.0;
    drawing.text(
        begin,
        drawing.y,
        "small",
        "accesses since the request began →",
    );
    Picture {
        name: "delegated-calls".into(),
        title: "Delegated calls".into(),
        hint: "The requests above, each from its first access to its last. A colored part is a \
               delegated call on another core than the gray parts; calls that stay on their \
               thread's core are not drawn."
            .into(),
        said: format!(
            "{} that are away in {}.",
            counted(all as u64, "call", "calls"),
            counted(pictured.len() as u64, "request", "requests")
        ),
        drawing,
        table,
    }
}

/// Returns the class of a function's color; it differs from those of the first two cores.
fn colour_of(place: usize) -> String {
    class_of(place as u32 + 2)
}

/// Adds a legend with the functions' colors.
fn legend(drawing: &mut Drawing, explained: &Explanation<'_>, functions: &[FunctionId]) {
    let names = functions
        .iter()
        .map(|&function| shortened(explained.name(function)));
    let names: Vec<String> = names.collect();
    let classes: Vec<String> = (0..names.len()).map(colour_of).collect();
    let meanings = classes.iter().zip(&names);
    let meanings: Vec<(&str, &str)> = meanings
        .map(|(class, name)| (class.as_str(), name.as_str()))
        .collect();
    drawing.legend(&meanings);
    drawing.y += 4.0;
}

/// Returns the periods that a delegated call began, each with its accesses and the function's
/// index.
fn away<'a>(
    of: &'a PicturedRequest,
    delegated: &'a [FunctionId],
) -> impl Iterator<Item = (&'a Stay, u64, usize)> {
    lengths(of).filter_map(|(stay, accesses)| {
        let place = delegated
            .iter()
            .position(|&one| stay.entered == Some(one))?;
        Some((stay, accesses, place))
    })
}
