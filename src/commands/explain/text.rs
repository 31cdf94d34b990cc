//! Prints an explanation as tables for a terminal; `docs/reference/search.md` defines each figure.
//! Misses and lost lines are per request, so that readers can compare them with the time of a
//! request.

use super::{modes, throughput};
use crate::options::by_argument;
use crate::terminal::line::{Lines, line};
use corehop_partitioner::alternatives::PlannedFunction;
use corehop_partitioner::attribution::{Explanation, Mover, remarks};
use corehop_partitioner::hop_cost::break_even_cycles;
use corehop_partitioner::machine_list::first;
use corehop_plan::KthCall;
use corehop_simulator::Replay;
use corehop_simulator::detail::{CoreUse, Spread, WorkingSet};
use corehop_support::format::name::shortened;
use corehop_support::format::number::{change_between, grouped as count, share};
use corehop_traces::FunctionId;

/// Renders all tables, with an empty line between them.
pub fn render(explained: &Explanation<'_>, top: usize) -> Lines {
    let mut text = Lines::new();
    counted(&mut text, explained);
    totals(&mut text, explained);
    by_argument::add(&mut text, &explained.split, explained.trace);
    modes::table(&mut text, explained);
    load(&mut text, explained);
    throughput::table(&mut text, explained);
    working_sets(&mut text, explained);
    code(&mut text, explained);
    lost_lines(&mut text, explained);
    movers(&mut text, explained, top);
    hops(&mut text, explained);
    text
}

fn per_request(count: u64, replay: &Replay) -> f64 {
    count as f64 / replay.requests.max(1) as f64
}

/// Prints what was replayed.
fn counted(text: &mut Lines, explained: &Explanation<'_>) {
    line!(
        text,
        "{}, machine {}: {} requests counted after {} to warm up",
        explained.trace_name,
        explained.machine.name,
        count(explained.after.0.requests),
        count(explained.warm_up as u64)
    );
    if explained.left_out() > 0 {
        let left_out = count(explained.left_out() as u64);
        line!(
            text,
            "{left_out} requests that the plan was searched on are left out"
        );
    }
    for remark in remarks(explained.trace) {
        line!(text, "{remark}");
    }
    line!(text);
    if first(&explained.plan.machine).1 > 0 {
        let planned = &explained.plan.machine;
        line!(
            text,
            "the plan is for {planned}; --machine names another of these"
        );
        line!(text);
    }
}

fn totals(text: &mut Lines, explained: &Explanation<'_>) {
    let ((before, _), (after, _)) = (&explained.before, &explained.after);
    let cores = format!("{} cores", explained.plan.cores);
    line!(
        text,
        "{:<28}{:>14}{cores:>14}{:>10}",
        "a request",
        "one core",
        "change"
    );
    let mut row = |name: &str, of: &dyn Fn(&Replay) -> u64| {
        let (of_before, of_after) = (of(before), of(after));
        let [shown, beside] = [(of_before, before), (of_after, after)]
            .map(|(count, replay)| format!("{:.1}", per_request(count, replay)));
        let change = change_between(of_before, of_after);
        let row = format!("{name:<28}{shown:>14}{beside:>14}{change:>10}");
        line!(text, "{}", row.trim_end());
    };
    let paid = |replay: &Replay| replay.hops * u64::from(explained.machine.hop_cost_cycles);
    row("L2 misses", &|r| r.counters.l2.misses());
    row("  of fetches", &|r| r.counters.l2.fetch_misses());
    row("  of loads and stores", &|r| r.counters.l2.data_misses());
    row("  by other cores' stores", &|r| {
        r.counters.l2.coherence_misses()
    });
    row("L3 misses", &|r| r.counters.l3.misses());
    row("hops", &|r| r.hops);
    row("cycles without cost of hops", &|r| {
        r.counters.cycles - paid(r)
    });
    row("cycles", &|r| r.counters.cycles);
    let machine = explained.machine;
    match break_even_cycles(machine, &before.counters, &after.counters, after.hops) {
        None => line!(text, "no request hops"),
        Some(cycles) if cycles <= 0.0 => {
            line!(
                text,
                "accesses take longer than on one core, even with free hops"
            );
        }
        Some(cycles) => line!(
            text,
            "pays off if a hop costs less than {} cycles; on this machine it costs {}",
            count(cycles as u64),
            count(machine.hop_cost_cycles.into())
        ),
    }
}

