//! The table of servers: each with its hops over two cores, compared with the original.

use super::plans::Plans;
use super::rounds::{Entry, alternate, effort};
use super::{Here, report};
use crate::Outcome;
use crate::dnsmasq::Dnsmasq;
use crate::memcached::Memcached;
use crate::nginx::Nginx;
use crate::planning::Planned;
use crate::redis::Redis;
use crate::row;
use crate::running::Variant;
use crate::server::{Server, missing};
use serde_json::json;
use std::time::Instant;

const VARIANTS: &[Variant] = &[
    Variant::Original,
    Variant::Again,
    Variant::Carrier,
    Variant::Affinity,
    Variant::OneCore,
];
/// Cores of the plans.
pub const CORES: usize = 2;
const NO_CORES: &str = "these CPUs are one core";

/// Measures until the deadline.
pub fn measure(here: &Here, plans: &Plans, deadline: Instant, is_brief: bool) -> Outcome<()> {
    let servers = servers(here.l2_bytes, is_brief);
    let cpus = here.topology.on_cores(&here.cpus, CORES);
    let planned: Vec<Result<Planned, String>> = servers
        .iter()
        .map(|server| match (missing(&**server), &cpus) {
            (Some(reason), _) => Err(reason),
            (None, None) => Err(NO_CORES.into()),
            (None, Some(_)) => plans.plan(server.name()),
        })
        .collect();
    let cpus = cpus.unwrap_or_default();
    let clients = match cpus.is_empty() {
        true => Vec::new(),
        false => here.topology.near(&here.cpus, &cpus),
    };
    let mut entries: Vec<Entry> = Vec::new();
    for (server, planned) in servers.iter().zip(&planned) {
        let effort = effort(VARIANTS, &cpus, is_brief);
        let planned = planned.as_ref().map_err(String::clone);
        entries.push(Entry::of(&**server, effort, clients.clone(), planned));
    }
    alternate(&mut entries, &here.cpus, deadline, publish)
}

fn servers(l2_bytes: u64, is_brief: bool) -> Vec<Box<dyn Server>> {
    if is_brief {
        return vec![Box::new(Redis::tiny())];
    }
    vec![
        Box::new(Redis::of(0.7, l2_bytes)),
        Box::new(Redis::of(2.0, l2_bytes)),
        Box::new(Dnsmasq::of(0.7, l2_bytes)),
        Box::new(Memcached),
        Box::new(Nginx),
    ]
}

fn publish(entries: &[Entry]) {
    let lines = entries.iter().flat_map(Entry::lines);
    let text: Vec<String> = [row::heading(VARIANTS)].into_iter().chain(lines).collect();
    let all: Vec<_> = entries.iter().map(Entry::json).collect();
    report::publish("servers", json!(all), text.join("\n"));
}
