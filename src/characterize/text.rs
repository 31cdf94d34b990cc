//! A characterisation as tables for a terminal; docs/reference/characterize.md says what each
//! figure means.

use super::told::Told;
use crate::line::{Lines, line};
use corehop_characterisation::classes::{Class, Classes, Sum, WorkingSet};
use corehop_characterisation::gain::Baseline;
use corehop_characterisation::profile::Replayed;
use corehop_partitioner::backend::Backend;
use corehop_wording::name::shortened;
use corehop_wording::number::{counted, grouped, share};

/// What of a class a table shows.
type Part = (&'static str, fn(&Class) -> u64, fn(&Sum) -> u64);

const LINES: Part = ("lines", |class| class.lines, |sum| sum.lines);
const ACCESSES: Part = ("accesses", |class| class.accesses, |sum| sum.accesses);

/// All tables, with an empty line between them.
pub fn render(told: &Told<'_>) -> Lines {
    let mut text = Lines::new();
    totals(&mut text, told);
    for part in [LINES, ACCESSES] {
        classes(&mut text, told, WorkingSet::Data, part);
    }
    classes(&mut text, told, WorkingSet::Code, LINES);
    if let Some(replayed) = &told.profile.replayed {
        traffic(&mut text, told, replayed);
        gains(&mut text, told, replayed);
    } else {
        line!(text);
        line!(text, "no request is held out, so nothing was replayed");
    }
    text
}

fn totals(text: &mut Lines, told: &Told<'_>) {
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
    line!(
        text,
        "PL, PG: phase-local, phase-global; SL, SG: session-local, session-global"
    );
    if !sessions.are_told_apart() {
        line!(
            text,
            "one session: which lines are session-local and which session-global cannot be told; \
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

/// One class as a cell: its share, and how much of it are stores.
fn cell(class: Class, (_, part, whole): Part, of: &Sum) -> String {
    let percent = share(part(&class), whole(of), 2);
    match class.update_ratio() {
        Some(ratio) => format!("{percent:>8} ({:>3.0} %)", ratio * 100.0),
        None => format!("{percent:>8} (    -)"),
    }
}

fn classes(text: &mut Lines, told: &Told<'_>, working_set: WorkingSet, part: Part) {
    let profile = told.profile;
    let apart = profile.subject.sessions.are_told_apart();
    let (what, of) = match working_set {
        WorkingSet::Data => ("data", &profile.lines.totals.data),
        WorkingSet::Code => ("code", &profile.lines.totals.code),
    };
    line!(text);
    line!(
        text,
        "share of all {what} {} (and of the function's accesses to them, stores)",
        part.0
    );
    let columns = match apart {
        true => &["PL/SL", "PL/SG", "PG/SL", "PG/SG"][..],
        false => &["PL", "PG"],
    };
    let head: String = columns.iter().map(|c| format!("{c:>18}")).collect();
    line!(text, "{:>8}{head}  function", "score");
    for &place in profile.order.iter().take(told.top) {
        let classes = profile.lines.classes[place].of(working_set);
        let cells: String = columns_of(classes, apart)
            .into_iter()
            .map(|class| format!("{:>18}", cell(class, part, of)))
            .collect();
        let score = format!("{:.2} %", profile.parts[place].score() * 100.0);
        line!(text, "{score:>8}{cells}  {}", name(told, place));
    }
}

fn columns_of(classes: &Classes, apart: bool) -> Vec<Class> {
    match apart {
        true => [(false, false), (false, true), (true, false), (true, true)]
            .map(|(phase, session)| classes.of(phase, session))
            .to_vec(),
        false => vec![classes.both(false), classes.both(true)],
    }
}

fn name(told: &Told<'_>, place: usize) -> String {
    let subject = &told.profile.subject;
    let function = subject.functions[place];
    shortened(&subject.trace.functions()[function.index()].name)
}

fn traffic(text: &mut Lines, told: &Told<'_>, replayed: &Replayed) {
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
    let mut row = |of: &corehop_characterisation::traffic::Traffic, name: &str| {
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
        row(&replayed.traffic_of[place], &name(told, place));
    }
}

fn gains(text: &mut Lines, told: &Told<'_>, replayed: &Replayed) {
    let (gains, machine) = (&replayed.gains, told.machine);
    let requests = gains.one_core.requests.max(1);
    line!(text);
    line!(
        text,
        "delegated alone, on {} not searched: change beside one core, and beside threads in turn \
         on two",
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
            name(told, place)
        );
    }
    if told.correlate {
        correlations(text, told, gains.delegated.len());
    }
}

fn correlations(text: &mut Lines, told: &Told<'_>, functions: usize) {
    line!(text);
    line!(
        text,
        "rank correlation with what is saved, over {}; cycles with free hops",
        counted(functions as u64, "function", "functions")
    );
    line!(text, "{:>12}{:>12}  foretold by", "L2 misses", "cycles");
    for foretold in told.profile.foretold() {
        let [misses, cycles] = [foretold.misses, foretold.cycles].map(|of| match of {
            Some(of) => format!("{of:+.2}"),
            None => "-".into(),
        });
        line!(text, "{misses:>12}{cycles:>12}  {}", foretold.by);
    }
}
