//! The server's address, and connecting to it without requests by the driver.
//!
//! The driver would first query the server's packet limit. Every request counts here, because
//! recordings are divided by requests, so the limit is given instead.

use crate::error::Error;
use crate::session::Session;
use clap::Args;
use mysql::{Conn, OptsBuilder};
use std::path::PathBuf;
use std::time::Duration;

/// Largest statement in bytes, below MariaDB's default `max_allowed_packet` of 16 MiB.
const LARGEST_PACKET_BYTES: usize = 8 << 20;

/// How to connect to the server.
#[derive(Args, Clone)]
pub struct Server {
    /// Unix socket of the server
    #[arg(long, value_name = "PATH", conflicts_with_all = ["host", "port"])]
    socket: Option<PathBuf>,
    /// Host of the server, reached over TCP where no socket is named
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    host: String,
    /// TCP port of the server
    #[arg(long, value_name = "PORT", default_value_t = 3306)]
    port: u16,
    /// User to connect as; a password is taken from the environment variable MYSQL_PWD
    #[arg(long, value_name = "USER", default_value = "root")]
    user: String,
    /// Database that holds the tables
    #[arg(long, value_name = "NAME", default_value = "tpcc", value_parser = database_name)]
    pub database: String,
}

/// The name would need quoting.
#[derive(Debug, thiserror::Error)]
#[error("use up to 64 letters, digits and underscores")]
struct NoName;

/// Accepts names that need no quoting.
fn database_name(text: &str) -> Result<String, NoName> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !text.is_empty() && text.len() <= 64 && text.chars().all(plain) {
        Ok(text.to_owned())
    } else {
        Err(NoName)
    }
}

impl Server {
    /// Connects; a statement that takes longer than `patience` fails.
    ///
    /// # Errors
    /// [`Error::Connect`], or [`Error::NotLoaded`] if the database does not exist.
    pub fn connect(&self, database: Option<&str>, patience: Duration) -> Result<Session, Error> {
        let mut options = OptsBuilder::new()
            .user(Some(&self.user))
            .pass(std::env::var("MYSQL_PWD").ok())
            .db_name(database)
            .prefer_socket(false)
            .max_allowed_packet(Some(LARGEST_PACKET_BYTES))
            .tcp_connect_timeout(Some(patience))
            .read_timeout(Some(patience))
            .write_timeout(Some(patience))
            .stmt_cache_size(0);
        options = match &self.socket {
            Some(path) => options.socket(Some(path.to_string_lossy())),
            None => options.ip_or_hostname(Some(&self.host)).tcp_port(self.port),
        };
        match Conn::new(options) {
            Ok(connection) => Ok(Session::new(connection)),
            Err(mysql::Error::MySqlError(error)) if error.code == UNKNOWN_DATABASE => {
                Err(Error::NotLoaded {
                    database: self.database.clone(),
                })
            }
            Err(error) => Err(Error::Connect {
                address: self.address(),
                reason: error.to_string(),
            }),
        }
    }

    /// Returns the server's address for messages.
    fn address(&self) -> String {
        match &self.socket {
            Some(path) => path.display().to_string(),
            None => format!("{}:{}", self.host, self.port),
        }
    }
}

/// ER_BAD_DB_ERROR in MariaDB's error codes.
const UNKNOWN_DATABASE: u16 = 1049;