fn load(text: &mut Lines, explained: &Explanation<'_>) {
    let (after, _) = &explained.after;
    line!(text);
    line!(
        text,
        "core{:>10}{:>10}{:>12}{:>12}{:>12}  entering",
        "accesses",
        "cycles",
        "L1I misses",
        "L2 misses",
        "by stores"
    );
    for (core, counters) in after.per_core.iter().enumerate() {
        let entered = explained
            .placed
            .iter()
            .filter(|placed| placed.core.index() == core);
        let name = |placed: &PlannedFunction| {
            let back = if placed.delegated { " and back" } else { "" };
            format!("{}{back}", shortened(explained.name(placed.function)))
        };
        let by_argument = explained.by_argument().map(|of| {
            let name = shortened(explained.name(of.function));
            format!("{name} by {}", of.by)
        });
        let names: Vec<String> = entered.map(name).chain(by_argument).collect();
        let names = [names, at_calls(explained, core)].concat();
        line!(
            text,
            "{core:>4}{:>10}{:>10}{:>12.1}{:>12.1}{:>12.1}  {}",
            share(counters.accesses(), after.accesses, 1),
            share(counters.cycles, after.counters.cycles, 1),
            per_request(counters.l1i.misses(), after),
            per_request(counters.l2.misses(), after),
            per_request(counters.l2.coherence_misses(), after),
            names.join(", ")
        );
    }
}

fn kib(lines: u64) -> String {
    format!("{} KiB", count((lines * 64).div_ceil(1024)))
}

fn working_sets(text: &mut Lines, explained: &Explanation<'_>) {
    let l2_lines = explained.machine.l2.size_bytes / 64;
    line!(text);
    line!(
        text,
        "working set of a request, median; one L2 holds {}",
        kib(l2_lines)
    );
    line!(
        text,
        "{:<10}{:>10}{:>10}{:>12}{:>16}{:>15}{:>12}{:>12}",
        "",
        "code",
        "data",
        "together",
        "previous too",
        "all requests'",
        "shared",
        "stored to"
    );
    let ((_, before), (_, after)) = (&explained.before, &explained.after);
    let named = (0..)
        .zip(&after.cores)
        .map(|(core, of)| (format!("core {core}"), of));
    let alone = before.cores.iter().map(|of| ("one core".into(), of));
    for (name, of) in alone.chain(named) {
        let row = working_set_row(&of.working_sets);
        let [all, shared, contended] = [of.lines, of.shared_lines, of.contended_lines].map(kib);
        line!(text, "{name:<10}{row}{all:>15}{shared:>12}{contended:>12}");
    }
}

fn working_set_row(sets: &[WorkingSet]) -> String {
    let median = |lines: fn(&WorkingSet) -> u64| Spread::of(sets.iter().map(lines)).median;
    let [code, data, all] = [
        median(|set| set.code_lines),
        median(|set| set.data_lines),
        median(|set| set.lines),
    ]
    .map(kib);
    let again = sets
        .iter()
        .filter_map(|set| Some(set.shared_with_previous_lines? * 1000 / set.lines.max(1)));
    let again = format!("{:.1} %", Spread::of(again).median as f64 / 10.0);
    format!("{code:>10}{data:>10}{all:>12}{again:>16}")
}

/// Maximum number of functions to name for each core.
const NAMED: usize = 5;

fn code(text: &mut Lines, explained: &Explanation<'_>) {
    let (after, detail) = &explained.after;
    line!(text);
    line!(
        text,
        "code that runs there, by share of the core's accesses"
    );
    for (core, (used, counters)) in detail.cores.iter().zip(&after.per_core).enumerate() {
        let all = counters.accesses();
        let most = used.code.iter().take(NAMED).map(|code| {
            let name = shortened(&code.owner.name(explained.trace));
            format!("{} {name}", share(code.accesses, all, 1))
        });
        let more = match used.code.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!("; {} more", count(more as u64)),
        };
        let mut named: Vec<String> = most.collect();
        match named.last_mut() {
            Some(last) => *last += &more,
            None => named.push(more),
        }
        let mut label = core.to_string();
        for code in named {
            line!(text, "{label:>4}  {code}");
            label.clear();
        }
    }
}

