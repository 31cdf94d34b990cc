//! Servers under `corehop measure --system-calls`, over ways and connections, compared with the
//! thesis.
//!
//! On one core, both sides' servers have one CPU and the client the other, as in the thesis's
//! comparison on one core. On two cores, both sides have both CPUs, which the client shares.
//! `batch on 2` has threads and rings on both.

use crate::asked;
use crate::patched::Outcome;
use crate::servers::{SERVERS, Server};
use serde_json::{Value, json};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Command;

const CONNECTIONS: [usize; 3] = [1, 16, 256];
/// Where calls are made, and the CPUs of server and client.
struct Way {
    name: &'static str,
    /// The text after the `@`.
    at: &'static str,
    own: &'static str,
    clients: &'static str,
    /// The column of a server's `text` to compare with.
    text: Option<usize>,
}

const fn way(
    name: &'static str,
    at: &'static str,
    [own, clients]: [&'static str; 2],
    text: Option<usize>,
) -> Way {
    Way {
        name,
        at,
        own,
        clients,
        text,
    }
}

const APART: [&str; 2] = ["0", "1"];
const TOGETHER: [&str; 2] = ["0,1", "0,1"];
const WAYS: [Way; 5] = [
    way("yield", "yield", APART, None),
    way("batch", "batch", APART, Some(0)),
    way("batch on 2", "batch", TOGETHER, Some(1)),
    way("batch:1", "batch:1", TOGETHER, Some(1)),
    way("1", "1", TOGETHER, None),
];

/// Prints a table, and returns its figures.
pub fn measure(is_whole: bool) -> Outcome<Vec<Value>> {
    let rounds = asked::rounds(if is_whole { 5 } else { 2 })?;
    let ways = ways(is_whole)?;
    let mut rows = Vec::new();
    println!("\nthroughput and latency (p50) with calls posted, by those of the original\n");
    println!(
        "{:<11}{:<11}{:>10}{:>13}{:>9}{:>18}{:>10}{:>10}{:>9}",
        "server",
        "way",
        "clients",
        "original/s",
        "ratio",
        "95 % interval",
        "latency",
        "posted",
        "text"
    );
    for server in wanted(is_whole)? {
        if !Path::new(server.program).exists() {
            println!(
                "{:<11}left out: apt-get install {}",
                server.name, server.package
            );
            rows.push(json!({"server": server.name, "reason": "it is not installed"}));
            continue;
        }
        let connections = if is_whole {
            &CONNECTIONS[..]
        } else {
            &CONNECTIONS[1..2]
        };
        for way in &ways {
            for &connections in connections {
                let row = measure_one(server, way, connections, (rounds, is_whole))?;
                print_row(server, way.name, connections, &row);
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

fn wanted(is_whole: bool) -> Outcome<Vec<&'static Server>> {
    let Ok(names) = std::env::var("COREHOP_BENCH") else {
        let in_short = |server: &&Server| is_whole || server.name == "memcached";
        return Ok(SERVERS.iter().filter(in_short).collect());
    };
    let named = |name: &str| {
        let found = SERVERS.iter().find(|server| server.name == name);
        found.ok_or_else(|| format!("COREHOP_BENCH: no server is called {name}").into())
    };
    names.split(',').map(named).collect()
}

/// Returns the ways in COREHOP_WAYS; all if it is not set.
fn ways(is_whole: bool) -> Outcome<Vec<&'static Way>> {
    let Ok(names) = std::env::var("COREHOP_WAYS") else {
        let all = if is_whole { &WAYS[..] } else { &WAYS[1..2] };
        return Ok(all.iter().collect());
    };
    let named = |name: &str| {
        let found = WAYS.iter().find(|way| way.name == name);
        found.ok_or_else(|| format!("COREHOP_WAYS: no way is called {name}").into())
    };
    names.split(',').map(named).collect()
}

fn measure_one(
    server: &Server,
    way: &Way,
    connections: usize,
    (rounds, is_whole): (usize, bool),
) -> Outcome<Value> {
    let folder = tempfile::tempdir()?;
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port();
    let command = server.lay_out(folder.path(), port)?;
    let requests = match (is_whole, connections) {
        (false, _) => 200,
        (true, 1) => server.requests,
        (true, _) => server.requests * 4,
    };
    let client = std::env::current_exe()?.display().to_string();
    let of = |rest: &str| {
        format!(
            "taskset -c {} {client} --client {} {port} {rest}",
            way.clients, server.name
        )
    };
    let mut measure = Command::new("taskset");
    measure
        .args([
            "-c",
            way.own,
            env!("CARGO_BIN_EXE_corehop"),
            "measure",
            "--json",
        ])
        .args(["--system-calls", &server.calls(way.at)])
        .args(["--load", &of(&format!("{connections} {requests}"))])
        .args(["--prepare", &of("fill")])
        .args([
            "--throughput",
            "rate ([0-9]+)",
            "--latency",
            "p50 ([0-9.]+)",
        ])
        .args(["--rounds", &rounds.to_string(), "--"])
        .args(&command)
        .env("COREHOP_QUEUE", "0");
    let output = measure.output()?;
    // Exit status 8 is a loss, which is a result.
    if !matches!(output.status.code(), Some(0 | 8)) {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Ok(json!({
            "server": server.name, "way": way.name, "connections": connections, "reason": said,
        }));
    }
    let mut told: Value = serde_json::from_slice(&output.stdout)?;
    let median = |values: &Value| -> Option<f64> {
        let mut all: Vec<f64> = values
            .as_array()?
            .iter()
            .filter_map(Value::as_f64)
            .collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied()
    };
    let latency = told["latency"].take();
    Ok(json!({
        "server": server.name,
        "way": way.name,
        "connections": connections,
        "rounds": rounds,
        "original_per_second": median(&told["original"]),
        "ratio": told["ratio"],
        "interval": told["interval"],
        "verdict": told["verdict"],
        "latency_us": [median(&latency["original"]), median(&latency["patched"])],
        "system_calls": told["hops"]["system_calls"],
        "text_percent": text(server, way),
    }))
}

/// Returns the thesis's result for the same number of cores.
fn text(server: &Server, way: &Way) -> Option<f64> {
    Some(server.text?[way.text?])
}

fn print_row(server: &Server, way: &str, connections: usize, row: &Value) {
    if let Some(reason) = row["reason"].as_str() {
        println!(
            "{:<11}{way:<11}{connections:>10}  {}",
            server.name,
            reason.lines().next().unwrap_or_default()
        );
        return;
    }
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let interval = [0, 1].map(|end| number(&row["interval"][end]));
    let latency = number(&row["latency_us"][1]) / number(&row["latency_us"][0]);
    let calls = &row["system_calls"];
    let [posted, declined] = ["posted", "declined"].map(|key| number(&calls[key]));
    // A server that has changed its user cannot report.
    let share = match posted + declined {
        all if all > 0.0 => format!("{:.0}%", 100.0 * posted / all),
        _ => "-".to_owned(),
    };
    let text = row["text_percent"].as_f64();
    let text = text.map_or_else(String::new, |percent| format!("{percent:+.0} %"));
    println!(
        "{:<11}{way:<11}{connections:>10}{:>13.0}{:>9.3}{:>18}{latency:>10.2}{share:>10}{text:>9}",
        server.name,
        number(&row["original_per_second"]),
        number(&row["ratio"]),
        format!("{:.3} to {:.3}", interval[0], interval[1]),
    );
}
