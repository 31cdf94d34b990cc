//! Records programs as users do: with `corehop record`, in a separate folder.

use crate::plugin::build_plugins;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A file next to the trace with the output of the recorded program.
pub const SAID: &str = "said";

const PATIENCE: Duration = Duration::from_secs(120);

/// A running recording; dropping it ends it, if it has not ended yet.
struct Recording(Child);

impl Recording {
    fn start(trace: &Path, arguments: &[&str]) -> Recording {
        build_plugins();
        let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
        command.args(["record", "--quiet", "--memory-limit", "2048", "-o"]);
        command.arg(trace).args(arguments);
        command.current_dir(trace.parent().unwrap());
        let said = File::create(trace.with_file_name(SAID)).unwrap();
        command.stdin(Stdio::null()).stdout(said);
        Recording(command.spawn().expect("corehop runs"))
    }

    fn wait_for<T>(&mut self, mut found: impl FnMut(&mut Child) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(found) = found(&mut self.0) {
                return found;
            }
            std::thread::sleep(Duration::from_millis(5)); // waits: between looks
        }
        panic!("waited in vain");
    }

    fn finish(mut self) {
        let status = self.wait_for(|child| child.try_wait().unwrap());
        assert!(status.success(), "corehop record: {status}");
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            // SIGTERM lets it end its server first, which SIGKILL would not.
            let id = self.0.id().to_string();
            let _ = Command::new("kill").args(["-TERM", &id]).status();
            let _ = self.0.wait();
        }
    }
}

/// Compiles a C program in the folder and records it until it ends; requests begin at `serve`.
pub fn program(folder: &Path, source: &str) -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/second_oracle/programs");
    let program = folder.join("program");
    let compiled = Command::new("cc")
        .args(["-O2", "-pthread", "-Wl,--build-id", "-o"])
        .arg(&program)
        .arg(sources.join(source))
        .status();
    assert!(compiled.expect("a C compiler").success());
    let trace = folder.join("trace");
    let program = program.to_str().unwrap();
    Recording::start(&trace, &["--request-at", "serve", "--", program]).finish();
    trace
}

/// Compiles a C program in the folder and records it with the kernel, on a virtual machine.
pub fn machine(folder: &Path, source: &str) -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/second_oracle/programs");
    let program = folder.join("program");
    let compiled = Command::new("cc")
        .args(["-O2", "-static", "-o"])
        .arg(&program)
        .arg(sources.join(source))
        .status();
    assert!(compiled.expect("a C compiler").success());
    let trace = folder.join("trace");
    let program = program.to_str().unwrap();
    let arguments = ["--system", "--request-at", "serve", "--", program];
    // If QEMU, the kernel, or busybox is missing, it prints the remedy.
    Recording::start(&trace, &arguments).finish();
    trace
}

/// Records redis-server with these commands, each sent after the one-line answer to the previous
/// one. All but the last are requests in the trace.
pub fn redis(folder: &Path, commands: &[&str]) -> PathBuf {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let trace = folder.join("trace");
    let (port_text, requests) = (port.to_string(), (commands.len() - 1).to_string());
    let mut arguments = vec!["--request-at", "processCommand", "--requests", &requests];
    arguments.extend(["--", "redis-server", "--save", "", "--appendonly", "no"]);
    arguments.extend(["--bind", "127.0.0.1", "--port", &port_text]);
    let mut recording = Recording::start(&trace, &arguments);
    let stream = recording.wait_for(|child| {
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "corehop record: {ended:?}");
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()
    });
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut answers = BufReader::new(&stream).lines();
    for (number, command) in commands.iter().enumerate() {
        (&stream)
            .write_all(format!("{command}\r\n").as_bytes())
            .unwrap();
        // The last command ends the recording and the server.
        if number + 1 < commands.len() {
            answers
                .next()
                .expect("an answer")
                .expect("an answer in time");
        }
    }
    recording.finish();
    trace
}
