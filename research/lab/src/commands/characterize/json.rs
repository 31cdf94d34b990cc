//! A characterisation as JSON; research/characterize.md lists its keys.

use super::sampled;
use super::summary::Summary;
use corehop_lab::characterize::classes::{Class, Classes, Sum};
use corehop_lab::characterize::gain::Baseline;
use corehop_lab::characterize::profile::Replayed;
use corehop_lab::characterize::traffic::Traffic;
use corehop_partitioner::attribution::mark;
use corehop_partitioner::backend::Backend;
use corehop_simulator::Replay;
use serde_json::{Value, json};

/// Returns one object.
pub fn render(told: &Summary<'_>) -> Value {
    let profile = told.profile;
    let (subject, totals) = (&profile.subject, &profile.lines.totals);
    let functions = profile.order.iter().take(told.top).enumerate();
    let functions = functions.map(|(rank, &place)| of_function(told, rank, place));
    let correlations = profile.foretold();
    let correlations = correlations.iter().map(|foretold| {
        json!({
            "by": foretold.by,
            "l2_misses_saved": foretold.misses,
            "cycles_saved_with_free_hops": foretold.cycles,
        })
    });
    let replayed = profile.replayed.as_ref();
    let mut value = json!({
        "trace": told.trace_name,
        "machine": told.machine.name,
        "requests": subject.requests.len(),
        "sessions": {
            "count": subject.sessions.count(),
            "are": if subject.sessions.are_connections() { "connections" } else { "threads" },
            "told_apart": subject.sessions.are_told_apart(),
        },
        "data": sum(&totals.data),
        "code": sum(&totals.code),
        "sampled": told.sampled.map(|sampled| {
            json!({ "every": sampled.every, "draws": sampled.draws.len() })
        }),
        "functions_characterized": subject.functions.len(),
        "held_out_requests": replayed.map_or(0, |of| of.gains.one_core.requests),
        "one_core": replayed.map(|of| totals_of(&of.gains.one_core)),
        "in_turn": replayed.map(|of| totals_of(&of.gains.in_turn)),
        "traffic": replayed.map(|of| traffic(&of.traffic)),
        "functions": functions.collect::<Vec<_>>(),
        "correlations": told.correlate.then(|| correlations.collect::<Vec<_>>()),
    });
    mark(&mut value, subject.trace);
    value
}

fn totals_of(replay: &Replay) -> Value {
    json!({ "counters": replay.counters, "hops": replay.hops })
}

/// Returns lines and accesses.
pub fn sum(of: &Sum) -> Value {
    json!({ "lines": of.lines, "accesses": of.accesses, "stores": of.stores })
}

fn class(of: Class) -> Value {
    json!({
        "lines": of.lines,
        "accesses": of.accesses,
        "stores": of.stores,
        "update_ratio": of.update_ratio(),
        "accesses_of_others": of.accesses_of_others,
        "stores_of_others": of.stores_of_others,
    })
}

/// Returns the classes of a function's data or code.
pub fn classes(of: &Classes, apart: bool) -> Value {
    let phase = |global: bool| {
        let session = |session: bool| apart.then(|| class(of.of(global, session)));
        json!({
            "session_local": session(false),
            "session_global": session(true),
            "both": class(of.both(global)),
        })
    };
    json!({ "phase_local": phase(false), "phase_global": phase(true) })
}

fn traffic(of: &Traffic) -> Value {
    json!({
        "l2_misses": of.missed,
        "l2_misses_by_stores": of.missed_by_stores,
        "displaced_lines": of.displaced,
        "invalidated_lines": of.invalidated,
    })
}

fn of_function(told: &Summary<'_>, rank: usize, place: usize) -> Value {
    let profile = told.profile;
    let subject = &profile.subject;
    let function = &subject.trace.functions()[subject.functions[place].index()];
    let (lines, parts) = (&profile.lines, &profile.parts[place]);
    let replayed = profile.replayed.as_ref();
    let apart = subject.sessions.are_told_apart();
    json!({
        "name": function.name,
        "symbol": function.symbol,
        "module": subject.trace.modules()[function.module as usize].path,
        "offset": function.offset,
        "calls": lines.calls[place],
        "score": parts.score(),
        "smaller_side": parts.smaller_side,
        "data": classes(&lines.classes[place].data, apart),
        "code": classes(&lines.classes[place].code, apart),
        "sampled": told.sampled.map(|sampled| sampled::json(told, sampled, place)),
        "traffic": replayed.map(|of| traffic(&of.traffic_of[place])),
        "gain": replayed.and_then(|of| gain(told, of, rank)),
    })
}

/// Returns the effect of delegating the function at this rank, if that was replayed.
fn gain(told: &Summary<'_>, replayed: &Replayed, rank: usize) -> Option<Value> {
    let (gains, machine) = (&replayed.gains, told.machine);
    let delegated = gains.delegated.get(rank)?;
    let beside = |baseline: Baseline| {
        let cycles = Backend::ALL.map(|backend| {
            let hop_cycles = backend.hop_cycles(machine);
            let saved = gains.cycles_saved((baseline, rank), machine, hop_cycles);
            (backend.name().to_owned(), saved.into())
        });
        json!({
            "l2_misses_saved": gains.misses_saved(baseline, rank),
            "cycles_saved": Value::Object(cycles.into_iter().collect()),
        })
    };
    Some(json!({
        "counters": delegated.counters,
        "hops": delegated.hops,
        "break_even_hop_cycles": gains.break_even_cycles(rank, machine),
        "one_core": beside(Baseline::OneCore),
        "in_turn": beside(Baseline::InTurn),
    }))
}
