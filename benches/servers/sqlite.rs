//! sqlite3, asked for sums over two tables in an order that is not theirs: two phases of known
//! size.
//!
//! A statement looks up every row of one table, then every row of another, each time in the order
//! that a third lists: a lookup is a descent through a B-tree, whose lines lie anywhere in the
//! table's pages. The number of rows chooses how much of an L2 a phase is. The program reads
//! statements from a pipe, several at once, and prints a line for each. The tables lie in a file
//! that is made beforehand and cached whole, so that no statement but the load is recorded.

use crate::Outcome;
use crate::running::{Place, Running};
use crate::server::{Answered, Launch, Load, Server};
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

/// Of a table and of the list of its rows, in their pages.
const BYTES_A_ROW: f64 = 62.0;
/// Statements sent at once.
const DEPTH: u64 = 10;
/// One statement: the sum's end is where the first phase ends.
const QUERY: &str = "select (select sum(t.v) from list_a l cross join a t on t.id = l.r), \
                     (select max(t.v) from list_b l cross join b t on t.id = l.r);\n";

/// sqlite3 with two tables of so many rows.
pub struct Sqlite {
    rows: usize,
    size_of_l2: f64,
}

struct Pipes {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    depth: u64,
}

impl Sqlite {
    /// With tables whose pages take this share of an L2.
    pub fn of(size_of_l2: f64, l2_bytes: u64) -> Sqlite {
        Sqlite {
            rows: (size_of_l2 * l2_bytes as f64 / BYTES_A_ROW) as usize,
            size_of_l2,
        }
    }

    fn statements(&self) -> String {
        let rows = self.rows;
        let table = |name: &str, factor: u32| {
            format!(
                "create table {name}(id integer primary key, v integer, pad text);\n\
                 create table list_{name}(r integer);\n\
                 with recursive n(i) as (select 1 union all select i + 1 from n where i < {rows})\n\
                 insert into {name} select i, i * 31 % 9973, printf('%040d', i) from n;\n\
                 insert into list_{name} select id from {name} order by id * {factor} % 1000003;\n"
            )
        };
        table("a", 7919) + &table("b", 104_729)
    }
}

impl Server for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite3"
    }

    fn load_name(&self) -> &'static str {
        "two-walks"
    }

    fn needs(&self) -> &'static [(&'static str, &'static str)] {
        &[("/usr/bin/sqlite3", "sqlite3")]
    }

    fn size_of_l2(&self) -> Option<f64> {
        Some(self.size_of_l2)
    }

    fn request_at(&self) -> &'static str {
        "libsqlite3.so.0:sqlite3_prepare_v2"
    }

    fn recorded_requests(&self) -> u64 {
        // A statement on tables of twice an L2 has some hundred million accesses.
        ((12.0 / self.size_of_l2) as u64).clamp(8, 40)
    }

    fn lay_out(&self, place: &Place) -> Outcome<Launch> {
        let file = place.folder.join("tables").display().to_string();
        let mut maker = Command::new("/usr/bin/sqlite3");
        let mut maker = maker
            .args(["-batch", &file])
            .stdin(Stdio::piped())
            .spawn()?;
        let mut input = maker.stdin.take().ok_or("no pipe")?;
        input.write_all(self.statements().as_bytes())?;
        drop(input);
        if !maker.wait()?.success() {
            return Err("sqlite3 could not make the tables".into());
        }
        let words = ["/usr/bin/sqlite3", "-batch", "-init", "/dev/null", &file];
        Ok(Launch {
            command: words.map(str::to_owned).into(),
            is_piped: true,
            ..Launch::default()
        })
    }

    fn fill(&self, _running: &mut Running) -> Outcome<()> {
        Ok(())
    }

    fn connect(&self, running: &mut Running, _connections: u32) -> Outcome<Box<dyn Load>> {
        let (mut input, output) = running.pipes()?;
        let mut output = BufReader::new(output);
        input.write_all(b"pragma cache_size = -100000; pragma locking_mode = exclusive;\n")?;
        let mut answer = String::new();
        output.read_line(&mut answer)?;
        if answer.trim_end() != "exclusive" {
            return Err(format!("sqlite3 answered {answer:?}").into());
        }
        let depth = if running.is_recorded { 1 } else { DEPTH };
        Ok(Box::new(Pipes {
            input,
            output,
            depth,
        }))
    }
}

impl Load for Pipes {
    fn batch(&mut self) -> Outcome<Answered> {
        let start = Instant::now();
        let statements = QUERY.repeat(self.depth as usize);
        self.input.write_all(statements.as_bytes())?;
        for _ in 0..self.depth {
            let mut answer = String::new();
            self.output.read_line(&mut answer)?;
            if !answer.contains('|') {
                return Err(format!("sqlite3 answered {answer:?}").into());
            }
        }
        Ok(Answered {
            requests: self.depth,
            seconds: start.elapsed().as_secs_f64(),
        })
    }
}
