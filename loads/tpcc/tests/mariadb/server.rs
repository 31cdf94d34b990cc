//! A MariaDB server for one test: in a temporary folder, on a socket, ended with the test.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

const MARIADBD: &str = "/usr/sbin/mariadbd";
/// The templates of data directories in MariaDB 10.11 and 11.8.
const TABLES: [&str; 2] = [
    "/usr/share/mysql/mysql_system_tables",
    "/usr/share/mariadb/mariadb_system_tables",
];

/// A running server.
pub struct Server {
    folder: TempDir,
    process: Child,
}

impl Server {
    /// Creates a data directory and starts a server on it.
    pub fn start() -> Server {
        let folder = tempfile::Builder::new()
            .prefix("tpcc")
            .tempdir_in("/tmp")
            .expect("a folder whose path is short enough for a socket");
        bootstrap(folder.path());
        let process = mariadbd(folder.path())
            .args(["--skip-networking", "--innodb-flush-log-at-trx-commit=0"])
            .arg(format!(
                "--socket={}",
                folder.path().join("socket").display()
            ))
            .arg(format!(
                "--pid-file={}",
                folder.path().join("pid").display()
            ))
            .spawn()
            .expect("mariadbd is installed");
        let server = Server { folder, process };
        server.succeed(&["wait"]);
        server
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Runs `corehop-tpcc` against the server.
    pub fn tpcc(&self, arguments: &[&str]) -> Output {
        let (subcommand, rest) = arguments.split_first().expect("a subcommand");
        Command::new(env!("CARGO_BIN_EXE_corehop-tpcc"))
            .arg(subcommand)
            .arg("--socket")
            .arg(self.socket())
            .args(rest)
            .output()
            .expect("corehop-tpcc starts")
    }

    /// Runs it successfully and returns its output.
    pub fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.tpcc(arguments);
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {messages}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Sends statements through the driver.
    pub fn connect(&self) -> mysql::Conn {
        let options = mysql::OptsBuilder::new()
            .socket(self.socket().to_str())
            .user(Some("root"))
            .prefer_socket(false)
            .max_allowed_packet(Some(1 << 20));
        mysql::Conn::new(options).expect("the server answers")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The data is removed with the folder, so the server need not shut down cleanly.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn mariadbd(folder: &Path) -> Command {
    let log = File::options()
        .create(true)
        .append(true)
        .open(folder.join("log"))
        .expect("a log");
    let mut command = Command::new(MARIADBD);
    command
        .current_dir(folder)
        .arg("--no-defaults")
        .arg(format!("--datadir={}", folder.join("data").display()))
        // A starting server removes the temporary tables of others from a shared folder.
        .arg(format!("--tmpdir={}", folder.display()))
        .args(["--innodb-buffer-pool-size=64M", "--innodb-log-file-size=8M"])
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a second handle"))
        .stderr(log);
    if fs::metadata(folder).is_ok_and(|data| std::os::unix::fs::MetadataExt::uid(&data) == 0) {
        command.arg("--user=root");
    }
    command
}

/// Creates the system tables; root may connect without a password.
fn bootstrap(folder: &Path) {
    fs::create_dir(folder.join("data")).expect("a data directory");
    let mut process = mariadbd(folder)
        .arg("--bootstrap")
        .stdin(Stdio::piped())
        .spawn()
        .expect("mariadbd is installed");
    let mut input = process.stdin.take().expect("a pipe");
    input
        .write_all(b"create database mysql;\nuse mysql;\n")
        .expect("it reads");
    let is_there = |of: &&&str| Path::new(&format!("{of}.sql")).is_file();
    let tables = TABLES
        .iter()
        .find(is_there)
        .expect("its tables are installed");
    for part in ["", "_data"] {
        let file = format!("{tables}{part}.sql");
        input
            .write_all(&fs::read(&file).expect(&file))
            .expect("it reads");
    }
    drop(input);
    let status = process.wait().expect("it ends");
    let log = || fs::read_to_string(folder.join("log")).unwrap_or_default();
    assert!(status.success(), "{status}: {}", log());
}
