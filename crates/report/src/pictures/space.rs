//! Draws the plan among other splits: all of them, and those that differ in one function.
//! elsewhere.rs has other numbers of cores, other machines and other costs of a hop.

use super::picture::{Picture, changed, in_brackets, per_request, told};
use crate::drawing::chart::{BarPart, Drawing, HEIGHT, WIDTH, scale};
use crate::drawing::table::Table;
use crate::search_space::space::{Drawn, SearchSpace};
use corehop_partitioner::attribution::Explanation;
use corehop_simulator::Replay;
use corehop_support::format::name::shortened;
use corehop_support::format::number::grouped;

/// Width reserved for the names of bars.
const NAMES: f64 = 74.0;

/// Number of bars in the distribution.
const BINS: usize = 48;

/// Draws the distribution of splits, with the plan marked.
pub fn splits(space: &SearchSpace) -> Picture {
    let drawn = &space.drawn;
    let misses = |value: u64| value as f64 / drawn.requests.max(1) as f64;
    let marks = [("plan", drawn.plan), ("one core", drawn.one_core)];
    let values = drawn
        .values
        .iter()
        .chain(marks.iter().map(|(_, value)| value));
    let [least, most] = [values.clone().min(), values.max()].map(|of| misses(*of.unwrap_or(&0)));
    let wide = ((most - least) / BINS as f64).max(f64::MIN_POSITIVE);
    let mut bins = vec![0_u64; BINS];
    for &value in &drawn.values {
        let bin = ((misses(value) - least) / wide) as usize;
        bins[bin.min(BINS - 1)] += 1;
    }
    let highest = bins.iter().max().copied().unwrap_or(0).max(1) as f64;
    let across = |value: f64| (value - least) / wide / BINS as f64 * WIDTH;
    let mut drawing = Drawing::default();
    let top = 34.0;
    let mut table = Table::new(&["L2 misses from", "to", "splits"]);
    for (bin, &count) in bins.iter().enumerate() {
        let [from, to] = [bin, bin + 1].map(|bin| least + bin as f64 * wide);
        let height = count as f64 / highest * HEIGHT;
        let place = [
            across(from),
            top + HEIGHT - height,
            across(to) - across(from) - 1.0,
            height,
        ];
        let said = format!("{} to {}: {} splits", told(from), told(to), grouped(count));
        drawing.rectangle(place, "own", &said);
        table.row([format!("{from:.1}"), format!("{to:.1}"), count.to_string()]);
    }
    for (row, (name, value)) in marks.into_iter().enumerate() {
        let x = across(misses(value));
        let y = 12.0 + row as f64 * 14.0;
        drawing.line((x, y + 3.0), (x, top + HEIGHT), "limit");
        let class = if x > WIDTH / 2.0 {
            "small end"
        } else {
            "small"
        };
        drawing.text(x, y, class, &format!("{name}: {}", told(misses(value))));
    }
    drawing.line((0.0, top + HEIGHT), (WIDTH, top + HEIGHT), "axis");
    drawing.y = top + HEIGHT + 15.0;
    drawing.text(0.0, drawing.y, "small", &told(least));
    drawing.text(WIDTH, drawing.y, "small end", &told(most));
    drawing.text(
        WIDTH / 2.0,
        drawing.y,
        "small middle",
        "L2 misses of a request",
    );
    let said = standing(drawn);
    Picture {
        name: "splits".into(),
        title: "How good splits are".into(),
        hint: format!(
            "{said} The height is the number of splits with that many misses. Misses are counted \
             as in the search: on the requests that were searched, and on each core separately. \
             They therefore differ from those of the other pictures."
        ),
        said,
        drawing,
        table,
    }
}

/// Describes how many of the splits are better than the plan.
fn standing(drawn: &Drawn) -> String {
    let better = drawn
        .values
        .iter()
        .filter(|&&value| value < drawn.plan)
        .count();
    let number = grouped(drawn.values.len() as u64);
    let which = match drawn.all {
        true => format!("all {number} splits at as many functions"),
        false => format!("{number} different random splits"),
    };
    format!(
        "Of {which}, {} have fewer L2 misses than the plan.",
        grouped(better as u64)
    )
}

/// Draws the plan without each of its functions, and with the best other in its place.
pub fn neighbours(explained: &Explanation<'_>) -> Picture {
    let misses = |replay: &Replay| per_request(explained, replay.counters.l2.misses());
    let plan = &explained.after.0;
    let of = explained.alternatives.iter();
    let replays = of.clone().flat_map(|of| {
        let exchanged = of.exchanged.as_ref().map(|(_, replay)| replay);
        [Some(&of.without), Some(&of.other_mode), exchanged]
    });
    let most = replays
        .flatten()
        .fold(misses(plan), |most, replay| most.max(misses(replay)));
    let scale = scale(NAMES, most, 16);
    let mut drawing = Drawing::default();
    let head = ["function", "instead", "misses", "change", "hops"];
    let mut table = Table::new(&head);
    drawing.legend(&[("own", "L2 misses of a request"), ("limit", "the plan's")]);
    let limit = NAMES + misses(plan) * scale;
    for (of, placed) in of.zip(&explained.placed) {
        let name = explained.name(of.function);
        drawing.heading(&shortened(name));
        let mode = if placed.delegated {
            "staying"
        } else {
            "back after"
        };
        let mut rows = vec![
            ("without", "nothing", &of.without),
            (mode, mode, &of.other_mode),
        ];
        if let Some((other, replay)) = &of.exchanged {
            rows.push(("exchanged", explained.name(*other), replay));
        }
        let top = drawing.y;
        for (label, instead, replay) in rows {
            let value = misses(replay);
            let change = changed(misses(plan), value);
            let part = BarPart {
                class: "own",
                value,
                label: format!("{label} {}: {} misses", shortened(instead), told(value)),
            };
            let said = told(value) + &in_brackets(&change);
            drawing.bar((label, NAMES), scale, &[part], &said);
            let hops = per_request(explained, replay.hops);
            let numbers = [format!("{value:.2}"), change, format!("{hops:.2}")];
            let names = [name, instead].map(str::to_owned);
            table.row(names.into_iter().chain(numbers));
        }
        drawing.line((limit, top - 1.0), (limit, drawing.y - 1.0), "limit");
    }
    let said = runner_up(explained);
    Picture {
        name: "neighbours".into(),
        title: "What each hop is worth".into(),
        hint: format!(
            "L2 misses of a request if one hop of the plan changes: without that function; with a \
             return hop added or removed; and with the best other function instead. {said}"
        ),
        said,
        drawing,
        table,
    }
}

/// Describes the second-best split that differs in one function.
fn runner_up(explained: &Explanation<'_>) -> String {
    let Some((function, other, replay)) = explained.runner_up() else {
        return "There is no other candidate.".into();
    };
    let misses =
        [&explained.after.0, replay].map(|of| per_request(explained, of.counters.l2.misses()));
    format!(
        "Runner-up, the best that differs in one function: {} instead of {}, {} L2 misses.",
        explained.name(other),
        explained.name(function),
        changed(misses[0], misses[1])
    )
}
