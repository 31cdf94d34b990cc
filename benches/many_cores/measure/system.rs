//! What the kernel reports of the machine: CPUs, caches and who shares them, nodes.

use super::Here;
use corehop_measure::machine::counters;
use corehop_support::topology::{Distance, Holds, ranges};
use procfs::{CpuInfo, Current, Meminfo};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the description as JSON.
pub fn described(here: &Here, is_l2_known: bool) -> Value {
    let Here { topology, cpus, .. } = here;
    let processors = CpuInfo::current().ok();
    let model = processors
        .as_ref()
        .and_then(|all| all.model_name(0).map(str::to_owned));
    let flags = processors.as_ref().and_then(|all| all.flags(0));
    let memory = Meminfo::current().ok().map(|memory| memory.mem_total);
    let mut nodes: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &cpu in cpus {
        if let Some(node) = topology.node_of(cpu) {
            nodes.entry(node).or_default().push(cpu);
        }
    }
    let nodes = nodes
        .into_iter()
        .map(|(node, cpus)| json!({"node": node, "cpus": ranges(cpus)}));
    let l3s: BTreeSet<_> = cpus.iter().filter_map(|&cpu| topology.l3_of(cpu)).collect();
    let l3s = l3s.into_iter().map(|l3| ranges(l3.iter().copied()));
    json!({
        "cpu_model": model,
        "is_virtual": flags.map(|flags| flags.contains(&"hypervisor")),
        "kernel": text("/proc/sys/kernel/osrelease"),
        "memory_bytes": memory,
        "cpus": ranges(cpus.iter().copied()),
        "cpus_online": ranges(topology.online()),
        "cores": topology.cores(cpus.iter().copied()),
        "has_hardware_threads": topology.pair(cpus, Distance::SameCore).is_ok(),
        "caches": caches(here),
        "l2_bytes": here.l2_bytes,
        "is_l2_reported": is_l2_known,
        "l3s": l3s.collect::<Vec<_>>(),
        "nodes": nodes.collect::<Vec<_>>(),
        "perf_event_paranoid": text("/proc/sys/kernel/perf_event_paranoid"),
        "counters": counters::available().map_or_else(
            |error| json!(error.to_string()),
            |kinds| kinds.iter().map(|kind| kind.name).collect(),
        ),
    })
}

/// Returns the caches of the first CPU.
fn caches(here: &Here) -> Vec<Value> {
    let first = here.cpus.first().and_then(|&cpu| here.topology.cpu(cpu));
    let caches = first.into_iter().flat_map(|cpu| &cpu.caches);
    let cache = |cache: &corehop_support::topology::Cache| {
        let holds = match cache.holds {
            Holds::Data => "data",
            Holds::Instructions => "instructions",
            Holds::All => "all",
        };
        json!({
            "level": cache.level, "holds": holds, "size_bytes": cache.size_bytes.clone().ok(),
            "ways": cache.ways.clone().ok(),
            "shared_by": ranges(cache.shared_by.iter().copied()),
        })
    };
    caches.map(cache).collect()
}

fn text(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}
