//! `checksum`: prints one number per table, equal for two servers exactly if their rows are equal.
//!
//! CHECKSUM TABLE ... EXTENDED adds up a checksum of every row. So the order of rows, and of the
//! transactions that created them, does not matter.

use crate::connection::Server;
use crate::error::Error;
use crate::population::loaded_size;
use crate::schema::TABLES;
use clap::Args;
use corehop_support::quantity::duration::seconds;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// The command line of `checksum`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    server: Server,
    /// Time after which a single statement is given up, in seconds or such as 5m
    #[arg(long, value_name = "TIME", default_value = "300", value_parser = seconds)]
    max_seconds: Duration,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    tables: BTreeMap<&'static str, Contents>,
}

#[derive(Serialize)]
struct Contents {
    rows: u64,
    checksum: u64,
}

/// Prints the checksum and the number of rows of every table.
///
/// # Errors
/// Fails if the tables do not exist.
pub fn print(arguments: &Arguments) -> Result<(), Error> {
    let patience = arguments.max_seconds;
    let database = &arguments.server.database;
    let mut session = arguments.server.connect(Some(database), patience)?;
    loaded_size(&mut session, &arguments.server)?;
    let mut tables = BTreeMap::new();
    for table in TABLES {
        let (_, checksum): (String, u64) =
            session.one(&format!("checksum table {table} extended"), &[])?;
        let (rows,): (u64,) = session.one(&format!("select count(*) from {table}"), &[])?;
        tables.insert(table, Contents { rows, checksum });
    }
    if arguments.json {
        let report = Report { tables };
        let text = serde_json::to_string(&report).expect("numbers and names are valid JSON");
        println!("{text}");
    } else {
        for (table, contents) in tables {
            println!(
                "{table:<12}{:>10} rows  {:010}",
                contents.rows, contents.checksum
            );
        }
    }
    Ok(())
}
