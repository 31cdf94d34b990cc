//! The differences as JSON, with the keys that `corehop schema diff --keys` lists.

use super::changes::FigurePair;
use super::compared::Compared;
use super::migrations::{Changed, Migrations};
use super::side::Setting;
use super::traces::{FunctionPair, ModulePair, ThreadPair, Traces, Use};
use corehop_traces::Module;
use serde_json::{Value, json};

/// Returns one object with at most `top` functions in each list of a trace's functions.
pub fn render(compared: &Compared<'_>, top: usize) -> Value {
    let changes = &compared.changes;
    let [a, b] = compared.files.map(|file| file.display().to_string());
    json!({
        "kind": compared.kind,
        "a": a,
        "b": b,
        "same": compared.is_same(),
        "settings": changes.settings.iter().map(setting).collect::<Value>(),
        "figures": changes.figures.iter().map(figure).collect::<Value>(),
        "migrations": changes.migrations.as_ref().map(migrations),
        "traces": compared.traces.as_ref().map(|of| traces(of, top)),
    })
}

fn setting(of: &Setting) -> Value {
    let [a, b] = &of.values;
    json!({"name": of.name, "a": a, "b": b})
}

fn figure(of: &FigurePair) -> Value {
    let [a, b] = of.values;
    let [a_interval, b_interval] = of.intervals;
    json!({
        "name": of.name,
        "a": a,
        "b": b,
        "ratio": of.ratio(),
        "a_interval": a_interval,
        "b_interval": b_interval,
        "overlap": of.is_overlapping(),
    })
}

fn migrations(of: &Migrations) -> Value {
    let changed = |of: &Changed| {
        let [a, b] = &of.functions;
        let keys: Value = of.keys.iter().map(setting).collect();
        json!({"a": a, "b": b, "keys": keys})
    };
    let [only_a, only_b] = &of.only;
    json!({
        "same": of.same,
        "only_a": only_a,
        "only_b": only_b,
        "changed": of.changed.iter().map(changed).collect::<Value>(),
    })
}

fn traces(of: &Traces, top: usize) -> Value {
    let functions = &of.functions;
    let list = |of: &[FunctionPair]| of.iter().take(top).map(function).collect::<Value>();
    let [only_a, only_b] = &functions.only;
    json!({
        "machine": of.machine,
        "per_request": of.is_per_request,
        "warm_up": of.warm_up,
        "remarks": of.remarks,
        "functions": {
            "same": functions.same,
            "changed": functions.changed.len(),
            "only_a": only_a.len(),
            "only_b": only_b.len(),
        },
        "changed": list(&functions.changed),
        "only_a": list(only_a),
        "only_b": list(only_b),
        "threads": of.threads.iter().map(thread).collect::<Value>(),
        "modules": of.modules.iter().map(module).collect::<Value>(),
    })
}

fn function(of: &FunctionPair) -> Value {
    let used = |of: Option<Use>| {
        of.map(|of| {
            json!({
                "accesses": of.accesses,
                "l1i_misses": of.l1i_misses,
                "l1d_misses": of.l1d_misses,
                "l2_misses": of.l2_misses,
                "l3_misses": of.l3_misses,
            })
        })
    };
    let [a, b] = of.uses.map(used);
    json!({
        "name": of.name,
        "symbol": of.symbol,
        "module": of.module,
        "a": a,
        "b": b,
        "l2_misses_change": of.change(),
    })
}

fn thread(of: &ThreadPair) -> Value {
    let [a, b] = of.requests;
    json!({"thread": of.thread, "a": a, "b": b})
}

fn module(of: &ModulePair) -> Value {
    let file = |of: &Option<Module>| {
        let of = of.as_ref();
        of.map(|of| json!({"path": of.path, "build_id": of.build_id}))
    };
    let [a, b] = of.0.each_ref().map(file);
    json!({"a": a, "b": b})
}