fn lost_lines(text: &mut Lines, explained: &Explanation<'_>) {
    let (after, detail) = &explained.after;
    let cores: &[CoreUse] = &detail.cores;
    if cores
        .iter()
        .flat_map(|core| &core.lost_lines_to)
        .all(|&lost| lost == 0)
    {
        return;
    }
    let heads = (0..cores.len()).map(|core| format!("{:>12}", format!("to core {core}")));
    line!(text);
    line!(text, "lines invalidated per request by other cores");
    line!(text, "{:<10}{}", "", heads.collect::<String>());
    for (core, used) in cores.iter().enumerate() {
        let row = used.lost_lines_to.iter();
        let row = row.map(|&lost| format!("{:>12.1}", per_request(lost, after)));
        line!(
            text,
            "{:<10}{}",
            format!("core {core}"),
            row.collect::<String>()
        );
    }
}

fn movers(text: &mut Lines, explained: &Explanation<'_>, top: usize) {
    let ((before, _), (after, _)) = (&explained.before, &explained.after);
    line!(text);
    line!(text, "L2 misses a request");
    line!(
        text,
        "{:>12}{:>12}{:>12}{:>12}  function, largest change first",
        "one core",
        "split",
        "change",
        "by stores"
    );
    let movers = explained.movers();
    let row = |mover: &Mover| {
        let was = per_request(mover.before.l2.misses(), before);
        let is = per_request(mover.after.l2.misses(), after);
        let by_stores = per_request(mover.after.l2.coherence_misses(), after);
        let (change, name) = (is - was, shortened(&mover.name));
        format!("{was:>12.1}{is:>12.1}{change:>+12.1}{by_stores:>12.1}  {name}")
    };
    for mover in movers.iter().take(top) {
        line!(text, "{}", row(mover));
    }
    let grew = |mover: &&Mover| mover.after.l2.misses() > mover.before.l2.misses();
    let grown = movers.iter().skip(top).filter(grew).take(NAMED);
    let grown: Vec<String> = grown.map(row).collect();
    if !grown.is_empty() {
        line!(
            text,
            "functions further down that miss more than on one core:"
        );
    }
    for row in grown {
        line!(text, "{row}");
    }
}

fn hops(text: &mut Lines, explained: &Explanation<'_>) {
    let (after, _) = &explained.after;
    let misses = |replay: &Replay| per_request(replay.counters.l2.misses(), replay);
    line!(text);
    line!(
        text,
        "effect of each hop: the plan has {:.1} L2 misses and {:.2} hops per request",
        misses(after),
        per_request(after.hops, after)
    );
    let beside =
        |replay: &Replay| change_between(after.counters.l2.misses(), replay.counters.l2.misses());
    let more_hops =
        |replay: &Replay| per_request(replay.hops, after) - per_request(after.hops, after);
    for (of, placed) in explained.alternatives.iter().zip(&explained.placed) {
        line!(
            text,
            "  without {}: {} L2 misses, {:+.2} hops per request",
            shortened(explained.name(of.function)),
            beside(&of.without),
            more_hops(&of.without)
        );
        line!(
            text,
            "    {} when its call ends: {}, {:+.2} hops",
            if placed.delegated {
                "staying"
            } else {
                "going back"
            },
            beside(&of.other_mode),
            more_hops(&of.other_mode)
        );
        if let Some((other, replay)) = &of.exchanged {
            let other = shortened(explained.name(*other));
            line!(
                text,
                "    with its best replacement, {other}: {}",
                beside(replay)
            );
        }
    }
    let Some((function, other, replay)) = explained.runner_up() else {
        return;
    };
    let fewer = replay.counters.l2.misses() < after.counters.l2.misses();
    line!(
        text,
        "the best split that differs in one function has {} instead of {}: {} L2 misses{}",
        shortened(explained.name(other)),
        shortened(explained.name(function)),
        beside(replay),
        match fewer {
            true => ", fewer than the plan on these requests",
            false => "",
        }
    );
}

/// Lists, for functions with only some calls on this core, these calls of each request.
fn at_calls(explained: &Explanation<'_>, core: usize) -> Vec<String> {
    let calls = explained.split.kth_calls().iter();
    let here = calls.filter(|(_, meant)| meant.core as usize == core);
    let name = |(function, meant): &(FunctionId, KthCall)| {
        let name = shortened(explained.name(*function));
        format!("{name} at call {}", meant.call)
    };
    here.map(name).collect()
}
