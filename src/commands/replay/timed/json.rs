//! The result of a timed replay as JSON; `corehop schema replay-timed --keys` lists its keys.

use super::simulated::Report;
use corehop_partitioner::attribution::mark;
use corehop_simulator::branches::BranchPredictorName;
use corehop_simulator::timing::{CoreOutcome, Load, Outcome, PrefetchCounters, Setting};
use corehop_support::format::path::lossy;
use serde_json::{Value, json};

/// Returns one object, with a nested object for each setting.
pub fn render(report: &Report<'_>) -> Value {
    let (first, _) = &report.simulated[0];
    let settings = report.simulated.iter();
    let core = report.machine.core;
    let mut value = json!({
        "trace": lossy(report.trace_name),
        "machine": report.machine.name,
        "cores": first.cores,
        "hop_cost_cycles": report.machine.hop_cost_cycles,
        "core_model": report.model.name(),
        "dependences": report.has_dependences,
        "core": {
            "instructions_per_cycle": f64::from(core.instructions_in_1000_cycles) / 1000.0,
            "reorder_window_instructions": core.reorder_window_instructions,
            "store_buffer_entries": core.store_buffer_entries,
            "mispredict_cycles": core.mispredict_cycles,
        },
        "prefetcher": first.prefetcher.name(),
        "branch_predictor": first.branch_predictor.name(),
        "load": load(first.load),
        "seed": first.seed,
        "quantum_cycles": first.quantum_cycles,
        "settings": settings.map(|(of, outcome)| setting(of, outcome)).collect::<Vec<_>>(),
    });
    mark(&mut value, report.trace);
    value
}

fn load(load: Load) -> Value {
    match load {
        Load::Closed {
            think_cycles,
            exponential,
        } => json!({
            "loop": "closed",
            "think_cycles": think_cycles,
            "exponential": exponential,
        }),
        Load::Open {
            requests_per_million_cycles,
        } => json!({
            "loop": "open",
            "requests_per_million_cycles": requests_per_million_cycles,
        }),
    }
}

fn setting(setting: &Setting<'_>, outcome: &Outcome) -> Value {
    let mut value = json!({
        "scheduler": setting.scheduler.to_string(),
        "standing": setting.scheduler.entry.standing.name(),
        "connections": setting.connections,
        "warm_up": setting.warm_up,
        "requests": outcome.requests,
        "elapsed_cycles": outcome.elapsed_cycles,
        "requests_per_million_cycles": outcome.requests_per_million_cycles(),
        "latency_cycles": {
            "median": outcome.latency_cycles(50),
            "p95": outcome.latency_cycles(95),
            "p99": outcome.latency_cycles(99),
        },
        "utilisation": outcome.utilisation(),
        "hops": outcome.hops(),
        "migrations": outcome.migrations(),
        "yields": outcome.yields(),
        "l2_misses": outcome.counters().l2.misses(),
        "prefetches": prefetches(outcome.prefetches()),
        "counters": outcome.counters(),
        "per_core": outcome.per_core.iter().map(core).collect::<Vec<_>>(),
        "evictions": outcome.evictions,
    });
    if let Some(seed) = setting.random_pages {
        value["random_pages"] = seed.into();
    }
    if setting.page_sizes.is_some() {
        value["tlb"] = json!(outcome.tlbs());
        value["translation_cycles"] = json!(outcome.translation_cycles());
        for (core, of) in outcome.per_core.iter().enumerate() {
            value["per_core"][core]["tlb"] = json!(of.tlbs);
            value["per_core"][core]["translation_cycles"] = json!(of.translation_cycles);
        }
    }
    if setting.branch_predictor != BranchPredictorName::None {
        value["branches"] = json!(outcome.branches());
        for (core, of) in outcome.per_core.iter().enumerate() {
            value["per_core"][core]["branches"] = json!(of.branches);
        }
    }
    value
}

fn core(core: &CoreOutcome) -> Value {
    json!({
        "busy_cycles": core.busy_cycles,
        "idle_cycles": core.idle_cycles,
        "utilisation": core.utilisation(),
        "mean_queue": core.mean_queue(),
        "hops": core.hops,
        "migrations": core.migrations,
        "yields": core.yields,
        "prefetches": prefetches(core.prefetches),
        "counters": core.counters,
    })
}

fn prefetches(of: PrefetchCounters) -> Value {
    json!({
        "issued": of.issued,
        "useful": of.useful,
        "late": of.late,
        "late_cycles": of.late_cycles,
        "unused": of.unused,
    })
}
