//! Throughput and L2 misses by the number of connections: figures 4 and 5 of the published text.
//!
//! `make bench-connections` runs it in full. First, mariadbd is recorded under TPC-C on 1, 2, 4 and
//! 8 connections, and the table shows whether their requests are distinguished. Then the recording
//! with the most connections is replayed with time on the published machine, on four cores, under
//! every scheduler; the published numbers are below. Finally, the same server runs natively on this
//! machine with as many connections. It runs unmodified, with connections' threads pinned to CPUs,
//! with hooks that only count, and with hops. The real client's think time is measured, and
//! connections in the replay think as long. `COREHOP_PARTS` selects the parts to run
//! (`recorded,simulated,native`), `COREHOP_STARTS` the native starts. Without arguments, as under
//! `cargo test`, some requests of the bundled sample of four connections replace the recordings.
//! Native measurement and recording are those of `benches/servers`.

#[path = "../servers/awake.rs"]
mod awake;
mod chart;
mod client;
#[path = "../servers/here.rs"]
mod here;
#[path = "../machine/mod.rs"]
mod machine;
#[path = "../mariadb/mod.rs"]
mod mariadb;
#[path = "../servers/measuring.rs"]
mod measuring;
#[allow(dead_code)] // Recording and searching are apart here.
#[path = "../servers/planning.rs"]
mod planning;
#[path = "../prediction/mod.rs"]
mod prediction;
#[path = "../servers/pristine.rs"]
mod pristine;
mod published;
mod recordings;
#[path = "../servers/row.rs"]
mod row;
#[allow(dead_code)] // Servers that are reached otherwise, or patched in files, use more of it.
#[path = "../servers/running.rs"]
mod running;
mod sample;
#[path = "../servers/server.rs"]
mod server;
mod simulated;
#[path = "../started/mod.rs"]
mod started;
mod table;
#[path = "../timed/mod.rs"]
mod timed;
#[path = "../servers/tpcc.rs"]
mod tpcc;
#[allow(dead_code)] // The original runs only once.
#[path = "../servers/way.rs"]
mod way;

use client::Client;
use here::Here;
use measuring::Effort;
use planning::Planned;
use recordings::Recording;
use row::{Row, Table};
use running::Variant;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tpcc::Mariadb;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const VARIANTS: &[Variant] = &[
    Variant::Original,
    Variant::Pinned,
    Variant::Count,
    Variant::Carrier,
    Variant::Affinity,
];
const PARTS: [&str; 3] = ["recorded", "simulated", "native"];
const PICTURE: &str = "target/connections.svg";

/// Extent of the bench.
struct Extent {
    is_whole: bool,
    /// A subset of [`PARTS`].
    parts: Vec<String>,
    recorded: &'static [u32],
    native: &'static [u32],
    /// Maximum number of connections to simulate, as far as the trace has them.
    simulated: u32,
}

impl Extent {
    fn of(is_whole: bool) -> Outcome<Extent> {
        let named = std::env::var("COREHOP_PARTS").unwrap_or_else(|_| PARTS.join(","));
        let parts: Vec<String> = named.split(',').map(str::to_owned).collect();
        if let Some(other) = parts.iter().find(|part| !PARTS.contains(&&***part)) {
            return Err(format!(
                "COREHOP_PARTS: no part is called {other:?}; name some of {}",
                PARTS.join(",")
            )
            .into());
        }
        Ok(match is_whole {
            true => Extent {
                is_whole,
                parts,
                recorded: &[1, 2, 4, 8],
                native: &[1, 2, 4, 8],
                simulated: 8,
            },
            false => Extent {
                is_whole,
                parts,
                recorded: &[],
                native: &[2],
                simulated: 2,
            },
        })
    }

    fn has(&self, part: &str) -> bool {
        self.parts.iter().any(|wanted| wanted == part)
    }

    /// Numbers of connections to record: without that part, only those that other parts need.
    fn recorded(&self) -> &'static [u32] {
        match self.has("recorded") {
            true => self.recorded,
            false => &self.recorded[self.recorded.len().saturating_sub(1)..],
        }
    }
}

