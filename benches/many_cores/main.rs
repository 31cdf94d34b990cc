//! One folder for a machine with many cores: what it needs to be measured there, without packages,
//! network, or root, within ten minutes.
//!
//! `make bench-many-cores` packs the folder: corehop, this program, servers with their libraries,
//! and plans (`pack`). Copied to another machine, its script `run` calibrates that machine, times
//! hops by distance, mariadbd's connections on 2, 4, and 8 cores, and the table of servers, counts
//! misses if the kernel allows it, and prints tables and one JSON object (`measure`). Measuring is
//! that of `benches/servers`, with fewer variants and shorter turns.
//!
//! Plans are searched where the folder is packed. A plan names functions, whatever the size of the
//! data: a load is sized by the L2 of the machine that runs it. mariadbd's code and tables have one
//! size, so its splits are searched for several L2s. Rejected: to record and search on the other
//! machine, which takes QEMU and most of the ten minutes.
//!
//! Without arguments, as under `cargo test`, a small folder is packed and measured for some seconds
//! with an empty environment, and once interrupted (`brief`).

mod brief;
mod compressed;
mod measure;
mod pack;

#[path = "../servers/dnsmasq.rs"]
mod dnsmasq;
#[path = "../machine/mod.rs"]
mod machine;
#[path = "../mariadb/mod.rs"]
mod mariadb;
#[allow(dead_code)] // The variant that decides itself is not measured here.
#[path = "../servers/measuring.rs"]
mod measuring;
#[path = "../servers/memcached.rs"]
mod memcached;
#[path = "../servers/nginx.rs"]
mod nginx;
#[path = "../servers/pipeline.rs"]
mod pipeline;
#[allow(dead_code)] // Searching is apart here.
#[path = "../servers/planning.rs"]
mod planning;
#[path = "../prediction/mod.rs"]
mod prediction;
#[path = "../servers/pristine.rs"]
mod pristine;
#[allow(dead_code)] // Sets of other sizes are for other benches.
#[path = "../servers/redis.rs"]
mod redis;
#[allow(dead_code)] // Results are not printed server by server.
#[path = "../servers/row.rs"]
mod row;
#[allow(dead_code)] // Servers that are reached otherwise, or patched in files, use more of it.
#[path = "../servers/running.rs"]
mod running;
#[path = "../servers/server.rs"]
mod server;
#[path = "../started/mod.rs"]
mod started;
#[allow(dead_code)] // Nothing is simulated here.
#[path = "../timed/mod.rs"]
mod timed;
#[path = "../servers/tpcc.rs"]
mod tpcc;
#[allow(dead_code)] // Hooks that only count are for other benches.
#[path = "../servers/way.rs"]
mod way;

use mariadb::installed;
use pack::Extent;
use std::path::Path;
use std::process::ExitCode;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Where `make bench-many-cores` packs.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/many-cores");

fn main() -> Outcome<ExitCode> {
    if let Some(folder) = installed::packed() {
        return measure::measure(&folder);
    }
    match std::env::args().any(|argument| argument == "--pack") {
        true => pack::pack(Path::new(FOLDER), &Extent::WHOLE)?,
        false => brief::check()?,
    }
    Ok(ExitCode::SUCCESS)
}
