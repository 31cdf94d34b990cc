//! memcached with its allocator on a separate core.
//!
//! Srinivasan's case ("Exploring data locality and message passing in programs", figure 4.1): the
//! server's allocator, `do_item_alloc`, runs asynchronously on its own core. With 30, 25 and 20 %
//! SETs, the server serves 32, 13 and 1 % more requests. Here, the calls of that function are
//! delegated: the calling thread migrates there and back, with its registers and stack. Keys have
//! 64 bytes and values 1024, as with memslap. The server's memory is full before the measurement,
//! so that each SET replaces an old item. Debian's memcached has no symbols, so its build ID
//! determines the function's address.
//!
//! The server differs: memcached 1.4.20 has one lock around all allocations; 1.6 has one lock per
//! size and a thread that frees items in advance. The machine differs too: theirs has 64 cores and
//! uses one of them for the allocator.

use crate::Outcome;
use crate::here::Here;
use crate::measuring::{self, Effort};
use crate::planning::Planned;
use crate::row::{self, Row, Table};
use crate::running::{self, Place, Running, Variant};
use crate::server::{self, Answered, Launch, Load, Server};
use corehop_patcher::Analysis;
use corehop_plan::{Destination, Mode, Plan, PlannedFunction, VERSION};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Instant;

const VARIANTS: &[Variant] = &[
    Variant::Original,
    Variant::Again,
    Variant::Carrier,
    Variant::Auto,
];
const PROGRAM: &str = "/usr/bin/memcached";
/// Debian 12's memcached 1.6.18. The first check at the address is that of items.c: less than two
/// bytes.
const BUILD: &str = "cb4951e778913a1598cb9fa92e8c377dfc545320";
const DO_ITEM_ALLOC: u64 = 0x17300;
/// SETs per hundred requests, and the paper's throughput of the modified server relative to the
/// original.
const LOADS: [(u32, &str, f64); 3] = [
    (30, "30%-sets", 1.32),
    (25, "25%-sets", 1.13),
    (20, "20%-sets", 1.01),
];
/// Minimum for 95 % intervals.
const STARTS: usize = 6;
const THREADS: usize = 2;
const VALUE_BYTES: usize = 1024;
/// A sixth more than 64 MiB hold, so that some GETs miss and SETs must evict items.
const KEYS: u32 = 60_000;
/// Requests of a connection that are sent together: they fit the sockets' buffers.
const DEPTH: usize = 100;
/// Different batches of a connection, one after the other.
const BATCHES: usize = 200;

/// memcached under one mixture.
struct Allocating {
    sets: u32,
    name: &'static str,
    keys: u32,
}

impl Server for Allocating {
    fn name(&self) -> &'static str {
        "memcached"
    }

    fn load_name(&self) -> &'static str {
        self.name
    }

    fn needs(&self) -> &'static [(&'static str, &'static str)] {
        &[(PROGRAM, "memcached")]
    }

    fn connections(&self) -> &[u32] {
        &[THREADS as u32]
    }

    fn request_at(&self) -> &'static str {
        "syscalls"
    }

    fn lay_out(&self, place: &Place) -> Outcome<Launch> {
        let (port, threads) = (place.port.to_string(), THREADS.to_string());
        let words = [
            PROGRAM,
            "-l",
            "127.0.0.1",
            "-m",
            "64",
            "-t",
            &threads,
            "-p",
            &port,
        ];
        let mut words: Vec<String> = words.map(str::to_owned).into();
        if rustix::process::geteuid().is_root() {
            words.extend(["-u", "root"].map(str::to_owned));
        }
        Ok(Launch {
            command: words,
            ..Launch::default()
        })
    }

    fn fill(&self, running: &mut Running) -> Outcome<()> {
        let mut connection = BufReader::new(running.dial()?);
        for first in (0..self.keys).step_by(DEPTH) {
            let keys = first..self.keys.min(first + DEPTH as u32);
            let all: Vec<u8> = keys.clone().flat_map(set).collect();
            connection.get_mut().write_all(&all)?;
            for _ in keys {
                read_answer(&mut connection)?;
            }
        }
        Ok(())
    }

    fn connect(&self, running: &mut Running, connections: u32) -> Outcome<Box<dyn Load>> {
        let mut random = ChaCha8Rng::seed_from_u64(u64::from(self.sets));
        let mut request = || {
            let key = random.random_range(0..self.keys);
            match random.random_range(0..100) < self.sets {
                true => set(key),
                false => format!("get {key:064}\r\n").into_bytes(),
            }
        };
        let mut batch = || (0..DEPTH).flat_map(|_| request()).collect::<Vec<u8>>();
        let dialled = (0..connections).map(|_| Ok(BufReader::new(running.dial()?)));
        Ok(Box::new(Mixed {
            connections: dialled.collect::<Outcome<_>>()?,
            batches: (0..BATCHES).map(|_| batch()).collect(),
            next: 0,
        }))
    }
}

