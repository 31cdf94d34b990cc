//! mariadbd with TPC-C's tables, for the benches that start it.
//!
//! The tables are made once, natively, and every server begins with a copy of them. The load is
//! loads/tpcc's own command, wherever a bench has built it.

use crate::started::terminate;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// What a data directory is made from.
pub const SYSTEM_TABLES: [&str; 2] = [
    "/usr/share/mysql/mysql_system_tables.sql",
    "/usr/share/mysql/mysql_system_tables_data.sql",
];

/// Runs a command to its end; what it printed.
pub fn succeed(command: &mut Command) -> Outcome<Vec<u8>> {
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {}\n{said}", output.status).into());
    }
    Ok(output.stdout)
}

/// A data directory with the server's own tables, in a folder that has none yet.
pub fn make_system_tables(folder: &Path) -> Outcome<()> {
    std::fs::create_dir(folder.join("data"))?;
    let mut statements = b"create database mysql;\nuse mysql;\n".to_vec();
    for file in SYSTEM_TABLES {
        statements.extend(std::fs::read(file)?);
    }
    std::fs::write(folder.join("statements"), statements)?;
    let words = mariadbd(folder);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).arg("--bootstrap");
    succeed(command.stdin(File::open(folder.join("statements"))?)).map(|_| ())
}

/// A data directory with the load's tables, in a folder that has none yet.
pub fn make_tables(folder: &Path, load: &Path) -> Outcome<()> {
    make_system_tables(folder)?;
    let words = mariadbd(folder);
    let mut server = Command::new(&words[0]);
    server.args(&words[1..]).stdout(Stdio::null());
    let mut server = server.stderr(Stdio::null()).spawn()?;
    let tables = wait(load, &socket(folder), 60).and_then(|()| {
        tpcc(
            load,
            &["load", "--scale", "20", "--seed", "1"],
            &socket(folder),
        )
    });
    terminate(&server);
    server.wait()?;
    tables.map(|_| ())
}

/// Copies the data directory of one folder into another.
pub fn copy_tables(from: &Path, to: &Path) -> Outcome<()> {
    let mut copy = Command::new("cp");
    succeed(copy.arg("-r").arg(from.join("data")).arg(to)).map(|_| ())
}

/// Where the server of a folder listens.
pub fn socket(folder: &Path) -> PathBuf {
    folder.join("socket")
}

/// Runs a subcommand of the load.
pub fn tpcc(load: &Path, words: &[&str], socket: &Path) -> Outcome<Vec<u8>> {
    let mut command = Command::new(load);
    succeed(command.args(words).arg("--socket").arg(socket))
}

/// Waits until a server answers.
pub fn wait(load: &Path, socket: &Path, seconds: u32) -> Outcome<()> {
    let words = ["wait", "--max-seconds", &seconds.to_string()];
    tpcc(load, &words, socket).map(|_| ())
}

/// The server on a folder's tables.
pub fn mariadbd(folder: &Path) -> Vec<String> {
    let at = |option: &str, name: &str| format!("--{option}={}", folder.join(name).display());
    let mut command = vec![
        "/usr/sbin/mariadbd".into(),
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
        // QEMU keeps flags for every reserved page; without a maximum, 8 TB are reserved.
        "--innodb-buffer-pool-size=64M".into(),
        "--innodb-buffer-pool-size-max=64M".into(),
    ];
    if rustix::process::getuid().is_root() {
        command.push("--user=root".into());
    }
    command
}
