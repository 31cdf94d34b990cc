//! mariadbd with several tables in memory that together exceed an L2, with each table on one core.
//!
//! Every query is the same except for the table, which changes at random: a sum over all rows in
//! the order of the table's tree index (`ENGINE=MEMORY`, `USING BTREE`). Rows were inserted in
//! another order, so a query walks the tree's nodes, and a row from each, as a chain of loads. It
//! opens its table by TABLE::init, called on an object that the server keeps for the table. A
//! thread that migrates there by argument 1, and stays, walks on the tree's core. The client is
//! mariadb's own, a process that receives a batch of queries at once and sends them one by one.

use crate::Outcome;
use crate::mariadb::{self, make_data};
use crate::pristine::Pristine;
use crate::running::{Place, Running};
use crate::server::{Answered, Launch, Load, Server};
use rand::SeedableRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

pub const PROGRAM: &str = "/usr/sbin/mariadbd";
const CLIENT: &str = "/usr/bin/mariadb";
/// `TABLE::init(THD*, TABLE_LIST*)`.
pub const HOOKED: &str = "_ZN5TABLE4initEP3THDP10TABLE_LIST";
/// Bytes per row in a walk, by the lines that `corehop candidates --by-argument` counts for a
/// query: each node of the tree is allocated separately.
const BYTES_A_ROW: f64 = 100.0;
/// Requests of each table per batch.
const REQUESTS_OF_A_TABLE: usize = 25;
/// Rows per inserting statement.
const ADDED_AT_ONCE: usize = 500;

/// mariadbd with this many tables.
pub struct Tables {
    tables: usize,
    rows: usize,
    size_of_l2: f64,
    pristine: Pristine,
}

impl Tables {
    /// Creates tables that together take this share of an L2.
    pub fn of(tables: usize, size_of_l2: f64, l2_bytes: u64) -> Tables {
        let bytes = size_of_l2 * l2_bytes as f64 / tables as f64;
        Tables {
            tables,
            rows: (bytes / BYTES_A_ROW) as usize,
            size_of_l2,
            pristine: Pristine::default(),
        }
    }

    fn statements(&self) -> Outcome<String> {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut statements = "create or replace database tables;\nuse tables;\n".to_owned();
        for table in 0..self.tables {
            writeln!(
                statements,
                "create table t{table} (id int not null, v int not null, key using btree (id)) \
                 engine=memory;"
            )?;
            let mut rows: Vec<usize> = (0..self.rows).collect();
            rows.shuffle(&mut random);
            for some in rows.chunks(ADDED_AT_ONCE) {
                let values: Vec<String> = some.iter().map(|id| format!("({id},{id})")).collect();
                writeln!(
                    statements,
                    "insert into t{table} values {};",
                    values.join(",")
                )?;
            }
        }
        Ok(statements)
    }
}

fn client(folder: &Path) -> Command {
    let mut client = Command::new(CLIENT);
    let socket = mariadb::socket(folder);
    client.args(["--no-defaults", "--user=root", "--batch"]);
    client.args(["--skip-column-names", "--unbuffered", "--socket"]);
    client.arg(socket).stdin(Stdio::piped());
    client
}

impl Server for Tables {
    fn name(&self) -> &'static str {
        "mariadbd"
    }

    fn load_name(&self) -> &'static str {
        match self.tables {
            2 => "2-tables",
            4 => "4-tables",
            _ => "8-tables",
        }
    }

    fn needs(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (PROGRAM, "mariadb-server-core"),
            (CLIENT, "mariadb-client-core"),
        ]
    }

    fn size_of_l2(&self) -> Option<f64> {
        Some(self.size_of_l2)
    }

    fn request_at(&self) -> &'static str {
        "dispatch_command"
    }

    fn lay_out(&self, place: &Place) -> Outcome<Launch> {
        let make = |folder: &Path| Ok(make_data(folder, "")?);
        self.pristine.launch(place, make)
    }

    fn fill(&self, running: &mut Running) -> Outcome<()> {
        let folder = running.folder.clone();
        running.wait_for("mariadbd to answer", || {
            let mut asking = client(&folder);
            asking.stdin(Stdio::null()).args(["--execute", "select 1"]);
            let answer = asking.stdout(Stdio::null()).stderr(Stdio::null()).status();
            answer.is_ok_and(|status| status.success()).then_some(())
        })?;
        let mut filling = client(&folder).spawn()?;
        let mut input = filling.stdin.take().ok_or("no input")?;
        input.write_all(self.statements()?.as_bytes())?;
        drop(input);
        match filling.wait()?.success() {
            true => Ok(()),
            false => Err("mariadb could not fill the tables".into()),
        }
    }

    fn connect(&self, running: &mut Running, _connections: u32) -> Outcome<Box<dyn Load>> {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let tables: Vec<usize> = (0..self.tables).collect();
        let count = match running.is_recorded {
            true => 1,
            false => REQUESTS_OF_A_TABLE * self.tables,
        };
        let mut queries = String::new();
        for _ in 0..count {
            let table = tables.choose(&mut random).ok_or("no tables")?;
            writeln!(
                queries,
                "select sum(v) from t{table} force index (id) where id >= 0;"
            )?;
        }
        let answer = (self.rows * (self.rows - 1) / 2).to_string();
        let load = Queries::new(&running.folder, (queries, count), answer)?;
        Ok(Box::new(load))
    }
}

/// A running client.
struct Queries {
    client: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    queries: String,
    count: usize,
    /// Answer to each query.
    answer: String,
}

impl Queries {
    fn new(folder: &Path, (queries, count): (String, usize), answer: String) -> Outcome<Queries> {
        let mut client = client(folder);
        let mut client = client.arg("tables").stdout(Stdio::piped()).spawn()?;
        Ok(Queries {
            input: client.stdin.take().ok_or("no input")?,
            output: BufReader::new(client.stdout.take().ok_or("no output")?),
            client,
            queries,
            count,
            answer,
        })
    }
}

impl Load for Queries {
    fn batch(&mut self) -> Outcome<Answered> {
        let begun = Instant::now();
        self.input.write_all(self.queries.as_bytes())?;
        self.input.flush()?;
        let mut line = String::new();
        for _ in 0..self.count {
            line.clear();
            self.output.read_line(&mut line)?;
            if line.trim_end() != self.answer {
                return Err(format!("mariadb answered {line:?}").into());
            }
        }
        Ok(Answered {
            requests: self.count as u64,
            seconds: begun.elapsed().as_secs_f64(),
        })
    }
}

impl Drop for Queries {
    fn drop(&mut self) {
        let _ = self.client.kill();
        let _ = self.client.wait();
    }
}
