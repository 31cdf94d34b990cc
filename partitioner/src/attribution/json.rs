//! An explanation as JSON; `docs/reference/search.md` lists the keys. Counts are totals over the
//! counted requests.

use crate::attribution::by_argument::by_argument;
use crate::attribution::explanation::Explanation;
use crate::attribution::remarks::mark;
use crate::hop_cost::break_even_cycles;
use corehop_simulator::Replay;
use corehop_simulator::detail::{CoreUse, Modes, Spread, WorkingSet};
use corehop_traces::FunctionId;
use serde_json::{Value, json};
use std::collections::HashSet;

/// Returns the explanation as one object, with the first `top` functions of each core and the first
/// `top` movers.
pub fn render(explained: &Explanation<'_>, top: usize) -> Value {
    let ((before, _), (after, detail)) = (&explained.before, &explained.after);
    let machine = explained.machine;
    let cores = detail.cores.iter().enumerate();
    let cores = cores.map(|(core, used)| of_core(explained, core, used, top));
    let movers = explained.movers();
    let movers = movers
        .iter()
        .take(top)
        .map(|mover| json!({ "name": mover.name, "baseline": mover.before, "split": mover.after }));
    let alternatives = explained.alternatives.iter().map(|of| {
        let exchanged = of.exchanged.as_ref().map(
            |(other, replay)| json!({ "name": explained.name(*other), "replay": totals(replay) }),
        );
        json!({
            "name": explained.name(of.function),
            "without": totals(&of.without),
            "other_mode": totals(&of.other_mode),
            "exchanged": exchanged,
        })
    });
    let throughput = explained.throughputs();
    let throughput = throughput.iter().map(|of| {
        let demands = explained.demands(of.connections);
        json!({
            "connections": of.connections,
            "baseline_requests_per_million_cycles": of.before,
            "split_requests_per_million_cycles": of.after,
            "split_at_most_requests_per_million_cycles": of.at_most,
            "replayed_connections": demands.connections,
            "baseline_cycles": demands.baseline,
            "split_cycles": demands.split,
        })
    });
    let mut value = json!({
        "machine": machine.name,
        "trace": explained.trace_name,
        "requests": after.requests,
        "warm_up": explained.warm_up,
        "baseline": totals(before),
        "split": totals(after),
        "hop_cost_cycles": machine.hop_cost_cycles,
        "break_even_hop_cycles":
            break_even_cycles(machine, &before.counters, &after.counters, after.hops),
        "connections_in_trace": explained.connections(),
        "think_time_cycles": explained.think_time_cycles,
        "throughput": throughput.collect::<Vec<_>>(),
        "cores": cores.collect::<Vec<_>>(),
        "movers": movers.collect::<Vec<_>>(),
        "alternatives": alternatives.collect::<Vec<_>>(),
    });
    if let Some((before, after)) = &explained.modes {
        value["modes"] = json!({ "baseline": by_mode(before), "split": by_mode(after) });
    }
    let by_argument = by_argument(&explained.split, explained.trace);
    if !by_argument.is_empty() {
        value["by_argument"] = by_argument.into();
    }
    mark(&mut value, explained.trace);
    value
}

fn by_mode(modes: &Modes) -> Value {
    json!({ "user": modes.user.counters, "kernel": modes.kernel.counters })
}

fn totals(replay: &Replay) -> Value {
    json!({ "counters": replay.counters, "hops": replay.hops })
}

fn of_core(explained: &Explanation<'_>, core: usize, used: &CoreUse, top: usize) -> Value {
    let counters = &explained.after.0.per_core[core];
    let entered = explained
        .placed
        .iter()
        .filter(|placed| placed.core.index() == core);
    let by_argument = explained.by_argument().map(|of| of.function);
    let at_calls = explained.split.kth_calls().iter();
    let at_calls = at_calls.filter(|(_, meant)| meant.core as usize == core);
    let mut entered: Vec<FunctionId> = entered
        .map(|placed| placed.function)
        .chain(by_argument)
        .chain(at_calls.map(|(function, _)| *function))
        .collect();
    // Several numbered calls of one function may run on this core.
    let mut named = HashSet::new();
    entered.retain(|of| named.insert(*of));
    let entered: Vec<&str> = entered.iter().map(|&of| explained.name(of)).collect();
    let code =
        used.code.iter().take(top).map(
            |code| json!({ "name": code.owner.name(explained.trace), "accesses": code.accesses }),
        );
    let spread = |lines: fn(&WorkingSet) -> u64| Spread::of(used.working_sets.iter().map(lines));
    json!({
        "core": core,
        "entering": entered,
        "accesses": counters.accesses(),
        "counters": counters,
        "working_set": {
            "requests": used.working_sets.len(),
            "code_lines": spread(|set| set.code_lines),
            "data_lines": spread(|set| set.data_lines),
            "size_bytes": spread(WorkingSet::size_bytes),
        },
        "lines": used.lines,
        "shared_lines": used.shared_lines,
        "contended_lines": used.contended_lines,
        "lost_lines_to": used.lost_lines_to,
        "code": code.collect::<Vec<_>>(),
    })
}
