//! Draws cache misses on one core and with the plan: by level, core, cause and function.

use super::picture::{KINDS, Picture, changed, in_brackets, kinds, per_request, told};
use crate::drawing::chart::{BarPart, Drawing, scale};
use crate::drawing::table::Table;
use crate::sources::Sources;
use corehop_partitioner::attribution::Explanation;
use corehop_simulator::{Counters, LevelCounters, MissCauses};
use corehop_support::format::name::shortened;

/// Draws a bar of misses by kind.
fn bar(
    drawing: &mut Drawing,
    explained: &Explanation<'_>,
    (name, scale): (&str, f64),
    of: [u64; 2],
    after: &str,
) {
    let part = |((class, kind), count): (&(&'static str, &str), u64)| {
        let value = per_request(explained, count);
        let label = format!("{name}: {} misses of {kind} a request", told(value));
        BarPart {
            class,
            value,
            label,
        }
    };
    let parts: Vec<BarPart<'_>> = KINDS.iter().zip(of).map(part).collect();
    let said = told(per_request(explained, fetches_and_data(of)));
    drawing.bar((name, NAMES), scale, &parts, &format!("{said}{after}"));
}

/// Width reserved for the names of bars.
const NAMES: f64 = 62.0;

fn fetches_and_data(of: [u64; 2]) -> u64 {
    of[0] + of[1]
}

/// Draws the misses by level.
pub fn levels(explained: &Explanation<'_>) -> Picture {
    let ((before, _), (after, _)) = (&explained.before, &explained.after);
    let level = |name, of: fn(&Counters) -> &LevelCounters| {
        let of = |counters| kinds(of(counters));
        (name, of(&before.counters), of(&after.counters))
    };
    let levels = [
        level("L1I", |counters| &counters.l1i),
        level("L1D", |counters| &counters.l1d),
        level("L2", |counters| &counters.l2),
        level("L3", |counters| &counters.l3),
    ];
    let most = levels.iter().flat_map(|(_, a, b)| [a, b]);
    let most = most.map(|of| fetches_and_data(*of)).max().unwrap_or(0);
    let scale = scale(NAMES, per_request(explained, most), 14);
    let mut drawing = Drawing::default();
    let mut table = Table::new(&["level", "of", "one core", "split", "change"]);
    drawing.legend(&KINDS);
    for (name, before, after) in levels {
        let sums = [before, after].map(fetches_and_data);
        let [one, split] = sums.map(|sum| per_request(explained, sum));
        let change = in_brackets(&changed(one, split));
        drawing.heading(name);
        bar(&mut drawing, explained, ("one core", scale), before, "");
        bar(&mut drawing, explained, ("split", scale), after, &change);
        for ((_, kind), (before, after)) in KINDS.iter().zip(before.into_iter().zip(after)) {
            let [before, after] = [before, after].map(|of| per_request(explained, of));
            let [one, split] = [before, after].map(|of| format!("{of:.2}"));
            let change = changed(before, after);
            table.row([name.into(), (*kind).into(), one, split, change]);
        }
    }
    let [before, after] = [before, after].map(|of| per_request(explained, of.counters.l2.misses()));
    Picture {
        name: "misses-by-level".into(),
        title: "Misses of a request, by level".into(),
        hint: "Cache misses of an average request, on one core and split over the plan's cores. A \
               split should lower L2 misses. L1 misses hardly change, and L3 misses should not \
               grow."
            .into(),
        said: format!(
            "L2 misses of a request: {} on one core, {} with the split{}.",
            told(before),
            told(after),
            in_brackets(&changed(before, after))
        ),
        drawing,
        table,
    }
}

/// Draws the misses by core.
pub fn cores(explained: &Explanation<'_>) -> Picture {
    let ((before, _), (after, _)) = (&explained.before, &explained.after);
    let one = ("one core".to_owned(), &before.counters);
    let named = after.per_core.iter().enumerate();
    let cores = named.map(|(core, of)| (format!("core {core}"), of));
    let mut drawing = Drawing::default();
    let head = [
        "core",
        "accesses",
        "L1I",
        "L1D",
        "L2 fetches",
        "L2 data",
        "lost to stores",
    ];
    let mut table = Table::new(&head);
    drawing.legend(&KINDS);
    drawing.y += 4.0;
    let most = per_request(explained, before.counters.l2.misses());
    let cores: Vec<(String, &Counters)> = [one].into_iter().chain(cores).collect();
    let most = cores.iter().fold(most, |most, (_, of)| {
        most.max(per_request(explained, of.l2.misses()))
    });
    let scale = scale(NAMES, most, 8);
    for (name, of) in &cores {
        bar(&mut drawing, explained, (name, scale), kinds(&of.l2), "");
        let counts = [
            of.accesses(),
            of.l1i.misses(),
            of.l1d.misses(),
            of.l2.fetch_misses(),
            of.l2.data_misses(),
            of.invalidated_lines,
        ];
        let counts = counts.map(|count| format!("{:.2}", per_request(explained, count)));
        table.row([name.clone()].into_iter().chain(counts));
    }
    let said = cores
        .iter()
        .map(|(name, of)| format!("{name} {}", told(per_request(explained, of.l2.misses()))));
    Picture {
        name: "misses-by-core".into(),
        title: "L2 misses of a request, by core".into(),
        hint: "L2 misses of an average request on one core, and on each core of the plan. A core \
               that misses much more than the others runs code whose working set exceeds its L2."
            .into(),
        said: format!(
            "L2 misses of a request: {}.",
            said.collect::<Vec<_>>().join(", ")
        ),
        drawing,
        table,
    }
}

/// Classes and meanings of the causes, in the order of [`causes_of`].
const CAUSES: [(&str, &str); 4] = [
    ("capacity", "no room"),
    ("coherence", "other cores' stores"),
    ("cold", "never held"),
    ("inclusion", "left the L3"),
];

fn causes_of(causes: &MissCauses) -> [u64; 4] {
    [
        causes.capacity,
        causes.coherence,
        causes.cold,
        causes.inclusion,
    ]
}

/// Draws the misses by cause.
pub fn causes(explained: &Explanation<'_>) -> Picture {
    let levels = [&explained.before, &explained.after].map(|(replay, _)| replay.counters.l2);
    let rows = [
        ("fetches", levels.map(|l2| causes_of(&l2.fetch.misses))),
        (
            "loads and stores",
            levels.map(|l2| causes_of(&l2.data_causes())),
        ),
    ];
    let sums = rows.iter().flat_map(|(_, sides)| sides);
    let most = sums.map(|causes| causes.iter().sum::<u64>()).max();
    let scale = scale(NAMES, per_request(explained, most.unwrap_or(0)), 8);
    let mut drawing = Drawing::default();
    let mut table = Table::new(&["of", "cause", "one core", "split"]);
    drawing.legend(&CAUSES);
    for (kind, sides) in rows {
        drawing.heading(kind);
        for (name, causes) in ["one core", "split"].into_iter().zip(sides) {
            let part = |((class, cause), count): (&(&'static str, &str), u64)| {
                let value = per_request(explained, count);
                let label = format!("{name}, {cause}: {} misses a request", told(value));
                BarPart {
                    class,
                    value,
                    label,
                }
            };
            let parts: Vec<BarPart<'_>> = CAUSES.iter().zip(causes).map(part).collect();
            let sum = causes.iter().sum();
            drawing.bar(
                (name, NAMES),
                scale,
                &parts,
                &told(per_request(explained, sum)),
            );
        }
        for (place, (_, cause)) in CAUSES.iter().enumerate() {
            let cells = sides.map(|of| format!("{:.2}", per_request(explained, of[place])));
            table.row([kind.into(), (*cause).into()].into_iter().chain(cells));
        }
    }
    let [before, after] = levels.map(|l2| causes_of(&l2.causes()));
    let of = |causes: [u64; 4], place: usize| told(per_request(explained, causes[place]));
    Picture {
        name: "misses-by-cause".into(),
        title: "L2 misses of a request, by cause".into(),
        hint: "Why the line was not in the L2. No room: other lines evicted it; a split reduces \
               these misses. Other cores' stores: a store invalidated it; a split adds these \
               misses. Never held: its first access. Left the L3: the L3 evicted it, and the L2 \
               with it."
            .into(),
        said: format!(
            "L2 misses of a request for lack of room: {} on one core, {} with the split; because \
             of other cores' stores: {} with the split.",
            of(before, 0),
            of(after, 0),
            of(after, 1)
        ),
        drawing,
        table,
    }
}

/// Maximum number of functions in the drawing.
const DRAWN: usize = 10;

/// Draws the misses by function, the largest changes first.
pub fn functions(explained: &Explanation<'_>, sources: &Sources, top: usize) -> Picture {
    let movers = explained.movers();
    let misses = |of: &Counters| per_request(explained, of.l2.misses());
    let drawn = &movers[..movers.len().min(DRAWN)];
    let most = drawn.iter().fold(0.0, |most: f64, mover| {
        most.max(misses(&mover.before)).max(misses(&mover.after))
    });
    let scale = scale(NAMES, most, 16);
    let mut drawing = Drawing::default();
    drawing.legend(&KINDS);
    for mover in drawn {
        drawing.heading(&shortened(&mover.name));
        let sides = [("one core", &mover.before), ("split", &mover.after)];
        let change = misses(&mover.after) - misses(&mover.before);
        let change = format!(" ({change:+.1})");
        for ((name, of), after) in sides.into_iter().zip(["", &change]) {
            bar(&mut drawing, explained, (name, scale), kinds(&of.l2), after);
        }
    }
    let mut table = Table::new(&["function", "one core", "split", "change", "by stores"]);
    let has_sources = !sources.all().is_empty();
    table.head.extend(has_sources.then(|| "source".to_owned()));
    for mover in movers.iter().take(top) {
        let [before, after] = [&mover.before, &mover.after].map(misses);
        let by_stores = per_request(explained, mover.after.l2.coherence_misses());
        let cells = [before, after].map(|of| format!("{of:.2}"));
        let change = [format!("{:+.2}", after - before), format!("{by_stores:.2}")];
        let source = has_sources.then(|| sources.short(&mover.name).unwrap_or_default());
        let name = [mover.name.clone()];
        table.row(name.into_iter().chain(cells).chain(change).chain(source));
    }
    let first = drawn.first().map(|mover| {
        let [before, after] = [&mover.before, &mover.after].map(|of| told(misses(of)));
        format!(", first {} from {before} to {after}", mover.name)
    });
    Picture {
        name: "misses-by-function".into(),
        title: "L2 misses of a request, by function".into(),
        hint: format!(
            "The {} functions whose L2 misses change most, for an average request; the table has \
             up to {top}. Misses are those of the function's code, without the functions that it \
             calls.",
            drawn.len()
        ),
        said: format!(
            "The functions whose L2 misses change most{}.",
            first.unwrap_or_default()
        ),
        drawing,
        table,
    }
}
