//! Detects whether a server accepts requests: when it listens, or by the user's criterion.

use super::printed::last_lines;
use crate::Error;
use procfs::net::TcpState;
use procfs::process::{FDTarget, Process};
use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(20);
const CONNECT_WITHIN: Duration = Duration::from_millis(200);
/// SO_ACCEPTCON in the flags column of /proc/net/unix: the socket listens.
const LISTENS: &str = "00010000";

/// How to detect that a server is ready.
#[derive(Clone, Debug)]
pub struct Ready {
    /// The criterion.
    pub sign: Sign,
    /// Maximum time until the server is ready.
    pub within: Duration,
}

/// Criterion for a server that is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sign {
    /// One of its processes listens on a socket.
    Listens,
    /// This TCP port of this machine accepts a connection.
    Port(u16),
    /// This shell command succeeds.
    Command(String),
}

impl Ready {
    /// Checks before any start that no other server accepts connections on the port. It would be
    /// measured in place of both sides.
    ///
    /// # Errors
    /// [`Error::PortTaken`].
    pub fn check(&self) -> Result<(), Error> {
        match self.sign {
            Sign::Port(port) if connects(port) => Err(Error::PortTaken { port }),
            _ => Ok(()),
        }
    }

    /// Waits until the server is ready, as long as `look` returns its processes and no error;
    /// `said` returns the server's output.
    ///
    /// # Errors
    /// Those of `look`, and [`Error::NotReady`].
    pub fn wait<E: From<Error>>(
        &self,
        mut look: impl FnMut() -> Result<Vec<u32>, E>,
        said: impl Fn() -> String,
    ) -> Result<(), E> {
        let seconds = self.within.as_secs_f64();
        let deadline = Instant::now() + self.within;
        while !self.is_ready(&look()?) {
            if Instant::now() > deadline {
                let said = last_lines(&said());
                return Err(Error::NotReady { seconds, said }.into());
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    fn is_ready(&self, processes: &[u32]) -> bool {
        match &self.sign {
            Sign::Command(command) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", command]).stdin(Stdio::null());
                shell.stdout(Stdio::null()).stderr(Stdio::null());
                shell.status().is_ok_and(|status| status.success())
            }
            Sign::Port(port) => connects(*port),
            Sign::Listens => listens(processes),
        }
    }
}

fn connects(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpStream::connect_timeout(&address, CONNECT_WITHIN).is_ok()
}

/// Returns those of these processes that still exist.
pub(crate) fn processes_of(numbers: &[u32]) -> Vec<Process> {
    let numbers = numbers.iter().map(|number| number.cast_signed());
    numbers.filter_map(|it| Process::new(it).ok()).collect()
}

/// Whether any of the processes has a listening socket.
fn listens(processes: &[u32]) -> bool {
    let processes = processes_of(processes);
    let Some(first) = processes.first() else {
        return false;
    };
    let tcp = [first.tcp(), first.tcp6()].into_iter().flatten().flatten();
    let tcp = tcp
        .filter(|entry| entry.state == TcpState::Listen)
        .map(|entry| entry.inode);
    let local = std::fs::read_to_string(format!("/proc/{}/net/unix", first.pid()));
    let local = local.unwrap_or_default();
    let local = local.lines().filter_map(listening_inode);
    let listening: HashSet<u64> = tcp.chain(local).collect();
    let files = processes
        .iter()
        .filter_map(|process| process.fd().ok())
        .flatten()
        .flatten();
    files.into_iter().any(|file| match file.target {
        FDTarget::Socket(inode) => listening.contains(&inode),
        _ => false,
    })
}

/// Returns the inode of a listening socket from a line of /proc/net/unix.
fn listening_inode(line: &str) -> Option<u64> {
    let columns: Vec<&str> = line.split_whitespace().collect();
    let [_, _, _, LISTENS, _, _, inode, ..] = columns[..] else {
        return None;
    };
    inode.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_listens_when_it_takes_connections() {
        let own = [std::process::id()];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _both = std::os::unix::net::UnixStream::pair().unwrap();
        let socket = std::os::unix::net::UnixListener::bind(path).unwrap();
        assert!(listens(&own));
        drop(socket);
        let port = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(listens(&own));
        assert!(connects(port.local_addr().unwrap().port()));
    }
}
