//! Many rows in one statement: a statement per row would take minutes instead of seconds.

use super::row::Row;
use crate::error::Error;
use crate::session::Session;
use crate::sql;

/// Number of rows per statement; 500 of the widest are far below the packet limit.
const ROWS_PER_STATEMENT: usize = 500;

/// Inserts all rows, with a commit after each statement.
pub fn insert(
    session: &mut Session,
    table: &str,
    rows: impl IntoIterator<Item = Row>,
) -> Result<(), Error> {
    let mut waiting: Vec<String> = Vec::new();
    for row in rows {
        let marks = vec!["?"; row.len()].join(",");
        waiting.push(sql::fill(&format!("({marks})"), &row));
        if waiting.len() == ROWS_PER_STATEMENT {
            send(session, table, &mut waiting)?;
        }
    }
    if waiting.is_empty() {
        return Ok(());
    }
    send(session, table, &mut waiting)
}

fn send(session: &mut Session, table: &str, rows: &mut Vec<String>) -> Result<(), Error> {
    let values = rows.join(",");
    rows.clear();
    // The text already contains the values, and its strings contain no question mark.
    session.execute(&format!("insert into {table} values {values}"), &[])?;
    Ok(session.execute("commit", &[])?)
}
