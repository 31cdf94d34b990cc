//! mariadbd's data directory, and the options that a bench starts it with.

#[path = "../installed/mod.rs"]
pub mod installed;

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The server.
const PROGRAM: &str = "/usr/sbin/mariadbd";
/// Its folder of messages, in MariaDB 10.11.
const MESSAGES: &str = "/usr/share/mysql";
/// Source files of a data directory: of MariaDB 10.11, and of 11.8.
const SYSTEM_TABLES: [[&str; 2]; 2] = [
    [
        "/usr/share/mysql/mysql_system_tables.sql",
        "/usr/share/mysql/mysql_system_tables_data.sql",
    ],
    [
        "/usr/share/mariadb/mariadb_system_tables.sql",
        "/usr/share/mariadb/mariadb_system_tables_data.sql",
    ],
];

/// Returns the files that this machine has.
fn system_tables() -> [PathBuf; 2] {
    let mut releases = SYSTEM_TABLES
        .map(|files| files.map(installed::file))
        .into_iter();
    let found = releases.find(|files| files[0].is_file());
    found.unwrap_or(SYSTEM_TABLES[0].map(installed::file))
}

/// Runs a command to its end and returns its output. Ctrl-C does not reach the command.
pub fn succeed(command: &mut Command) -> io::Result<Vec<u8>> {
    let output = command.process_group(0).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let why = format!("{command:?}: {}\n{said}", output.status);
        return Err(io::Error::other(why));
    }
    Ok(output.stdout)
}

/// Creates a data directory in a folder that has none yet, and runs these statements.
pub fn make_data(folder: &Path, more: &str) -> io::Result<()> {
    std::fs::create_dir(folder.join("data"))?;
    let mut statements = b"create database mysql;\nuse mysql;\n".to_vec();
    for file in system_tables() {
        statements.extend(std::fs::read(file)?);
    }
    statements.extend(more.as_bytes());
    std::fs::write(folder.join("statements"), statements)?;
    let words = mariadbd(folder);
    let mut command = Command::new(installed::file(&words[0]));
    command.args(&words[1..]).arg("--bootstrap");
    succeed(command.stdin(File::open(folder.join("statements"))?))?;
    Ok(())
}

/// Returns the server's command for a folder's tables.
pub fn mariadbd(folder: &Path) -> Vec<String> {
    let at = |option: &str, name: &str| format!("--{option}={}", folder.join(name).display());
    let mut command = vec![
        PROGRAM.into(),
        "--no-defaults".into(),
        at("datadir", "data"),
        at("tmpdir", ""),
        at("socket", "socket"),
        at("pid-file", "pid"),
        "--skip-networking".into(),
        "--skip-log-bin".into(),
        "--innodb-log-file-size=16M".into(),
        "--innodb-flush-log-at-trx-commit=0".into(),
        "--max-connections=40".into(),
        "--table-open-cache=200".into(),
        // QEMU stores flags for every reserved page; without a maximum, the server reserves 8 TB.
        "--innodb-buffer-pool-size=64M".into(),
        "--innodb-buffer-pool-size-max=64M".into(),
    ];
    if rustix::process::getuid().is_root() {
        command.push("--user=root".into());
    }
    if installed::packed().is_some() {
        let messages = installed::file(MESSAGES);
        command.push(format!("--lc-messages-dir={}", messages.display()));
    }
    command
}
