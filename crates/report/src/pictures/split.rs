//! Draws the effect of the split on a request: its cores, each core's working set, and shared
//! lines.

use super::picture::{Picture, per_request, told};
use crate::drawing::chart::{BarPart, Drawing, WIDTH, beyond, scale};
use crate::drawing::table::Table;
use crate::pass::pictured::{PicturedRequest, Stay};
use corehop_partitioner::attribution::Explanation;
use corehop_simulator::detail::{CoreUse, Spread, WorkingSet};
use corehop_support::format::name::shortened;
use corehop_support::format::number::{counted, grouped};

/// Width reserved for the names of rows.
const NAMES: f64 = 76.0;

/// Draws the selected requests as bars of the cores they ran on.
pub fn phases(explained: &Explanation<'_>, pictured: &[PicturedRequest]) -> Picture {
    let longest = pictured.iter().map(|of| of.cells.references).max();
    let names = pictured.iter().map(|of| format!("request {}", of.request));
    let names: Vec<String> = names.collect();
    let begin = beyond(names.iter().map(String::as_str), NAMES);
    let scale = scale(begin, longest.unwrap_or(0) as f64, 10);
    let cores = explained.plan.cores;
    let mut drawing = Drawing::default();
    let classes: Vec<String> = (0..cores).map(class_of).collect();
    let meanings: Vec<String> = (0..cores).map(|core| format!("core {core}")).collect();
    let legend: Vec<(&str, &str)> = classes
        .iter()
        .zip(&meanings)
        .map(|(class, meaning)| (class.as_str(), meaning.as_str()))
        .collect();
    drawing.legend(&legend);
    drawing.y += 4.0;
    let head = [
        "request",
        "stay",
        "core",
        "entered by",
        "first access",
        "accesses",
        "L2 misses",
    ];
    let mut table = Table::new(&head);
    for (of, name) in pictured.iter().zip(&names) {
        let parts = stays(explained, of, &classes, &mut table);
        let hops = of.stays.len().saturating_sub(1);
        let said = counted(hops as u64, "hop", "hops");
        drawing.bar((name, begin), scale, &parts, &said);
    }
    drawing.y += 12.0;
    drawing.text(
        begin,
        drawing.y,
        "small",
        "accesses since the request began →",
    );
    let hops = per_request(explained, explained.after.0.hops);
    Picture {
        name: "phases".into(),
        title: "Phases of requests".into(),
        hint: "The requests that can be selected above, each from its first memory access to its \
               last. Colors are the cores that they run on with the plan; each change of color is \
               a hop."
            .into(),
        said: format!(
            "{} requests as bars of the cores that they run on; a request hops {hops:.2} times on \
             average.",
            pictured.len()
        ),
        drawing,
        table,
    }
}

/// Returns the periods of a request as parts of a bar and rows of a table.
fn stays<'c>(
    explained: &Explanation<'_>,
    of: &PicturedRequest,
    classes: &'c [String],
    table: &mut Table,
) -> Vec<BarPart<'c>> {
    let mut parts = Vec::new();
    for (place, (stay, references)) in lengths(of).enumerate() {
        let core = stay.core;
        let entered = match stay.entered {
            Some(function) => explained.name(function),
            None if place == 0 => "(before the first hop)",
            None => "(back after a call)",
        };
        parts.push(BarPart {
            class: &classes[core.index()],
            value: references as f64,
            label: format!(
                "request {}, core {core}, {}: {} accesses, {} L2 misses",
                of.request,
                shortened(entered),
                grouped(references),
                grouped(stay.missed)
            ),
        });
        let numbers = [stay.begins, references, stay.missed].map(|number| number.to_string());
        let names = [of.request.to_string(), place.to_string(), core.to_string()];
        let entered = [entered.to_owned()];
        table.row(names.into_iter().chain(entered).chain(numbers));
    }
    parts
}

/// Returns the class of a core's color; there are eight.
pub fn class_of(core: u32) -> String {
    format!("core{}", core % 8)
}

