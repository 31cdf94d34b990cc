//! The details of a replay, as tables for a terminal. Names come last in a row, because C++ names
//! have no fixed width.

use super::summary::Summary;
use crate::terminal::line::{Lines, line};
use corehop_simulator::detail::{Losses, Spread, WorkingSet};
use corehop_simulator::{Counters, TlbCounters};
use corehop_support::format::name::shortened;
use corehop_support::format::number::{counted, grouped as count, share};
use corehop_traces::Trace;

/// Returns all tables, each after an empty line.
pub fn render(trace: &Trace, told: &Summary, top: usize) -> Lines {
    let mut text = Lines::new();
    functions(&mut text, trace, told, top);
    if told.detail.segments.len() > 1 {
        segments(&mut text, told);
        losses(&mut text, told);
    }
    distances(&mut text, told);
    working_sets(&mut text, told);
    text
}

const COLUMNS: [&str; 6] = [
    "accesses",
    "L1I misses",
    "L1D misses",
    "L2 misses",
    "share",
    "L3 misses",
];

fn costs(counters: &Counters, all: &Counters) -> String {
    let l2 = counters.l2.misses();
    let columns = [
        count(counters.accesses()),
        count(counters.l1i.misses()),
        count(counters.l1d.misses()),
        count(l2),
        share(l2, all.l2.misses(), 2),
        count(counters.l3.misses()),
    ];
    aligned(&columns.each_ref().map(String::as_str))
}

fn aligned(columns: &[&str; 6]) -> String {
    let [accesses, l1i, l1d, l2, share, l3] = columns;
    format!("{accesses:>13}{l1i:>12}{l1d:>12}{l2:>12}{share:>9}{l3:>12}")
}

/// Returns the columns of address translation, if there are any.
fn translations(told: &Summary, tlbs: &TlbCounters) -> String {
    match told.replay.tlbs.is_empty() {
        true => String::new(),
        false => format!("{:>12}{:>12}", count(tlbs.l1_misses()), count(tlbs.walks())),
    }
}

/// Returns their headings.
fn of_translations(told: &Summary) -> String {
    match told.replay.tlbs.is_empty() {
        true => String::new(),
        false => format!("{:>12}{:>12}", "TLB misses", "page walks"),
    }
}

fn functions(text: &mut Lines, trace: &Trace, told: &Summary, top: usize) {
    let functions = &told.detail.functions;
    let shown = top.min(functions.len());
    let all = &told.replay.counters;
    line!(text);
    line!(
        text,
        "{}{}  function, most L2 misses first{}",
        aligned(&COLUMNS),
        of_translations(told),
        of_all(shown, functions.len())
    );
    for function in &functions[..shown] {
        line!(
            text,
            "{}{}  {}",
            costs(&function.cost.counters, all),
            translations(told, &function.cost.tlbs),
            shortened(&function.owner.name(trace))
        );
    }
    if shown < functions.len() {
        let rest: Counters = functions[shown..]
            .iter()
            .map(|function| function.cost.counters)
            .sum();
        let tlbs = functions[shown..].iter().map(|of| of.cost.tlbs).sum();
        line!(
            text,
            "{}{}  all others",
            costs(&rest, all),
            translations(told, &tlbs)
        );
    }
}

fn of_all(shown: usize, all: usize) -> String {
    if shown == all {
        return String::new();
    }
    format!(" ({} of {})", count(shown as u64), count(all as u64))
}

fn segments(text: &mut Lines, told: &Summary) {
    line!(text);
    line!(
        text,
        "{}{}  segment: from entering",
        aligned(&COLUMNS),
        of_translations(told)
    );
    let named = told.segments.names().iter().zip(&told.detail.segments);
    for (number, (name, cost)) in named.enumerate() {
        line!(
            text,
            "{}{}  {number} {}",
            costs(&cost.counters, &told.replay.counters),
            translations(told, &cost.tlbs),
            shortened(name)
        );
    }
}

fn losses(text: &mut Lines, told: &Summary) {
    let interference = &told.detail.interference;
    let title = "L2 misses after evictions: rows missed lines that columns had evicted";
    matrix(text, title, &interference.capacity);
    let coherence = &interference.coherence;
    if (0..coherence.lost.len()).any(|segment| coherence.of(segment) > 0) {
        let title = "L2 misses after stores: rows missed lines that columns had stored to";
        matrix(text, title, coherence);
    }
}

