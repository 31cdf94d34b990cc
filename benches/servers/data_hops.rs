//! redis with several sorted sets that together exceed an L2, with each set on one core; and
//! likewise mariadbd with tables (`tables.rs`).
//!
//! Every command is the same, a deep page of one of the sets (`redis.rs` describes its cost), and
//! the set changes at random: no split by functions distinguishes them. `ZRANGEBYSCORE` calls
//! zslFirstInRange with the set's skip list and walks the list from the result. A thread that
//! migrates there by the argument, and stays, therefore does the whole walk on the list's core.
//! With 2 MiB of L2, the sets have 2500 KiB in total: two of 1250, four of 625, or eight of 312.
//! Plans are written by hand, for two cores, and the original runs twice as in the rest of the
//! bench.

use crate::Outcome;
use crate::here::Here;
use crate::measuring::{self, Effort};
use crate::pipeline::Pipeline;
use crate::planning::Planned;
use crate::redis::{self, BYTES_A_MEMBER, LAST, add_set, launch};
use crate::row::{self, Table};
use crate::running::{self, Place, Running, Variant};
use crate::server::{self, Launch, Load, Server};
use crate::tables::{self, Tables};
use corehop_patcher::Analysis;
use corehop_plan::{Argument, Destination, Mode, Plan, PlannedFunction, VERSION_BY_ARGUMENT};
use rand::SeedableRng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use serde_json::json;
use std::io::BufReader;
use std::path::{Path, PathBuf};

const VARIANTS: &[Variant] = &[
    Variant::Original,
    Variant::Again,
    Variant::Carrier,
    Variant::Auto,
];
const PROGRAM: &str = "/usr/bin/redis-server";
/// Its first argument is the skip list.
const HOOKED: &str = "zslFirstInRange";
/// Total size of all sets, relative to an L2.
const SHARE_OF_L2: f64 = 2500.0 / 2048.0;
/// Requests of each set per batch.
const REQUESTS_OF_A_SET: usize = 50;

/// redis with this many sets.
struct Sets {
    sets: usize,
    members: usize,
    size_of_l2: f64,
    requests: usize,
}

impl Sets {
    fn of(sets: usize, l2_bytes: u64) -> Sets {
        let bytes = SHARE_OF_L2 * l2_bytes as f64 / sets as f64;
        Sets {
            sets,
            members: (bytes / BYTES_A_MEMBER) as usize,
            size_of_l2: SHARE_OF_L2,
            requests: REQUESTS_OF_A_SET * sets,
        }
    }

    /// A small load that shows that it works.
    fn tiny() -> Sets {
        Sets {
            sets: 4,
            members: 1000,
            size_of_l2: 0.0,
            requests: 20,
        }
    }

    fn key(set: usize) -> String {
        format!("daily:{set}")
    }
}

impl Server for Sets {
    fn name(&self) -> &'static str {
        "redis"
    }

    fn load_name(&self) -> &'static str {
        match self.sets {
            2 => "2-sets",
            4 => "4-sets",
            _ => "8-sets",
        }
    }

    fn needs(&self) -> &'static [(&'static str, &'static str)] {
        &[(PROGRAM, "redis-server")]
    }

    fn size_of_l2(&self) -> Option<f64> {
        (self.size_of_l2 > 0.0).then_some(self.size_of_l2)
    }

    fn request_at(&self) -> &'static str {
        HOOKED
    }

    fn lay_out(&self, place: &Place) -> Outcome<Launch> {
        Ok(launch(place))
    }

    fn fill(&self, running: &mut Running) -> Outcome<()> {
        let mut answers = BufReader::new(running.dial()?);
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for set in 0..self.sets {
            let described = (&*Sets::key(set), "user", true);
            add_set(&mut answers, described, self.members, &mut random)?;
        }
        Ok(())
    }

    fn connect(&self, running: &mut Running, _connections: u32) -> Outcome<Box<dyn Load>> {
        let (from, last) = ((self.members - LAST).to_string(), LAST.to_string());
        let request = |set| {
            let key = Sets::key(set);
            let range = ["ZRANGEBYSCORE", &key, "-inf", "+inf", "LIMIT", &from, &last];
            redis::encoded(&range)
        };
        let all: Vec<Vec<u8>> = (0..self.sets).map(request).collect();
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let any = |_| all.choose(&mut random).cloned();
        let requests: Option<Vec<Vec<u8>>> = (0..self.requests).map(any).collect();
        let end = format!("$13\r\nuser:{:08}\r\n", self.members - 1);
        let answer: (&[u8], &[u8]) = (b"*10\r\n", end.as_bytes());
        let load = Pipeline::of_all(running, &requests.ok_or("no sets")?, answer)?;
        Ok(Box::new(load))
    }
}

