//! Draws the split's results under other conditions: fewer cores, other machines, and other costs
//! of a hop. space.rs has other splits.

use super::picture::{KINDS, Picture, changed, in_brackets, kinds, per_request, told};
use crate::drawing::chart::{BAR, BarPart, Drawing, HEIGHT, WIDTH, scale};
use crate::drawing::table::Table;
use crate::search_space::space::SearchSpace;
use corehop_partitioner::Comparison;
use corehop_partitioner::attribution::Explanation;
use corehop_partitioner::backend::{Backend, hop_cycles_in_words};
use corehop_partitioner::hop_cost::break_even_cycles;
use corehop_simulator::{Counters, Machine, Replay};
use corehop_support::format::number::{change, change_between, grouped};

/// Width reserved for the names of bars.
const NAMES: f64 = 62.0;

/// Draws the best splits found over fewer cores.
pub fn cores(explained: &Explanation<'_>, cores: &[(u32, Comparison)]) -> Picture {
    let head = ["cores", "one core", "split", "change", "hops", "break-even"];
    let mut table = Table::new(&head);
    let mut drawing = Drawing::default();
    drawing.legend(&KINDS);
    drawing.y += 4.0;
    let of = |of: &Comparison, count: u64| count as f64 / of.requests.max(1) as f64;
    let one = cores.first().map(|(_, first)| (1, first, &first.baseline));
    let splits = cores.iter().map(|(cores, of)| (*cores, of, &of.split));
    let rows: Vec<(u32, &Comparison, &Counters)> = one.into_iter().chain(splits).collect();
    let most = rows
        .iter()
        .map(|(_, by, counters)| of(by, counters.l2.misses()));
    let scale = scale(NAMES, most.fold(0.0, f64::max), 16);
    for (count, by, counters) in rows {
        let name = match count {
            1 => "one core".into(),
            many => format!("{many} cores"),
        };
        let part = |((class, kind), misses): (&(&'static str, &str), u64)| {
            let value = of(by, misses);
            let label = format!("{name}: {} misses of {kind}", told(value));
            BarPart {
                class,
                value,
                label,
            }
        };
        let parts: Vec<BarPart<'_>> = KINDS.iter().zip(kinds(&counters.l2)).map(part).collect();
        let [before, after] = [&by.baseline, counters].map(|counters| counters.l2.misses());
        let saved = changed(of(by, before), of(by, after));
        let brackets = match count {
            1 => String::new(),
            _ => in_brackets(&saved),
        };
        let said = format!("{}{brackets}", told(of(by, after)));
        drawing.bar((&name, NAMES), scale, &parts, &said);
        if count > 1 {
            let even = by.break_even_cycles(explained.machine);
            let even = even.map_or("none".into(), |cycles| format!("{cycles:.0}"));
            let numbers = [of(by, before), of(by, after)].map(|number| format!("{number:.2}"));
            let rest = [saved, format!("{:.2}", of(by, by.hops)), even];
            table.row([count.to_string()].into_iter().chain(numbers).chain(rest));
        }
    }
    let last = cores.iter().map(|(cores, by)| {
        let [before, after] = [&by.baseline, &by.split].map(|it| of(by, it.l2.misses()));
        format!("{cores} cores {}", changed(before, after))
    });
    Picture {
        name: "cores".into(),
        title: "Over fewer cores".into(),
        hint: "L2 misses of a request with the best splits that a local search finds for fewer \
               cores, evaluated on held-out requests. Better splits may exist: `corehop partition \
               --sweep` proves which is best."
            .into(),
        said: format!(
            "L2 misses compared with one core: {}.",
            last.collect::<Vec<_>>().join(", ")
        ),
        drawing,
        table,
    }
}

/// Draws the plan on other machines.
pub fn machines(explained: &Explanation<'_>, space: &SearchSpace) -> Picture {
    let mut drawing = Drawing::default();
    let mut table = Table::new(&["machine", "one core", "split", "change", "change of cycles"]);
    let misses = |replay: &Replay| per_request(explained, replay.counters.l2.misses());
    let both = space
        .machines
        .iter()
        .flat_map(|(_, before, after)| [before, after]);
    let scale = scale(NAMES, both.map(misses).fold(0.0, f64::max), 16);
    drawing.legend(&[("cold", "one core"), ("own", "the plan")]);
    let mut fewer = Vec::new();
    for (name, before, after) in &space.machines {
        drawing.heading(name);
        let counts = [before, after].map(|replay| replay.counters.l2.misses());
        let saved = changed(misses(before), misses(after));
        let rows = [("cold", "one core", before, String::new())];
        let plan = ("own", "plan", after, in_brackets(&saved));
        for (class, label, replay, brackets) in rows.into_iter().chain([plan]) {
            let value = misses(replay);
            let part = BarPart {
                class,
                value,
                label: format!("{name}, {label}: {} misses", told(value)),
            };
            drawing.bar(
                (label, NAMES),
                scale,
                &[part],
                &format!("{}{brackets}", told(value)),
            );
        }
        if counts[1] < counts[0] {
            fewer.push(name.as_str());
        }
        let cycles = change_between(before.counters.cycles, after.counters.cycles);
        let numbers = [before, after].map(|replay| format!("{:.2}", misses(replay)));
        table.row(
            [name.clone()]
                .into_iter()
                .chain(numbers)
                .chain([saved, cycles]),
        );
    }
    Picture {
        name: "machines".into(),
        title: "The plan on other machines".into(),
        hint: "L2 misses of a request with this plan on other simulated machines. The plan was \
               searched for one of them. If an L2 holds a whole request, splitting only adds \
               misses. `corehop partition --sweep --json` finds the best plan for each machine and \
               number of cores, and `corehop report --sweep` shows them."
            .into(),
        said: match &fewer[..] {
            [] => "The plan has fewer L2 misses than one core on none of them.".into(),
            some => format!("Fewer L2 misses than on one core on {}.", some.join(", ")),
        },
        drawing,
        table,
    }
}

/// Range of hop costs on the axis, in cycles.
const COSTS: [f64; 2] = [100.0, 100_000.0];

/// Returns the position of a cost on the axis.
fn across(cost: f64) -> f64 {
    let [cheapest, dearest] = COSTS.map(f64::ln);
    (cost.ln() - cheapest) / (dearest - cheapest) * WIDTH
}

/// Draws the total cycles by the cost of a hop.
pub fn hop_cost(explained: &Explanation<'_>) -> Picture {
    let (machine, (before, _), (after, _)) =
        (explained.machine, &explained.before, &explained.after);
    let even = break_even_cycles(machine, &before.counters, &after.counters, after.hops);
    let paid = after.hops as f64 * f64::from(machine.hop_cost_cycles);
    let unpaid = after.counters.cycles as f64 - paid;
    let ratio =
        |cost: f64| (unpaid + after.hops as f64 * cost) / before.counters.cycles.max(1) as f64;
    let [cheapest, dearest] = COSTS.map(f64::ln);
    let top = 24.0;
    // The axis shows half to one and a half times the cycles of one core.
    let upwards = |ratio: f64| top + HEIGHT - (ratio.clamp(0.5, 1.5) - 0.5) * HEIGHT;
    let mut drawing = Drawing::default();
    let mut table = Table::new(&["cycles of a hop", "cycles compared with one core"]);
    let mut points = Vec::new();
    for place in 0..=60 {
        let cost = (cheapest + (dearest - cheapest) * f64::from(place) / 60.0).exp();
        points.push((across(cost), upwards(ratio(cost))));
        if place % 10 == 0 {
            table.row([format!("{cost:.0}"), change(ratio(cost))]);
        }
    }
    for (height, said) in [(0.5, "-50 %"), (1.0, "as one core"), (1.5, "+50 %")] {
        let y = upwards(height);
        drawing.line((0.0, y), (WIDTH, y), "axis");
        drawing.text(0.0, y - 4.0, "tiny", said);
    }
    drawing.curve(&points, "own");
    let pays = even.filter(|even| *even > 0.0);
    let here = |backend: Backend| Some(f64::from(backend.hop_cycles(machine)));
    let [carrier, affinity] = Backend::ALL.map(|backend| (backend.name(), here(backend)));
    let mut marks = [("break-even", pays), carrier, affinity];
    // The most expensive is at the top, so that no label crosses another's line.
    marks.sort_by(|(_, a), (_, b)| b.unwrap_or(0.0).total_cmp(&a.unwrap_or(0.0)));
    for (row, (name, cost)) in marks.iter().enumerate() {
        let Some(cost) = cost.filter(|cost| (COSTS[0]..COSTS[1]).contains(cost)) else {
            continue;
        };
        let y = 9.0 + row as f64 * 12.0;
        let x = across(cost);
        drawing.line((x, y - 9.0), (x, top + HEIGHT), "limit");
        let said = format!("{name}: {}", grouped(cost as u64));
        drawing.text(x - 4.0, y, "small end", &said);
    }
    drawing.y = top + HEIGHT + BAR;
    for cost in [100.0, 1_000.0, 10_000.0, 100_000.0] {
        let class = match across(cost) {
            x if x < 1.0 => "small",
            x if x > WIDTH - 1.0 => "small end",
            _ => "small middle",
        };
        drawing.text(across(cost), drawing.y, class, &grouped(cost as u64));
    }
    drawing.y += BAR;
    drawing.text(WIDTH / 2.0, drawing.y, "small middle", "cycles of a hop");
    let said = verdict(even, machine);
    Picture {
        name: "hop-cost".into(),
        title: "Break-even cost of a hop".into(),
        hint: format!(
            "{said} The curve is the time of a request with the plan divided by its time on one \
             core, over the cost of a hop. Times are cycles of misses and hops, added as if none \
             overlapped. They compare plans; they do not predict a server's speed."
        ),
        said,
        drawing,
        table,
    }
}

fn verdict(even: Option<f64>, machine: &Machine) -> String {
    match even {
        None => "No request hops, so hops cost nothing.".into(),
        Some(cycles) if cycles <= 0.0 => {
            "Accesses take longer than on one core, even with free hops.".to_owned()
        }
        Some(cycles) => format!(
            "The plan is faster than one core if a hop costs less than {} cycles. On {}, a hop \
             costs {}.",
            grouped(cycles as u64),
            machine.name,
            hop_cycles_in_words(machine)
        ),
    }
}
