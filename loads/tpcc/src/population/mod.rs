//! Fills the tables as described in clause 4.3.3.1, every value from one seeded stream.
//!
//! All tables use one stream in a fixed order, so that a seed and a size determine the database,
//! row for row. The row with the size is inserted last, so an interrupted load does not count as a
//! database.

mod batch;
mod customers;
mod items;
mod orders;
mod row;
mod warehouses;

use crate::connection::Server;
use crate::error::Error;
use crate::progress;
use crate::random::Random;
use crate::schema;
use crate::session::Session;
use crate::size::{DISTRICTS, Size};
use clap::Args;
use corehop_support::quantity::duration::seconds;
use std::time::Duration;

/// The command line of `load`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    size: Size,
    /// Seed of all random values
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Replace a database of that name
    #[arg(long)]
    force: bool,
    /// Time after which a single statement is given up, in seconds or such as 5m
    #[arg(long, value_name = "TIME", default_value = "300", value_parser = seconds)]
    max_seconds: Duration,
}

/// Creates the database and fills its tables.
///
/// # Errors
/// Fails if the database exists, or if the server rejects a statement.
pub fn load(arguments: &Arguments) -> Result<(), Error> {
    let patience = arguments.max_seconds;
    let mut session = arguments.server.connect(None, patience)?;
    create_database(&mut session, &arguments.server.database, arguments.force)?;
    drop(session);

    let database = Some(arguments.server.database.as_str());
    let mut session = arguments.server.connect(database, patience)?;
    for statement in schema::STATEMENTS {
        session.execute(statement, &[])?;
    }
    fill(&mut session, arguments.size, arguments.seed)?;
    eprintln!(
        "loaded {} warehouses at scale 1/{} with seed {}",
        arguments.size.warehouses, arguments.size.scale, arguments.seed
    );
    Ok(())
}

/// Creates an empty database.
fn create_database(session: &mut Session, name: &str, force: bool) -> Result<(), Error> {
    // The command line has checked that the name consists of letters, digits and underscores.
    let existing: Option<(String,)> = session.optional(
        "select schema_name from information_schema.schemata where schema_name = ?",
        &[name.into()],
    )?;
    if existing.is_some() {
        if !force {
            let database = name.to_owned();
            return Err(Error::Exists { database });
        }
        session.execute(&format!("drop database {name}"), &[])?;
    }
    Ok(session.execute(&format!("create database {name}"), &[])?)
}

/// Fills every table.
fn fill(session: &mut Session, size: Size, seed: u64) -> Result<(), Error> {
    let mut random = Random::for_load(seed, size);
    let steps = u64::from(size.warehouses * (2 + 2 * DISTRICTS) + 1);
    let bar = progress::bar("loading", steps);
    session.execute("set autocommit = 0", &[])?;

    let items = (1..=size.items()).map(|item| items::item(&mut random, item));
    batch::insert(session, "item", items)?;
    bar.inc(1);
    for warehouse in 1..=size.warehouses {
        let row = warehouses::warehouse(&mut random, warehouse, size);
        batch::insert(session, "warehouse", [row])?;
        bar.inc(1);
        let stock = (1..=size.items()).map(|item| items::stock(&mut random, warehouse, item));
        batch::insert(session, "stock", stock)?;
        bar.inc(1);
        for district in 1..=DISTRICTS {
            let row = warehouses::district(&mut random, warehouse, district, size);
            batch::insert(session, "district", [row])?;
            customers::fill(session, &mut random, size, warehouse, district)?;
            bar.inc(1);
            orders::fill(session, &mut random, size, warehouse, district)?;
            bar.inc(1);
        }
    }
    let row = vec![size.warehouses.into(), size.scale.into()];
    batch::insert(session, "loaded_size", [row])?;
    bar.finish_and_clear();
    Ok(())
}

/// Returns the size of the loaded tables.
///
/// # Errors
/// [`Error::NotLoaded`] if the tables do not exist or are not complete.
pub fn loaded_size(session: &mut Session, server: &Server) -> Result<Size, Error> {
    let not_loaded = || Error::NotLoaded {
        database: server.database.clone(),
    };
    let (warehouses, scale): (u32, u32) = session
        .one("select warehouses, scale from loaded_size", &[])
        .map_err(|_| not_loaded())?;
    if warehouses == 0 || !(1..=100).contains(&scale) {
        return Err(not_loaded());
    }
    Ok(Size { warehouses, scale })
}