/// A server, and the function whose first argument selects the core.
struct ByData {
    server: Box<dyn Server>,
    program: &'static str,
    hooked: &'static str,
}

impl ByData {
    fn of_sets(sets: Sets) -> ByData {
        ByData {
            server: Box::new(sets),
            program: PROGRAM,
            hooked: HOOKED,
        }
    }

    fn of_tables(tables: Tables) -> ByData {
        ByData {
            server: Box::new(tables),
            program: tables::PROGRAM,
            hooked: tables::HOOKED,
        }
    }
}

fn all(l2_bytes: u64) -> Vec<ByData> {
    let sets = [2, 4, 8].map(|sets| ByData::of_sets(Sets::of(sets, l2_bytes)));
    let tables = [2, 4, 8].map(|tables| Tables::of(tables, SHARE_OF_L2, l2_bytes));
    sets.into_iter()
        .chain(tables.map(ByData::of_tables))
        .collect()
}

/// Measures all loads, or a tiny one; prints a table, and one JSON object.
pub fn measure(here: &Here, is_whole: bool) -> Outcome<()> {
    let (effort, all) = match is_whole {
        true => {
            let starts = std::env::var("COREHOP_STARTS").ok();
            let effort = Effort::whole(VARIANTS).with_starts(starts.as_deref())?;
            (effort, all(here.l2_bytes))
        }
        false => (Effort::tiny(VARIANTS), vec![ByData::of_sets(Sets::tiny())]),
    };
    let mut table = Table::of(VARIANTS);
    for by_data in all {
        let server = &*by_data.server;
        table.add(match server::missing(server) {
            Some(reason) => row::nulls(server, VARIANTS, &reason),
            None => match measure_one(&by_data, &effort) {
                Err(error) if is_whole => row::nulls(server, VARIANTS, &error.to_string()),
                rows => rows?,
            },
        });
    }
    println!("\n{}", here.since());
    let rows = table.end();
    println!("{}", json!({"data_hops": rows}));
    Ok(())
}

fn measure_one(by_data: &ByData, effort: &Effort) -> Outcome<Vec<row::Row>> {
    let (server, hooked) = (&*by_data.server, by_data.hooked);
    let folder = running::folder()?;
    let plan = write_plan(by_data, folder.path())?;
    let planned = Planned::by_hand(plan, vec![format!("{hooked} by argument 1")]);
    eprintln!("{} {}: {planned}", server.name(), server.load_name());
    measuring::measure(server, effort, &planned, folder.path())
}

fn write_plan(by_data: &ByData, folder: &Path) -> Outcome<PathBuf> {
    let ByData {
        program, hooked, ..
    } = *by_data;
    let analysis = Analysis::of(Path::new(program))?;
    let mut functions = analysis.functions().iter();
    let found = functions.find(|function| function.symbol.as_deref() == Some(hooked));
    let found = found.ok_or_else(|| format!("{program} has no function {hooked}"))?;
    let plan = Plan {
        version: VERSION_BY_ARGUMENT,
        machine: "host".into(),
        trace: "none".into(),
        cores: 2,
        seed: 1,
        carriers_refuse: None,
        request: None,
        expected: None,
        functions: vec![PlannedFunction {
            module: program.into(),
            build_id: analysis
                .build_id()
                .ok_or_else(|| format!("{program} has no build id"))?
                .into(),
            offset: found.offset,
            symbol: hooked.into(),
            to: Destination::By(Argument::ALL[0].into()),
            mode: Mode::Enter,
        }],
    };
    let path = folder.join("plan.toml");
    corehop_plan::write(&plan, &path)?;
    Ok(path)
}
