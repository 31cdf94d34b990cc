//! One connection that counts its statements and its think time.
//!
//! The think time of a load is the time between a response and the next statement. TPC-C's own
//! think time (5.2.5) is omitted, so the rest is this program's work. A model of a server under
//! this load must know it: a connection that waits for its client has no request.

use crate::error::Error;
use crate::sql;
use mysql::prelude::{FromRow, Queryable};
use mysql::{Conn, Value};
use std::time::{Duration, Instant};

/// ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT and ER_CHECKREAD in MariaDB's error codes. The last one
/// means that a record has changed since the transaction's snapshot; MariaDB rejects this from
/// version 11.6.
const CONTENTION: [u16; 3] = [1213, 1205, 1020];

/// A connection and its counts.
pub struct Session {
    connection: Conn,
    statements: u64,
    /// Time of the latest response.
    answered: Option<Instant>,
    thinking: Duration,
}

/// Why a statement failed: a conflict with another transaction, or anything else.
#[derive(Debug)]
pub enum Refusal {
    /// The transaction was rolled back, or must be, and can be retried.
    Contention,
    /// A retry would not help.
    Final(Error),
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Contention => Error::Contention {
                kind: "single-statement",
                attempts: 1,
            },
            Refusal::Final(error) => error,
        }
    }
}

impl Session {
    /// Starts counting on a new connection.
    pub fn new(connection: Conn) -> Self {
        Session {
            connection,
            statements: 0,
            answered: None,
            thinking: Duration::ZERO,
        }
    }

    /// Returns the number of statements so far; each is one COM_QUERY request.
    pub fn statements(&self) -> u64 {
        self.statements
    }

    /// Returns the total time between responses and the next statements.
    pub fn thinking(&self) -> Duration {
        self.thinking
    }

    /// Executes a statement, and counts it.
    fn ask<T>(&mut self, answer: impl FnOnce(&mut Conn) -> mysql::Result<T>) -> mysql::Result<T> {
        self.statements += 1;
        self.thinking += self
            .answered
            .map_or(Duration::ZERO, |since| since.elapsed());
        let answered = answer(&mut self.connection);
        self.answered = Some(Instant::now());
        answered
    }

    /// Sends a statement and ignores its rows.
    pub fn execute(&mut self, template: &str, values: &[Value]) -> Result<(), Refusal> {
        let statement = sql::fill(template, values);
        self.ask(|connection| connection.query_drop(statement))
            .map_err(|error| refusal(template, &error))
    }

    /// Sends a query and returns all its rows.
    pub fn rows<T: FromRow>(
        &mut self,
        template: &str,
        values: &[Value],
    ) -> Result<Vec<T>, Refusal> {
        let statement = sql::fill(template, values);
        let rows: Vec<mysql::Row> = self
            .ask(|connection| connection.query(statement))
            .map_err(|error| refusal(template, &error))?;
        rows.into_iter()
            .map(|row| {
                T::from_row_opt(row).map_err(|error| {
                    Refusal::Final(Error::Statement {
                        statement: sql::excerpt(template),
                        reason: error.to_string(),
                    })
                })
            })
            .collect()
    }

    /// Sends a query that may return no row.
    pub fn optional<T: FromRow>(
        &mut self,
        template: &str,
        values: &[Value],
    ) -> Result<Option<T>, Refusal> {
        Ok(self.rows(template, values)?.into_iter().next())
    }

    /// Sends a query that must return a row.
    pub fn one<T: FromRow>(&mut self, template: &str, values: &[Value]) -> Result<T, Refusal> {
        self.optional(template, values)?.ok_or_else(|| {
            Refusal::Final(Error::NoRow {
                statement: sql::excerpt(template),
            })
        })
    }
}

fn refusal(template: &str, error: &mysql::Error) -> Refusal {
    match error {
        mysql::Error::MySqlError(error) if CONTENTION.contains(&error.code) => Refusal::Contention,
        _ => Refusal::Final(Error::Statement {
            statement: sql::excerpt(template),
            reason: error.to_string(),
        }),
    }
}
