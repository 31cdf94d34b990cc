//! The control socket: it lies beside the trace, for `corehop control` from another terminal.
//!
//! One connection is one question of one line, answered by one line of JSON. The recorder looks for
//! questions between two rounds of its own work and never waits long for one: a client that says
//! nothing must not hold up a server. A signal or a file could order but not answer.

use crate::reading::Reading;
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, socket_with};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the recorder waits for a client to say what it wants: the server may wait as long.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a client waits: the recorder may be reading a new library's functions.
const ANSWER_PATIENCE: Duration = Duration::from_secs(120);
const MOST_LINE_BYTES: u64 = 4096;
/// Clients that may wait to be heard.
const BACKLOG: i32 = 128;

/// Why a recorder's socket cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another recorder is at work on the trace.
    #[error("{trace} is being recorded by another corehop")]
    Recorded {
        /// The trace.
        trace: PathBuf,
    },
    /// Another recorder may be at work on it.
    #[error("{socket}: cannot check whether {trace} is being recorded: {source}")]
    Unknown {
        /// The socket.
        socket: PathBuf,
        /// The trace.
        trace: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Something else has the socket's name.
    #[error("{path} exists already, but the recording needs this name for its control socket")]
    InTheWay {
        /// The name.
        path: PathBuf,
        /// Whether it is a folder.
        is_folder: bool,
    },
    /// No recorder answers.
    #[error("no recording of {trace} is running: {reason}")]
    NoRecorder {
        /// The trace.
        trace: PathBuf,
        /// What the system said, or what is wrong with the answer.
        reason: String,
    },
}

impl Error {
    /// What the user can do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Error::Recorded { .. } | Error::Unknown { .. } => "name another file with -o",
            Error::InTheWay { is_folder, .. } => match is_folder {
                true => "name another file with -o",
                false => "rename it, choose another file with -o, or add --force to replace it",
            },
            Error::NoRecorder { .. } => "give the -o path of a running `corehop record`",
        }
    }
}

/// No socket could be made.
#[derive(Debug, thiserror::Error)]
#[error("`corehop control` will not work: {path}: {source}")]
pub struct NoSocket {
    path: PathBuf,
    source: std::io::Error,
}

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Record requests from the next on.
    Start,
    /// Record no request from the next on; those begun are recorded to their end.
    Stop,
    /// Keep these words in the trace.
    Mark(String),
    /// Only say how things stand.
    Status,
}

/// The socket, which goes when this is dropped.
pub(crate) struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
}

/// The socket of the recording to `trace`.
fn path_of(trace: &Path) -> PathBuf {
    let mut path = trace.as_os_str().to_owned();
    path.push(".control");
    path.into()
}

/// A socket's path may have no more than 107 bytes, so its folder is named by a descriptor.
fn short(path: &Path) -> std::io::Result<(OwnedFd, PathBuf)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(
        corehop_support::atomic_file::folder_of(path),
        flags,
        Mode::empty(),
    )?;
    let name = path.file_name().unwrap_or_default();
    let short = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string());
    Ok((folder, short.join(name)))
}

fn connect(trace: &Path) -> std::io::Result<UnixStream> {
    let (_folder, short) = short(&path_of(trace))?;
    UnixStream::connect(short)
}

/// Fails when a recorder is at work on `trace`, or when that cannot be told. A socket at which
/// nobody listens is what a recorder that was killed has left.
pub(crate) fn refuse_second(trace: &Path) -> Result<(), Error> {
    let path = path_of(trace);
    if !is_socket(&path) {
        return Ok(());
    }
    match connect(trace) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Ok(_) => Err(Error::Recorded {
            trace: trace.into(),
        }),
        Err(source) => Err(Error::Unknown {
            socket: path,
            trace: trace.into(),
            source,
        }),
    }
}

/// Fails when something is in the way of the socket that is not to be lost.
pub(crate) fn check(trace: &Path, force: bool) -> Result<(), Error> {
    let path = path_of(trace);
    let Ok(there) = path.symlink_metadata() else {
        return Ok(());
    };
    if there.file_type().is_socket() || force && !there.is_dir() {
        return Ok(());
    }
    Err(Error::InTheWay {
        is_folder: there.is_dir(),
        path,
    })
}

fn is_socket(path: &Path) -> bool {
    let there = path.symlink_metadata();
    there.is_ok_and(|there| there.file_type().is_socket())
}

/// A socket that this user alone may connect to: it has its mode before it has its name.
fn listen(path: &Path) -> std::io::Result<UnixListener> {
    let (_folder, short) = short(path)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &SocketAddrUnix::new(&short)?)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

impl ControlSocket {
    /// Listens beside `trace`; with `force` in place of what has the socket's name. Where no socket
    /// can be made a recording does without.
    pub(crate) fn open(trace: &Path, force: bool) -> Result<ControlSocket, NoSocket> {
        let path = path_of(trace);
        if refuse_second(trace)
            .and_then(|()| check(trace, force))
            .is_ok()
        {
            let _ = std::fs::remove_file(&path);
        }
        match listen(&path) {
            Ok(listener) => Ok(ControlSocket { listener, path }),
            Err(source) => Err(NoSocket { path, source }),
        }
    }

    /// The next question that waits, and whom to answer.
    pub(crate) fn next(&self) -> Option<(Order, UnixStream)> {
        let (stream, _) = self.listener.accept().ok()?;
        stream.set_nonblocking(false).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.set_write_timeout(Some(PATIENCE)).ok()?;
        let mut line = String::new();
        BufReader::new((&stream).take(MOST_LINE_BYTES))
            .read_line(&mut line)
            .ok()?;
        Some((serde_json::from_str(&line).ok()?, stream))
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Answers; a client that has gone needs none.
pub(crate) fn answer(mut stream: UnixStream, reading: &Reading) {
    if let Ok(line) = serde_json::to_string(reading) {
        let _ = writeln!(stream, "{line}");
    }
}

/// Asks the recorder of `trace`, as its client.
pub fn ask(trace: &Path, order: &Order) -> Result<Reading, Error> {
    let unheard = |reason: &dyn std::fmt::Display| Error::NoRecorder {
        trace: trace.into(),
        reason: reason.to_string(),
    };
    let mut stream = connect(trace).map_err(|error| unheard(&error))?;
    let mut line = serde_json::to_string(order).map_err(|error| unheard(&error))?;
    line.push('\n');
    let mut answer = String::new();
    let asked = stream
        .set_read_timeout(Some(ANSWER_PATIENCE))
        .and_then(|()| stream.write_all(line.as_bytes()))
        .and_then(|()| BufReader::new(stream).read_line(&mut answer));
    asked.map_err(|error| unheard(&error))?;
    serde_json::from_str(&answer).map_err(|_| unheard(&"it gave no answer"))
}