fn set(key: u32) -> Vec<u8> {
    let value = "v".repeat(VALUE_BYTES);
    format!("set {key:064} 0 0 {VALUE_BYTES}\r\n{value}\r\n").into_bytes()
}

/// Reads the answer to a set, or to a get that may miss.
fn read_answer(connection: &mut BufReader<TcpStream>) -> Outcome<()> {
    let mut line = String::new();
    connection.read_line(&mut line)?;
    if line.starts_with("VALUE ") {
        let mut value = [0; VALUE_BYTES + 2];
        connection.read_exact(&mut value)?;
        line.clear();
        connection.read_line(&mut line)?;
    }
    match line.trim_end() {
        "STORED" | "END" => Ok(()),
        other => Err(format!("memcached answered {other:?}").into()),
    }
}

/// Connections that each send a batch, and then read its answers.
struct Mixed {
    connections: Vec<BufReader<TcpStream>>,
    batches: Vec<Vec<u8>>,
    next: usize,
}

impl Load for Mixed {
    fn batch(&mut self) -> Outcome<Answered> {
        let start = Instant::now();
        for connection in &mut self.connections {
            let batch = &self.batches[self.next % self.batches.len()];
            self.next += 1;
            connection.get_mut().write_all(batch)?;
        }
        for connection in &mut self.connections {
            for _ in 0..DEPTH {
                read_answer(connection)?;
            }
        }
        Ok(Answered {
            requests: (DEPTH * self.connections.len()) as u64,
            seconds: start.elapsed().as_secs_f64(),
        })
    }
}

/// Measures the three mixtures, or a tiny one; prints two tables, and one JSON object.
pub fn measure(here: &Here, is_whole: bool) -> Outcome<()> {
    let effort = match is_whole {
        true => {
            let starts = std::env::var("COREHOP_STARTS").ok();
            let starts = starts.unwrap_or_else(|| STARTS.to_string());
            Effort::whole(VARIANTS).with_starts(Some(&starts))?
        }
        false => Effort::tiny(VARIANTS),
    };
    let loads = &LOADS[..if is_whole { LOADS.len() } else { 1 }];
    let keys = if is_whole { KEYS } else { 500 };
    let (mut table, mut beside) = (Table::of(VARIANTS), Vec::new());
    for &(sets, name, there) in loads {
        let server = Allocating { sets, name, keys };
        let rows = match server::missing(&server) {
            Some(reason) => row::nulls(&server, VARIANTS, &reason),
            None => match measure_one(&server, &effort) {
                Err(error) if is_whole => row::nulls(&server, VARIANTS, &error.to_string()),
                rows => rows?,
            },
        };
        beside.push((name, there, ratio(&rows)));
        table.add(rows);
    }
    println!("\n{}", here.since());
    let rows = table.end();
    println!("throughput with the allocator elsewhere, by the original's\n");
    println!("{:<12}{:>10}{:>10}", "load", "carrier", "text");
    for (name, there, here) in &beside {
        let here = here.map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}"));
        println!("{name:<12}{here:>10}{there:>10.2}");
    }
    let beside = beside
        .iter()
        .map(|(name, there, here)| json!({"load": name, "carrier": here, "text": there}));
    let beside: Vec<_> = beside.collect();
    println!(
        "\n{}",
        json!({"delegation": rows, "beside_the_text": beside})
    );
    Ok(())
}

/// Returns the ratio of the carrier backend.
fn ratio(rows: &[Row]) -> Option<f64> {
    let carried = rows.iter().find(|row| row.variant == Variant::Carrier);
    carried?.ratio
}

fn measure_one(server: &Allocating, effort: &Effort) -> Outcome<Vec<Row>> {
    let folder = running::folder()?;
    let plan = write_plan(folder.path())?;
    let planned = Planned::by_hand(plan, vec!["do_item_alloc and back".into()]);
    eprintln!("{} {}: {planned}", server.name(), server.load_name());
    measuring::measure(server, effort, &planned, folder.path())
}

fn write_plan(folder: &Path) -> Outcome<PathBuf> {
    let analysis = Analysis::of(Path::new(PROGRAM))?;
    let build_id = analysis.build_id().unwrap_or_default();
    if build_id != BUILD {
        let said = format!("{PROGRAM} is another build than Debian 12's, {build_id}");
        return Err(said.into());
    }
    let plan = Plan {
        version: VERSION,
        machine: "host".into(),
        trace: "none".into(),
        cores: 2,
        seed: 1,
        carriers_refuse: None,
        request: None,
        expected: None,
        functions: vec![PlannedFunction {
            module: PROGRAM.into(),
            build_id: build_id.into(),
            offset: DO_ITEM_ALLOC,
            symbol: "do_item_alloc".into(),
            to: Destination::Core(1),
            mode: Mode::Call,
        }],
    };
    let path = folder.join("plan.toml");
    corehop_plan::write(&plan, &path)?;
    Ok(path)
}