/// Returns a request's periods, each with its accesses.
pub fn lengths(of: &PicturedRequest) -> impl Iterator<Item = (&Stay, u64)> {
    let ends = of.stays.iter().skip(1).map(|stay| stay.begins);
    let ends = ends.chain([of.cells.references]);
    let length = |(stay, end): (&'_ Stay, u64)| end - stay.begins;
    of.stays
        .iter()
        .zip(ends)
        .map(move |both| (both.0, length(both)))
}

fn kib(lines: u64) -> f64 {
    lines as f64 / 16.0
}

fn median(of: &CoreUse, lines: fn(&WorkingSet) -> u64) -> u64 {
    Spread::of(of.working_sets.iter().map(lines)).median
}

/// Draws a request's working set on each core, compared with the size of its L2.
pub fn working_sets(explained: &Explanation<'_>) -> Picture {
    let l2_kib = explained.machine.l2.size_bytes as f64 / 1024.0;
    let ((_, before), (_, after)) = (&explained.before, &explained.after);
    let one = before.cores.iter().map(|of| ("one core".to_owned(), of));
    let cores = after.cores.iter().enumerate();
    let cores = cores.map(|(core, of)| (format!("core {core}"), of));
    let rows: Vec<(String, &CoreUse)> = one.chain(cores).collect();
    let largest = |of: &CoreUse| Spread::of(of.working_sets.iter().map(|set| set.lines)).largest;
    let most = rows.iter().map(|(_, of)| kib(largest(of)));
    let most = most.fold(l2_kib, f64::max);
    let scale = scale(NAMES, most, 10);
    let mut drawing = Drawing::default();
    drawing.legend(&[("fetch", "code"), ("data", "data"), ("limit", "one L2")]);
    drawing.y += 4.0;
    let head = [
        "core",
        "code KiB",
        "data KiB",
        "together KiB",
        "largest KiB",
        "all requests' KiB",
    ];
    let mut table = Table::new(&head);
    let top = drawing.y;
    for (name, of) in &rows {
        let [code, data] = [
            median(of, |set| set.code_lines),
            median(of, |set| set.data_lines),
        ];
        let (all, largest) = (median(of, |set| set.lines), largest(of));
        let label = |what: &str, lines| format!("{name}: {} KiB of {what}", told(kib(lines)));
        let parts = [("fetch", "code", code), ("data", "data", data)];
        let parts = parts.map(|(class, what, lines)| BarPart {
            class,
            value: kib(lines),
            label: label(what, lines),
        });
        let end = NAMES + kib(largest) * scale;
        let y = drawing.y + 7.0;
        drawing.line((NAMES, y), (end, y), "whisker");
        drawing.line((end, y - 4.0), (end, y + 4.0), "whisker");
        drawing.bar((name, NAMES), scale, &parts, "");
        let said = format!("{} KiB", told(kib(all)));
        drawing.text(WIDTH, drawing.y - 6.0, "small end", &said);
        let numbers =
            [code, data, all, largest, of.lines].map(|lines| format!("{:.1}", kib(lines)));
        table.row([name.clone()].into_iter().chain(numbers));
    }
    let limit = NAMES + l2_kib * scale;
    drawing.line((limit, top - 4.0), (limit, drawing.y), "limit");
    let said = rows
        .iter()
        .map(|(name, of)| format!("{name} {} KiB", told(kib(median(of, |set| set.lines)))));
    Picture {
        name: "working-sets".into(),
        title: "Working set of a request on each core".into(),
        hint: format!(
            "Memory that a request accesses on each core, in whole cache lines: the bar is the \
             median request, the thin line the largest. The dashed line is the size of one L2, \
             {l2_kib:.0} KiB: a bar that ends left of it can stay in the cache between requests. \
             The numbers count a line with code and data once."
        ),
        said: format!(
            "Median working set of a request, with an L2 of {l2_kib:.0} KiB: {}.",
            said.collect::<Vec<_>>().join(", ")
        ),
        drawing,
        table,
    }
}

/// Draws the lines that several cores access, and those that move between them.
pub fn shared(explained: &Explanation<'_>) -> Picture {
    const PARTS: [(&str, &str); 3] = [
        ("own", "this core only"),
        ("cold", "other cores too, read only"),
        ("coherence", "other cores too, stored to"),
    ];
    let cores = &explained.after.1.cores;
    let most = cores.iter().map(|of| of.lines).max().unwrap_or(0);
    let scale = scale(NAMES, kib(most), 9);
    let mut drawing = Drawing::default();
    drawing.legend(&PARTS);
    drawing.y += 4.0;
    let mut table = Table::new(&["core", "own KiB", "read shared KiB", "stored to KiB"]);
    for (core, of) in cores.iter().enumerate() {
        let read = of.shared_lines - of.contended_lines;
        let lines = [of.lines - of.shared_lines, read, of.contended_lines];
        let part = |((class, what), lines): (&(&'static str, &str), u64)| BarPart {
            class,
            value: kib(lines),
            label: format!("core {core}, {what}: {} KiB", told(kib(lines))),
        };
        let parts: Vec<BarPart<'_>> = PARTS.iter().zip(lines).map(part).collect();
        let name = format!("core {core}");
        let said = format!("{} KiB", told(kib(of.lines)));
        drawing.bar((&name, NAMES), scale, &parts, &said);
        let numbers = lines.map(|lines| format!("{:.1}", kib(lines)));
        table.row([name].into_iter().chain(numbers));
    }
    let stored: u64 = cores.iter().map(|of| of.contended_lines).sum();
    Picture {
        name: "shared-lines".into(),
        title: "Lines that cores share".into(),
        hint: "Memory that all counted requests together accessed on each core. Each core holds a \
               copy of lines that several cores only read. If one of them stores to a line, the \
               others lose it and miss it again."
            .into(),
        said: format!(
            "Several cores access {} KiB to which at least one of them stores, summed over all \
             cores.",
            told(kib(stored))
        ),
        drawing,
        table,
    }
}

/// Draws which core's stores invalidate lines of which other core.
pub fn lost(explained: &Explanation<'_>) -> Picture {
    let cores = &explained.after.1.cores;
    let count = cores.len().max(1) as f64;
    let lost = |of: &CoreUse, by: usize| per_request(explained, of.lost_lines_to[by]);
    let all = cores
        .iter()
        .flat_map(|of| (0..cores.len()).map(|by| lost(of, by)));
    let most = all.fold(0.0, f64::max);
    let side = ((WIDTH - NAMES) / count).min(80.0);
    let height = side.min(34.0);
    let mut drawing = Drawing::default();
    drawing.y += 14.0;
    let mut head = vec!["lines lost by".to_owned()];
    for by in 0..cores.len() {
        let middle = NAMES + side * (by as f64 + 0.5);
        let name = if side < 50.0 {
            by.to_string()
        } else {
            format!("to core {by}")
        };
        drawing.text(middle, drawing.y, "small middle", &name);
        head.push(format!("to core {by}"));
    }
    drawing.y += 6.0;
    let mut table = Table {
        head,
        rows: Vec::new(),
    };
    for (core, of) in cores.iter().enumerate() {
        let name = format!("core {core}");
        drawing.text(0.0, drawing.y + height / 2.0 + 4.0, "small", &name);
        for by in 0..cores.len() {
            let lines = lost(of, by);
            let x = NAMES + side * by as f64;
            let shade = (lines / most.max(f64::MIN_POSITIVE) * 4.0).ceil() as u32;
            let said = format!("core {core} loses {lines:.1} lines a request to core {by}");
            let place = [x + 1.0, drawing.y + 1.0, side - 2.0, height - 2.0];
            drawing.rectangle(place, &format!("shade{shade}"), &said);
            let number = if side < 50.0 {
                format!("{lines:.0}")
            } else {
                format!("{lines:.1}")
            };
            let class = if shade >= 3 {
                "small middle onshade"
            } else {
                "small middle"
            };
            drawing.text(
                x + side / 2.0,
                drawing.y + height / 2.0 + 4.0,
                class,
                &number,
            );
        }
        drawing.y += height;
        let numbers = (0..cores.len()).map(|by| format!("{:.2}", lost(of, by)));
        table.row([name].into_iter().chain(numbers));
    }
    Picture {
        name: "lost-lines".into(),
        title: "Lines of a request lost to stores of other cores".into(),
        hint: "Cache lines that the row's core loses during a request because the column's core \
             stores to them. The row's core misses them at its next access."
            .into(),
        said: format!("The largest number is {most:.1} lines a request."),
        drawing,
        table,
    }
}
