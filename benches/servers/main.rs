//! Effect of hops on real servers: each original compared with itself with hops, and on one core.
//!
//! `make bench-servers` runs it in full. It prints a table, the reason of every missing figure, and
//! one JSON object in the last line. A server is recorded and split for two cores. Then all
//! variants start side by side, several times over, so that rounds alternate among warm servers. In
//! a round, each serves its load once for less than half a second, one after the other, and a ratio
//! is computed within the round. Other load on the machine then affects all of them. Plans are used
//! even if the replay predicts no gain, because the table also shows what hops cost then. The
//! original itself runs twice: the difference of the second one is chance, and smaller differences
//! of other rows mean nothing.
//!
//! Rejected: `corehop measure`, which restarts servers each round; it has only two variants, and
//! would spend most of its time filling them.
//!
//! Without arguments, as under `cargo test`, redis answers a few requests, to show that it works.
//! `COREHOP_BENCH` selects the servers to measure (`redis,memcached`), or their loads
//! (`redis:deep-pages:0.7`, with the share of an L2), `COREHOP_STARTS` sets the number of starts,
//! `COREHOP_AWAKE=1` keeps the CPUs from halting (awake.rs).
//!
//! `make bench-verdicts` runs it with `--verdicts`: the verdicts of `auto`, twenty times over.
//! `make bench-data-hops` runs it with `--data-hops`: hops by data (data_hops.rs), and
//! `make bench-delegation` with `--delegation`: an allocator on another core (delegation.rs).
//! `make bench-optimize` runs it with `--optimize`: how soon `corehop optimize` answers
//! (optimized.rs).

mod apache;
mod awake;
mod data_hops;
mod delegation;
mod dnsmasq;
mod dokuwiki;
mod haproxy;
mod here;
mod lists;
#[path = "../machine/mod.rs"]
mod machine;
#[path = "../mariadb/mod.rs"]
mod mariadb;
mod measuring;
mod memcached;
mod mixed;
mod nginx;
mod optimized;
mod php;
mod pipeline;
mod planning;
mod postgres;
#[path = "../prediction/mod.rs"]
mod prediction;
mod pristine;
mod redis;
mod row;
mod running;
mod server;
#[path = "../started/mod.rs"]
mod started;
mod tables;
#[allow(dead_code)] // Misses and hops are for the table of connections.
#[path = "../timed/mod.rs"]
mod timed;
mod tpcc;
mod verdicts;
mod way;

use here::Here;
use measuring::Effort;
use planning::Planned;
use row::Table;
use running::Variant;
use serde_json::json;
use server::Server;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const VARIANTS: &[Variant] = &[
    Variant::Original,
    Variant::Again,
    Variant::Auto,
    Variant::Carrier,
    Variant::Affinity,
    Variant::Count,
    Variant::OneCore,
];

fn main() -> Outcome<()> {
    if optimized::is_load()? {
        return Ok(());
    }
    let is_asked = |option: &str| std::env::args().any(|argument| argument == option);
    let wholes = [
        "--whole",
        "--verdicts",
        "--data-hops",
        "--delegation",
        "--optimize",
    ];
    let is_whole = wholes.into_iter().any(is_asked);
    let effort = match is_whole {
        true => Effort::whole(VARIANTS),
        false => Effort::tiny(VARIANTS),
    }
    .with_starts(std::env::var("COREHOP_STARTS").ok().as_deref())?;
    let here = Here::look()?;
    println!("{}", here.head(&effort));
    if is_asked("--verdicts") {
        return verdicts::measure(&here, &effort);
    }
    if is_asked("--data-hops") {
        return data_hops::measure(&here, is_whole);
    }
    if is_asked("--delegation") {
        return delegation::measure(&here, is_whole);
    }
    if is_asked("--optimize") {
        return optimized::measure(&here, is_whole);
    }
    let mut table = Table::of(VARIANTS);
    for server in wanted(&here, is_whole)? {
        table.add(match server::unrecordable(&*server) {
            Some(reason) => row::nulls(&*server, VARIANTS, &reason),
            None => match measure(&*server, &effort) {
                Ok(rows) => rows,
                // What is installed has to work: `cargo test` tests that.
                Err(error) if !is_whole => return Err(error),
                Err(error) => row::nulls(&*server, VARIANTS, &error.to_string()),
            },
        });
    }
    if !is_whole {
        data_hops::measure(&here, is_whole)?;
        delegation::measure(&here, is_whole)?;
        optimized::measure(&here, is_whole)?;
    }
    println!("\n{}", here.since());
    let rows = table.end();
    println!("{}", json!({"rows": rows}));
    Ok(())
}

/// Returns the servers with their loads: those in `COREHOP_BENCH`, or all.
fn wanted(here: &Here, is_whole: bool) -> Outcome<Vec<Box<dyn Server>>> {
    let mut all: Vec<Box<dyn Server>> = Vec::new();
    if !is_whole {
        all.push(Box::new(redis::Redis::tiny()));
        return Ok(all);
    }
    for share in [0.3, 0.7, 1.0, 2.0] {
        all.push(Box::new(redis::Redis::of(share, here.l2_bytes)));
    }
    for share in [0.3, 0.6, 1.0, 2.0] {
        all.push(Box::new(lists::Lists::of(share, here.l2_bytes)));
    }
    for share in [0.3, 0.7, 1.0, 2.0] {
        all.push(Box::new(dnsmasq::Dnsmasq::of(share, here.l2_bytes)));
    }
    all.push(Box::new(tpcc::Mariadb::on(&[1, 2, 4, 8, 32])));
    all.push(Box::new(apache::Apache::File));
    all.push(Box::new(apache::Apache::Wiki));
    all.push(Box::new(php::Php));
    all.push(Box::new(postgres::Postgres));
    all.push(Box::new(memcached::Memcached));
    all.push(Box::new(nginx::Nginx));
    let Ok(names) = std::env::var("COREHOP_BENCH") else {
        return Ok(all);
    };
    let names: Vec<&str> = names.split(',').collect();
    if let Some(other) = names
        .iter()
        .find(|name| !all.iter().any(|server| is_named(&**server, name)))
    {
        return Err(format!("COREHOP_BENCH: no server or load is called {other}").into());
    }
    all.retain(|server| names.iter().any(|name| is_named(&**server, name)));
    Ok(all)
}

/// Whether a name is a server's, or also has its load and size: `redis:deep-pages:0.7`.
fn is_named(server: &dyn Server, name: &str) -> bool {
    let (its_name, load) = (server.name(), server.load_name());
    let size = server
        .size_of_l2()
        .map(|size| format!("{its_name}:{load}:{size}"));
    let names = [its_name.to_owned(), format!("{its_name}:{load}")];
    names.iter().chain(&size).any(|of| of == name)
}

/// Records and splits a server, and measures it in every variant.
fn measure(server: &dyn Server, effort: &Effort) -> Outcome<Vec<row::Row>> {
    eprintln!("{} {}: recording", server.name(), server.load_name());
    let folder = running::folder()?;
    let planned = match Planned::of(server, effort, folder.path())? {
        Ok(planned) => planned,
        Err(reason) => return Ok(row::nulls(server, VARIANTS, &reason)),
    };
    eprintln!("{} {}: {planned}", server.name(), server.load_name());
    measuring::measure(server, effort, &planned, folder.path())
}
