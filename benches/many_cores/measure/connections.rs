//! mariadbd under TPC-C with 1 to 8 connections on 2, 4, and 8 cores, each with a split over as
//! many.

use super::plans::Plans;
use super::rounds::{Entry, alternate, effort};
use super::{Here, report};
use crate::Outcome;
use crate::pack::{CORES, mariadb_plan};
use crate::planning::Planned;
use crate::row;
use crate::running::Variant;
use crate::server::missing;
use crate::tpcc::Mariadb;
use corehop_support::format::number::counted;
use serde_json::json;
use std::time::Instant;

const VARIANTS: &[Variant] = &[
    Variant::Original,
    Variant::Pinned,
    Variant::Carrier,
    Variant::Affinity,
];

/// Measures until the deadline.
pub fn measure(here: &Here, plans: &Plans, deadline: Instant, is_brief: bool) -> Outcome<()> {
    let connections: &[u32] = if is_brief { &[2] } else { &[1, 2, 4, 8] };
    let server = Mariadb::on(connections);
    let chosen = CORES.map(|cores| here.topology.on_cores(&here.cpus, cores));
    let mut planned: Vec<Result<Planned, String>> = Vec::new();
    for (cores, cpus) in CORES.into_iter().zip(&chosen) {
        planned.push(match (missing(&server), cpus) {
            (Some(reason), _) => Err(reason),
            (None, None) => {
                let there = here.topology.cores(here.cpus.iter().copied());
                let there = counted(there as u64, "core", "cores");
                Err(format!("these CPUs are {there}, not {cores}"))
            }
            (None, Some(_)) => plans.plan(&mariadb_plan(cores, here.l2_bytes)),
        });
    }
    let mut entries: Vec<Entry> = Vec::new();
    for (planned, cpus) in planned.iter().zip(chosen) {
        let cpus = cpus.unwrap_or_default();
        let clients = match cpus.is_empty() {
            true => Vec::new(),
            false => here.topology.near(&here.cpus, &cpus),
        };
        let effort = effort(VARIANTS, &cpus, is_brief);
        let planned = planned.as_ref().map_err(String::clone);
        entries.push(Entry::of(&server, effort, clients, planned));
    }
    alternate(&mut entries, &here.cpus, deadline, publish)
}

fn publish(entries: &[Entry]) {
    let mut text = vec![format!("cores {}", row::heading(VARIANTS))];
    let mut all = Vec::new();
    for (cores, entry) in CORES.into_iter().zip(entries) {
        let mut object = entry.json();
        object["cores"] = json!(cores);
        all.push(object);
        text.extend(entry.lines().iter().map(|line| format!("{cores:<6}{line}")));
    }
    report::publish("connections", json!(all), text.join("\n"));
}