fn matrix(text: &mut Lines, title: &str, losses: &Losses) {
    let segments = 0..losses.lost.len();
    let columns = segments
        .clone()
        .map(|taker| format!("{:>12}", format!("by {taker}")));
    let columns: String = columns.collect();
    line!(text);
    line!(text, "{title}");
    line!(
        text,
        "{:<12}{:>12}{columns}{:>16}",
        "",
        "all",
        "others' lines"
    );
    for segment in segments {
        let row = losses.lost[segment]
            .iter()
            .map(|&lost| format!("{:>12}", count(lost)));
        let row: String = row.collect();
        let (all, others) = (losses.of(segment), losses.touched_by_others[segment]);
        let name = format!("segment {segment}");
        line!(
            text,
            "{name:<12}{:>12}{row}{:>16}",
            count(all),
            count(others)
        );
    }
    let lost = |(segment, row): (usize, &Vec<u64>)| row.iter().sum::<u64>() - row[segment];
    let to_others: u64 = losses.lost.iter().enumerate().map(lost).sum();
    let all: u64 = (0..losses.lost.len())
        .map(|segment| losses.of(segment))
        .sum();
    line!(
        text,
        "{} of these {} ({}) were of lines lost to another segment.",
        count(to_others),
        count(all),
        share(to_others, all, 2)
    );
}

fn distances(text: &mut Lines, told: &Summary) {
    let (fetches, data) = (
        &told.detail.reuse_distances.fetches,
        &told.detail.reuse_distances.data,
    );
    let all = fetches.accesses() + data.accesses();
    line!(text);
    line!(
        text,
        "{:<24}{:>15}{:>15}{:>17}{:>10}",
        "other lines in between",
        "fetches",
        "data",
        "an LRU cache of",
        "misses"
    );
    for bucket in 0..fetches.buckets.len().max(data.buckets.len()) {
        let of = |buckets: &[u64]| count(buckets.get(bucket).copied().unwrap_or(0));
        let missed = fetches.misses(bucket as u32) + data.misses(bucket as u32);
        let holds = size(64 << bucket);
        line!(
            text,
            "{:<24}{:>15}{:>15}{holds:>17}{:>10}",
            range(bucket),
            of(&fetches.buckets),
            of(&data.buckets),
            share(missed, all, 2)
        );
    }
    let first = [fetches.first_touches, data.first_touches].map(count);
    line!(
        text,
        "{:<24}{:>15}{:>15}",
        "first touch",
        first[0],
        first[1]
    );
}

/// Returns the distances in a bucket.
fn range(bucket: usize) -> String {
    match bucket {
        0 => "0".into(),
        1 => "1".into(),
        _ => format!(
            "{} to {}",
            count(1 << (bucket - 1)),
            count((1 << bucket) - 1)
        ),
    }
}

fn working_sets(text: &mut Lines, told: &Summary) {
    let sets = &told.detail.working_sets;
    if sets.is_empty() {
        return;
    }
    let requests = counted(sets.len() as u64, "request", "requests");
    line!(text);
    line!(
        text,
        "{:<40}{:>12}{:>12}",
        format!("accessed by {requests}"),
        "median",
        "largest"
    );
    let mut row = |name: &str, lines: &dyn Fn(&WorkingSet) -> u64| {
        let Spread { median, largest } = Spread::of(sets.iter().map(lines));
        line!(
            text,
            "{name:<40}{:>12}{:>12}",
            size(median * 64),
            size(largest * 64)
        );
    };
    row("code", &|set| set.code_lines);
    row("data", &|set| set.data_lines);
    row("code and data", &|set| set.lines);
    if sets
        .iter()
        .all(|set| set.shared_with_previous_lines.is_none())
    {
        return;
    }
    let mut overlap = |name: &str, shared: &dyn Fn(&WorkingSet) -> Option<u64>| {
        let shares = sets
            .iter()
            .filter_map(|set| Some(shared(set)? * 1000 / set.lines.max(1)));
        let Spread { median, largest } = Spread::of(shares);
        let percent = |permille: u64| format!("{:.1} %", permille as f64 / 10.0);
        line!(
            text,
            "{name:<40}{:>12}{:>12}",
            percent(median),
            percent(largest)
        );
    };
    overlap("  of it by the previous request too", &|set| {
        set.shared_with_previous_lines
    });
    overlap("  of it by any of the last 10 too", &|set| {
        set.shared_with_recent_lines
    });
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", count(bytes >> 20)),
        _ => format!("{} KiB", count(bytes >> 10)),
    }
}