fn main() -> Outcome<()> {
    let is_whole = std::env::args().any(|argument| argument == "--whole");
    let extent = Extent::of(is_whole)?;
    let effort = match is_whole {
        true => Effort::whole(VARIANTS),
        false => Effort::tiny(VARIANTS),
    }
    .with_starts(std::env::var("COREHOP_STARTS").ok().as_deref())?;
    let here = Here::look()?;
    println!("{}", here.head(&effort));
    let server = Mariadb::on(extent.native);
    let folder = running::folder()?;
    let mut reasons = Vec::new();
    let recordings = record(&server, &extent, folder.path(), &mut reasons)?;
    if extent.has("recorded") {
        table::print_recordings(&recordings);
    }
    let trace = match recordings
        .iter()
        .max_by_key(|recording| recording.connections)
    {
        Some(recording) => recording.trace.clone(),
        None => sample::make(folder.path(), !is_whole)?,
    };
    let client = match server::missing(&server) {
        Some(reason) => Err(reason),
        None => client::measure(&server, folder.path()).map_err(|error| error.to_string()),
    };
    table::print_client(&client);
    let simulated = simulate(&extent, &trace, &client, folder.path(), &mut reasons)?;
    let measured = match extent.has("native") {
        true => Some(native(
            &server,
            &extent,
            &effort,
            &trace,
            &client,
            folder.path(),
        )?),
        false => None,
    };
    println!("\n{}", here.since());
    let rows = measured.map_or_else(Vec::new, |rows| {
        let mut table = Table::of(VARIANTS);
        table.add(rows);
        table.end()
    });
    for reason in &reasons {
        println!("null: {reason}");
    }
    let shown = recordings.iter().filter(|_| extent.has("recorded"));
    let recorded: Vec<Value> = shown.map(Recording::json).collect();
    let figures = json!({
        "recorded": recorded, "client": client.as_ref().ok().map(Client::json),
        "simulated": simulated, "published": published::json(), "rows": rows,
    });
    println!("{figures}");
    Ok(())
}

/// Makes all requested recordings; also returns why others are missing.
fn record(
    server: &Mariadb,
    extent: &Extent,
    folder: &Path,
    reasons: &mut Vec<String>,
) -> Outcome<Vec<Recording>> {
    if extent.recorded().is_empty() {
        return Ok(Vec::new());
    }
    if let Some(reason) = server::unrecordable(server) {
        reasons.push(format!("recorded: {reason}"));
        return Ok(Vec::new());
    }
    let mut recordings = Vec::new();
    for &connections in extent.recorded() {
        eprintln!("recording {connections} connections");
        match recordings::record(server, connections, folder)? {
            Ok(recording) => recordings.push(recording),
            Err(reason) => reasons.push(format!("recorded, {connections} connections: {reason}")),
        }
    }
    Ok(recordings)
}

/// Simulates, prints and draws the results.
fn simulate(
    extent: &Extent,
    trace: &Path,
    client: &Result<Client, String>,
    folder: &Path,
    reasons: &mut Vec<String>,
) -> Outcome<Vec<Value>> {
    if !extent.has("simulated") {
        return Ok(Vec::new());
    }
    let simulated = simulated::measure(trace, extent, client.as_ref().ok(), folder)?;
    let reason = simulated.reason.as_ref();
    reasons.extend(reason.map(|reason| format!("simulated: {reason}")));
    let statements = client.as_ref().map_or(1.0, |client| client.statements);
    table::print_simulated(&simulated, statements);
    if extent.is_whole {
        std::fs::write(PICTURE, chart::draw(&simulated.usual, statements))?;
        println!("\n{PICTURE}: throughput and L2 misses by connections");
    }
    Ok(simulated
        .all()
        .map(|timed| timed.json(statements))
        .collect())
}

/// Measures the server on this machine, with the best split of the trace over two cores.
fn native(
    server: &Mariadb,
    extent: &Extent,
    effort: &Effort,
    trace: &Path,
    client: &Result<Client, String>,
    folder: &Path,
) -> Outcome<Vec<Row>> {
    let nulls = |reason: &str| row::nulls(server, VARIANTS, reason);
    if let Some(reason) = server::missing(server).or_else(|| sample::is_foreign(trace)) {
        return Ok(nulls(&reason));
    }
    let outside_us = client.as_ref().map_or(0.0, |client| client.outside_us);
    let planned = match Planned::search(server, trace, folder, outside_us)? {
        Ok(planned) => planned,
        Err(reason) => return Ok(nulls(&reason)),
    };
    eprintln!("native: {planned}");
    let rows = match measuring::measure(server, effort, &planned, folder) {
        // What is installed has to work: `cargo test` tests that.
        Err(error) if extent.is_whole => return Ok(nulls(&error.to_string())),
        measured => measured?,
    };
    Ok(rows)
}

/// Returns the path of a file in the checkout.
fn in_checkout(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
