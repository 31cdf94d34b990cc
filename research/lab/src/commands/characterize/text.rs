//! A characterisation as tables for a terminal; research/characterize.md explains each figure.

use super::classes::{ACCESSES, LINES, Rows};
use super::sampled;
use super::summary::Summary;
use corehop::terminal::line::{Lines, line};
use corehop_lab::characterize::classes::WorkingSet;
use corehop_lab::characterize::gain::Baseline;
use corehop_lab::characterize::profile::Replayed;
use corehop_partitioner::attribution::remarks;
use corehop_partitioner::backend::Backend;
use corehop_support::format::number::{counted, grouped};

/// Returns all tables, separated by empty lines.
pub fn render(told: &Summary<'_>) -> Lines {
    let mut text = Lines::new();
    totals(&mut text, told);
    let rows = rows(told);
    for part in [LINES, ACCESSES] {
        rows.table(&mut text, WorkingSet::Data, part);
    }
    rows.table(&mut text, WorkingSet::Code, LINES);
    if let Some(sampled) = told.sampled {
        sampled::table(&mut text, told, sampled);
    }
    if let Some(replayed) = &told.profile.replayed {
        traffic(&mut text, told, replayed);
        gains(&mut text, told, replayed);
    } else {
        line!(text);
        line!(text, "no request is held out, so nothing was replayed");
    }
    text
}

fn totals(text: &mut Lines, told: &Summary<'_>) {
    let (subject, totals) = (&told.profile.subject, &told.profile.lines.totals);
    let sessions = &subject.sessions;
    let of = match sessions.are_connections() {
        true => counted(sessions.count().into(), "connection", "connections"),
        false => counted(sessions.count().into(), "thread", "threads"),
    };
    line!(
        text,
        "{}: {} of {of}, {} data lines ({} loads and stores), {} code lines",
        told.trace_name,
        counted(subject.requests.len() as u64, "request", "requests"),
        grouped(totals.data.lines),
        grouped(totals.data.accesses),
        grouped(totals.code.lines)
    );
    for remark in remarks(subject.trace) {
        line!(text, "{remark}");
    }
    line!(
        text,
        "PL, PG: phase-local, phase-global; SL, SG: session-local, session-global"
    );
    if !sessions.are_told_apart() {
        line!(
            text,
            "one session: which lines are session-local and which session-global are unknown; \
             record several connections"
        );
    }
    if !sessions.are_connections() && sessions.are_told_apart() {
        line!(
            text,
            "the trace does not know connections: each thread counts as one"
        );
    }
}

fn rows<'a>(told: &'a Summary<'_>) -> Rows<'a> {
    let profile = told.profile;
    let shown = profile.order.iter().take(told.top);
    Rows {
        totals: &profile.lines.totals,
        are_sessions_told_apart: profile.subject.sessions.are_told_apart(),
        rows: shown
            .map(|&place| {
                let score = profile.parts[place].score();
                (told.name(place), score, &profile.lines.classes[place])
            })
            .collect(),
    }
}

fn traffic(text: &mut Lines, told: &Summary<'_>, replayed: &Replayed) {
    let gains = &replayed.gains;
    let requests = gains.one_core.requests.max(1) as f64;
    line!(text);
    line!(
        text,
        "a request, threads in turn on two cores of {}: L2 misses, those of lines that the other \
         core stored to, lines displaced from L2s, lines invalidated by stores",
        told.machine.name
    );
    line!(
        text,
        "{:>10}{:>10}{:>11}{:>13}  calls of",
        "misses",
        "by stores",
        "displaced",
        "invalidated"
    );
    let mut row = |of: &corehop_lab::characterize::traffic::Traffic, name: &str| {
        let [missed, by_stores, displaced, invalidated] =
            [of.missed, of.missed_by_stores, of.displaced, of.invalidated]
                .map(|count| format!("{:.1}", count as f64 / requests));
        line!(
            text,
            "{missed:>10}{by_stores:>10}{displaced:>11}{invalidated:>13}  {name}"
        );
    };
    row(&replayed.traffic, "(everything)");
    for &place in told.profile.order.iter().take(told.top) {
        row(&replayed.traffic_of[place], &told.name(place));
    }
}

fn gains(text: &mut Lines, told: &Summary<'_>, replayed: &Replayed) {
    let (gains, machine) = (&replayed.gains, told.machine);
    let requests = gains.one_core.requests.max(1);
    line!(text);
    line!(
        text,
        "delegated alone, on {} held-out: change from one core, and from threads in turn on two",
        counted(requests, "request", "requests")
    );
    line!(
        text,
        "{:>12}{:>12}{:>10}{:>12}{:>12}  function",
        "L2 misses",
        "cycles",
        "hops",
        "break-even",
        "in turn"
    );
    let places = told.profile.order.iter().take(told.top).enumerate();
    for (rank, &place) in places.take(gains.delegated.len()) {
        let change = |saved: Option<f64>| match saved {
            Some(saved) => format!("{:+.1} %", -saved * 100.0),
            None => "-".into(),
        };
        let carried = Backend::Carrier.hop_cycles(machine);
        let misses = change(gains.misses_saved(Baseline::OneCore, rank));
        let cycles = change(gains.cycles_saved((Baseline::OneCore, rank), machine, carried));
        let in_turn = change(gains.misses_saved(Baseline::InTurn, rank));
        let hops = gains.delegated[rank].hops as f64 / requests as f64;
        let break_even = match gains.break_even_cycles(rank, machine) {
            Some(cycles) if cycles > 0.0 => grouped(cycles as u64),
            _ => "none".into(),
        };
        line!(
            text,
            "{misses:>12}{cycles:>12}{hops:>10.1}{break_even:>12}{in_turn:>12}  {}",
            told.name(place)
        );
    }
    if told.correlate {
        correlations(text, told, gains.delegated.len());
    }
}

fn correlations(text: &mut Lines, told: &Summary<'_>, functions: usize) {
    line!(text);
    line!(
        text,
        "rank correlation with what is saved, over {}; cycles with free hops",
        counted(functions as u64, "function", "functions")
    );
    line!(text, "{:>12}{:>12}  predicted by", "L2 misses", "cycles");
    for foretold in told.profile.foretold() {
        let [misses, cycles] = [foretold.misses, foretold.cycles].map(|of| match of {
            Some(of) => format!("{of:+.2}"),
            None => "-".into(),
        });
        line!(text, "{misses:>12}{cycles:>12}  {}", foretold.by);
    }
}
