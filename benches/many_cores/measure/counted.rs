//! The processor's counters per request, of redis with two sets of 0.7 L2s each: the original, and
//! with hops.
//!
//! Only user mode counts, as in a trace. Whether there are counters is the kernel's decision
//! (`perf_event_paranoid`) and, in a virtual machine, the hypervisor's.

use super::plans::Plans;
use super::{Here, report, servers, stay_on, time};
use crate::Outcome;
use crate::redis::Redis;
use crate::running::{Running, Variant, Way, folder};
use crate::server::{Server, missing};
use corehop_measure::machine::counters::{Counting, Kind, available};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

const SHARE_OF_L2: f64 = 0.7;
const WARM_UP: Duration = Duration::from_millis(300);
const COUNTED: Duration = Duration::from_secs(2);
const VARIANTS: [Variant; 3] = [Variant::Original, Variant::Carrier, Variant::Affinity];

/// Counts until the deadline, or not at all.
pub fn measure(here: &Here, plans: &Plans, deadline: Instant) -> Outcome<()> {
    if time::is_over() {
        return Ok(());
    }
    eprintln!("counters");
    let counted = match available() {
        Err(error) => Err(format!("the kernel allows no counter: {error}")),
        Ok(kinds) => count(here, plans, &kinds, deadline),
    };
    let (json, text) = match &counted {
        Ok(counted) => (
            json!({"reason": null, "per_request": counted}),
            text(counted),
        ),
        Err(reason) => {
            let text = format!("counters: {reason}");
            (json!({"reason": reason, "per_request": null}), text)
        }
    };
    if !time::is_over() {
        report::publish("counters", json, text);
    }
    stay_on(&here.cpus)
}

type Counted = Vec<(Variant, Map<String, Value>)>;

fn count(here: &Here, plans: &Plans, kinds: &[Kind], deadline: Instant) -> Result<Value, String> {
    let server = Redis::of(SHARE_OF_L2, here.l2_bytes);
    if let Some(reason) = missing(&server) {
        return Err(reason);
    }
    let planned = plans.plan(server.name())?;
    let cpus = here.topology.on_cores(&here.cpus, servers::CORES);
    let cpus = cpus.ok_or("these CPUs are one core")?;
    let clients = here.topology.near(&here.cpus, &cpus);
    let mut counted = Counted::new();
    for variant in VARIANTS {
        let way = Way::Hopping {
            variant,
            plan: &planned.plan,
            cpus: &cpus,
        };
        let until = deadline.min(Instant::now() + COUNTED);
        let found = stay_on(&clients).and_then(|()| {
            let folder = folder()?;
            count_one(&server, &way, kinds, folder.path(), until)
        });
        counted.push((variant, found.map_err(|error| error.to_string())?));
    }
    let all = counted
        .into_iter()
        .map(|(variant, found)| (variant.name().into(), found.into()));
    Ok(Value::Object(all.collect()))
}

fn count_one(
    server: &Redis,
    way: &Way,
    kinds: &[Kind],
    folder: &Path,
    until: Instant,
) -> Outcome<Map<String, Value>> {
    let mut running = Running::start(server, way, folder.join("server"))?;
    server.fill(&mut running)?;
    let mut load = server.connect(&mut running, 1)?;
    let warm = Instant::now() + WARM_UP;
    while Instant::now() < warm && !time::is_over() {
        load.batch()?;
    }
    let mut counting = Counting::of(kinds, &[running.id()])?;
    let mut requests = 0;
    // One batch at least.
    while requests == 0 || (Instant::now() < until && !time::is_over()) {
        requests += load.batch()?.requests;
    }
    let counts = counting.read()?.into_iter();
    let each = counts.map(|count| (count.name.into(), json!(count.count / requests as f64)));
    Ok(each.collect())
}

fn text(counted: &Value) -> String {
    let of = |variant: Variant| counted[variant.name()].as_object();
    let names = of(Variant::Original)
        .into_iter()
        .flatten()
        .map(|(name, _)| name);
    let mut lines = vec![format!("{:<24}", "redis, per request")];
    for variant in VARIANTS {
        lines[0] += &format!("{:>14}", variant.name());
    }
    for name in names {
        let mut line = format!("{name:<24}");
        for variant in VARIANTS {
            let count = counted[variant.name()][name].as_f64().unwrap_or(f64::NAN);
            line += &format!("{count:>14.1}");
        }
        lines.push(line);
    }
    lines.join("\n")
}
