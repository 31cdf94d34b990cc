//! A replay with a pollute buffer as tables for a terminal.

use super::summary::{BINS, SearchTold, Summary};
use corehop::commands::replay::counted_requests;
use corehop::terminal::line::{Lines, line};
use corehop_lab::pollution::Judge;
use corehop_simulator::{Counters, PAGE_BYTES};
use corehop_support::format::number::{change, change_between, counted, grouped as count, share};

/// Number of printed addresses; the others are in the JSON and in the table of pages.
const SHOWN: usize = 4;

/// The recommended share of an L2 for a buffer, as a divisor.
const USUAL_PART: u64 = 16;

pub fn render(told: &Summary<'_>) -> Lines {
    let mut text = Lines::new();
    line!(
        text,
        "{}, machine {}",
        told.trace.display(),
        told.machine.name
    );
    counted_requests(&mut text, &told.after.replay, told.warm_up, &told.remarks);
    buffer(&mut text, told);
    if let Some(search) = &told.search {
        searched(&mut text, search, told);
    }
    comparison(&mut text, told);
    miss_rates(&mut text, told);
    text
}

fn buffer(text: &mut Lines, told: &Summary<'_>) {
    let colours = told.colours();
    let part = colours.all / colours.of_buffer;
    let last = match colours.of_buffer {
        1 => String::new(),
        several => format!(" {}", count(several)),
    };
    line!(
        text,
        "pollute buffer: the last{last} of the {} page colors of each L2, 1/{part} of it",
        count(colours.all)
    );
    if part < USUAL_PART {
        line!(
            text,
            "(an L2 of {} sets has no part as small as 1/{USUAL_PART})",
            count(told.machine.l2.sets())
        );
    }
    let confined = told.buffer.pages().len();
    let pages = told.before.referenced().count() as u64;
    let pages = counted(pages, "page", "pages");
    if confined == 0 {
        line!(
            text,
            "confined to it: none of {pages}; nothing is gained by it"
        );
        return;
    }
    let shown = told.buffer.pages().take(SHOWN);
    let shown: Vec<String> = shown
        .map(|page| format!("{:#x}", page * PAGE_BYTES))
        .collect();
    let more = if confined > SHOWN { ", ..." } else { "" };
    let confined = count(confined as u64);
    line!(
        text,
        "confined to it: {confined} of {pages}: {}{more}",
        shown.join(", ")
    );
}

fn searched(text: &mut Lines, search: &SearchTold, told: &Summary<'_>) {
    let by = match search.judge {
        Judge::L2Misses => "L2 misses",
        Judge::Cycles => "cycles",
    };
    let steps = counted(search.tried.len() as u64 - 1, "step", "steps");
    let pages = counted(search.step as u64, "page", "pages");
    let best = told.buffer.pages().len() / search.step;
    line!(
        text,
        "searched in {steps} of {pages}, highest miss rate first, by {by}: best after {best}"
    );
}

fn comparison(text: &mut Lines, told: &Summary<'_>) {
    let [before, after] = [&told.before, &told.after];
    line!(text);
    line!(
        text,
        "{:<30}{:>16}{:>16}{:>11}",
        "",
        "without it",
        "with it",
        "change"
    );
    let mut row = |name: &str, of: [u64; 2]| {
        let change = change_between(of[0], of[1]);
        let of = of.map(count);
        let row = format!("{name:<30}{:>16}{:>16}{change:>11}", of[0], of[1]);
        line!(text, "{}", row.trim_end());
    };
    let counters = |of: fn(&Counters) -> u64| [before, after].map(|side| of(&side.replay.counters));
    let l2_misses = counters(|counters| counters.l2.misses());
    let confined = [before, after].map(|side| side.confined(&told.buffer));
    row("L2 accesses", counters(|counters| counters.l2.accesses()));
    row("  of confined pages", confined.map(|of| of.accesses));
    row("L2 misses", l2_misses);
    row("  of confined pages", confined.map(|of| of.misses));
    let others = [0, 1].map(|side| l2_misses[side] - confined[side].misses);
    row("  of other pages", others);
    row("L3 misses", counters(|counters| counters.l3.misses()));
    row("cycles", counters(|counters| counters.cycles));
    if let [Some(before), Some(after)] = [before, after].map(|side| side.l2_mpki(told.instructions))
    {
        let change = if before > 0.0 {
            change(after / before)
        } else {
            String::new()
        };
        let name = "L2 misses/1000 instructions";
        let row = format!("{name:<30}{before:>16.3}{after:>16.3}{change:>11}");
        line!(text, "{}", row.trim_end());
    }
    let all = counters(|counters| counters.l2.accesses());
    let shares = [0, 1].map(|side| share(confined[side].accesses, all[side], 2));
    let name = "confined pages' L2 accesses";
    line!(text, "{name:<30}{:>16}{:>16}", shares[0], shares[1]);
    line!(
        text,
        "{:<30}{:>16}",
        "instructions",
        count(told.instructions)
    );
}

fn miss_rates(text: &mut Lines, told: &Summary<'_>) {
    let bins = told.before.by_miss_rate();
    let pages: u64 = bins.iter().map(|bin| bin.pages).sum();
    let accesses: u64 = bins.iter().map(|bin| bin.l2.accesses).sum();
    line!(text);
    line!(
        text,
        "{:<20}{:>10}{:>12}{:>16}{:>12}",
        "miss rate without",
        "pages",
        "of pages",
        "L2 accesses",
        "of them"
    );
    for (place, bin) in bins.iter().enumerate() {
        let [from, to] = [place, place + 1].map(|place| place * 100 / BINS);
        line!(
            text,
            "{:<20}{:>10}{:>12}{:>16}{:>12}",
            format!("{from} % to {to} %"),
            count(bin.pages),
            share(bin.pages, pages, 1),
            count(bin.l2.accesses),
            share(bin.l2.accesses, accesses, 1)
        );
    }
}
