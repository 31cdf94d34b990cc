//! The control socket, next to the trace, for `corehop control` from another terminal.
//!
//! Each connection carries one request line and one response line of JSON. The recorder polls for
//! requests between rounds of recording and waits only briefly, so that a silent client cannot
//! block a server. Rejected: a signal or a file, which cannot carry a response.

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

/// How long the recorder waits for a client's request: the server may wait for as long.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a client waits: the recorder may be reading the functions of a new library.
const ANSWER_PATIENCE: Duration = Duration::from_secs(120);
const MOST_LINE_BYTES: u64 = 4096;
/// Maximum number of waiting clients.
const BACKLOG: i32 = 128;

/// Why a recorder's socket cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another recorder is recording the trace.
    #[error("{trace} is being recorded by another corehop")]
    Recorded {
        /// The trace.
        trace: PathBuf,
    },
    /// Another recorder may be recording it.
    #[error("{socket}: cannot check whether {trace} is being recorded: {source}")]
    Unknown {
        /// The socket.
        socket: PathBuf,
        /// The trace.
        trace: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Another file has the socket's name.
    #[error("{path} exists already, but the recording needs this name for its control socket")]
    InTheWay {
        /// The path.
        path: PathBuf,
        /// Whether it is a folder.
        is_folder: bool,
    },
    /// No recorder responds.
    #[error("no recording of {trace} is running: {reason}")]
    NoRecorder {
        /// The trace.
        trace: PathBuf,
        /// The system's error, or the problem with the response.
        reason: String,
    },
}

impl Error {
    /// Returns what the user can do.
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

/// The socket could not be created.
#[derive(Debug, thiserror::Error)]
#[error("`corehop control` cannot work: {path}: {source}")]
pub struct NoSocket {
    path: PathBuf,
    source: std::io::Error,
}

/// A client's request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Record requests, beginning with the next one.
    Start,
    /// Record no further requests; those in progress are recorded to their end.
    Stop,
    /// Store this note in the trace.
    Mark(String),
    /// Only report the state.
    Status,
}

/// The socket; removed when dropped.
pub(crate) struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
}

/// Returns the socket's path for the recording to `trace`.
fn path_of(trace: &Path) -> PathBuf {
    let mut path = trace.as_os_str().to_owned();
    path.push(".control");
    path.into()
}

/// Returns a short path through a descriptor of the folder: socket paths have at most 107 bytes.
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

/// Fails if another recorder is recording `trace`, or if this cannot be determined. A socket
/// without a listener is a remnant of a killed recorder.
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

/// Fails if the socket's path is occupied by a file that must not be lost.
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

/// Creates a socket for this user only: its mode is set before it gets its name.
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
    /// Listens next to `trace`; with `force`, replaces a file with the socket's name. If no socket
    /// can be created, the recording continues without it.
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

    /// Returns the next pending request, and the stream for the response.
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

/// Sends the response; errors of disconnected clients are ignored.
pub(crate) fn answer(mut stream: UnixStream, reading: &Reading) {
    if let Ok(line) = serde_json::to_string(reading) {
        let _ = writeln!(stream, "{line}");
    }
}

/// Sends a client's request to the recorder of `trace`.
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
