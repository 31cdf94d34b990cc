//! Why a recording failed, and what the user can do.

use crate::binaries::{marker, program};
use crate::choice::TooMany;
use crate::{system, tools, trace_file};
use corehop_support::quantity::size::Size;
use std::borrow::Cow;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;

const RAISE_FILE_LIMIT: &str = "raise the limit on file sizes (`ulimit -f`), which also counts for \
                                the 18 MiB that are shared with the server";

pub(crate) const MIB: u64 = 1 << 20;

/// Why a recording could not begin, or failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// QEMU or the plugin is missing.
    #[error(transparent)]
    Tools(#[from] tools::Error),
    /// The guest for a recording of a whole machine is unavailable.
    #[error(transparent)]
    Guest(#[from] system::Error),
    /// An error of a server in a guest, with the guest's console.
    #[error("{error}")]
    InGuest {
        /// The error.
        error: Box<Error>,
        /// The console's last lines.
        last_lines: Vec<String>,
    },
    /// The load on the guest failed.
    #[error("the load failed: {status}")]
    LoadFailed {
        /// Its exit status.
        status: ExitStatus,
    },
    /// The guest ended before its server or load.
    #[error("the guest ended before its server or load did")]
    GuestFailed,
    /// The server's program cannot be recorded.
    #[error(transparent)]
    Program(#[from] program::Error),
    /// The place where requests begin is unknown.
    #[error(transparent)]
    Marker(#[from] marker::Error),
    /// The requests cannot be sampled.
    #[error(transparent)]
    Choice(#[from] TooMany),
    /// The trace cannot be written at its path.
    #[error(transparent)]
    TraceFile(#[from] trace_file::Error),
    /// The library to preload does not exist.
    #[error("--preload {path}: {source}")]
    Preload {
        /// The library.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The memory shared with the server could not be created.
    #[error(transparent)]
    SharedMemory(#[from] corehop_wire::ring::Error),
    /// The server's output cannot be written to the log.
    #[error("{path}: {source}")]
    Log {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// QEMU could not be started.
    #[error("cannot start {qemu}: {source}")]
    Start {
        /// The program.
        qemu: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// QEMU ended without loading the plugin.
    #[error("QEMU did not load the plugin")]
    PluginNotLoaded,
    /// The server ended, and nothing was recorded.
    #[error("the server ended ({status}) before any request")]
    ServerEndedEarly {
        /// Its exit status.
        status: ExitStatus,
        /// The request marker.
        request_at: String,
        /// The version of QEMU.
        qemu: String,
    },
    /// The recording was interrupted, and nothing was recorded.
    #[error("interrupted before any request")]
    InterruptedEarly {
        /// The request marker.
        request_at: String,
    },
    /// The recording was interrupted; the trace is complete up to then.
    #[error("interrupted; the trace contains what was recorded before")]
    Interrupted,
    /// The server failed; the trace is complete up to then.
    #[error("the server failed: {status}")]
    ServerFailed {
        /// Its exit status.
        status: ExitStatus,
        /// The version of QEMU.
        qemu: String,
    },
    /// Server and recorder exceeded the memory limit; the trace is complete up to then, if anything
    /// was recorded.
    #[error(
        "server and recorder took {} MiB of memory, more than --memory-limit {limit}",
        .bytes / MIB
    )]
    MemoryLimit {
        /// Their resident memory.
        bytes: u64,
        /// The limit.
        limit: Size,
    },
    /// The trace could not be completed.
    #[error("{source}")]
    Write {
        /// The error.
        source: corehop_traces::Error,
        /// The file with the data recorded until then.
        partial: PathBuf,
    },
}

impl Error {
    /// Whether the server, its load or the guest failed.
    pub fn is_of_server(&self) -> bool {
        matches!(
            self,
            Error::PluginNotLoaded
                | Error::ServerEndedEarly { .. }
                | Error::ServerFailed { .. }
                | Error::LoadFailed { .. }
                | Error::GuestFailed
                | Error::MemoryLimit { .. }
                | Error::InterruptedEarly { .. }
        )
    }

    /// Returns what the user can do; `None` if the message includes it, or if the error is of
    /// another crate whose remedies the caller knows.
    pub fn remedy(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Error::Tools(error) => error.remedy().into(),
            Error::Guest(error) => error.remedy(),
            Error::InGuest { error, .. } => match **error {
                Error::MemoryLimit { .. } => "raise the limit, or give the guest less memory \
                                              (--guest-memory)"
                    .into(),
                _ => return error.remedy(),
            },
            Error::LoadFailed { .. } => {
                "see the messages of the load; if it needs files that its command does not name, \
                 add them by --copy or --rootfs"
                    .into()
            }
            Error::GuestFailed => {
                "see its last lines; if the kernel ran out of memory, raise --guest-memory".into()
            }
            Error::Program(error) => error.remedy(),
            Error::Marker(error) => return error.remedy(),
            Error::Choice(error) => error.remedy().into(),
            Error::TraceFile(error) => return error.remedy(),
            Error::Interrupted => return None,
            Error::Preload { .. } => "name the library by its path".into(),
            Error::SharedMemory(error) if error.is_file_limit() => RAISE_FILE_LIMIT.into(),
            Error::SharedMemory(_) => {
                "free some memory; `corehop doctor` prints how much is free".into()
            }
            Error::Log { .. } => "set TMPDIR to a folder that can be written to".into(),
            Error::Start { .. } => "run `corehop doctor` to check QEMU".into(),
            Error::PluginNotLoaded => {
                "see QEMU's message; the plugin must come from the build of this command, and fit \
                 the plugin API of that QEMU (COREHOP_QEMU, COREHOP_QEMU_PLUGIN)"
                    .into()
            }
            Error::ServerEndedEarly { status, qemu, .. } | Error::ServerFailed { status, qemu }
                if may_be_qemus_fault(*status, qemu) =>
            {
                newer_qemu(qemu).into()
            }
            Error::ServerEndedEarly { request_at, .. } | Error::InterruptedEarly { request_at } => {
                format!(
                    "nothing was written; check that the server starts and was sent \
                     requests, and that they enter --request-at {request_at:?}"
                )
                .into()
            }
            Error::ServerFailed { .. } => {
                "see the messages of the server; the trace contains what was recorded before".into()
            }
            Error::MemoryLimit { .. } => {
                "raise the limit, or let the server reserve less: QEMU keeps flags for every page \
                 that is reserved (mariadbd: --innodb-buffer-pool-size=64M \
                 --innodb-buffer-pool-size-max=64M)"
                    .into()
            }
            Error::Write { source, partial } => {
                let remedy = match source {
                    corehop_traces::Error::Write { source, path } => match source.kind() {
                        ErrorKind::FileTooLarge => RAISE_FILE_LIMIT.into(),
                        _ => corehop_support::atomic_file::remedy(path, source),
                    },
                    _ => "please report this".into(),
                };
                let shown = partial.display();
                match partial.exists() {
                    true => format!("{remedy}; the trace until then is in {shown}").into(),
                    false => remedy.into(),
                }
            }
        })
    }
}

/// Whether a server with this exit status may have failed because of a bug in this version of QEMU.
fn may_be_qemus_fault(status: ExitStatus, qemu: &str) -> bool {
    let of_a_crash = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGABRT];
    let is_old = qemu.starts_with(['6', '7', '8']);
    is_old
        && status
            .signal()
            .is_some_and(|signal| of_a_crash.contains(&signal))
}

fn newer_qemu(qemu: &str) -> String {
    format!(
        "its own messages say whether it gave up by itself; if not, QEMU {qemu} is what crashes, \
         as under postgres: build QEMU 10 (`make qemu` in a checkout, `sh \
         /usr/share/corehop/scripts/qemu.sh` with the Debian package) and set COREHOP_QEMU={}",
        tools::built_qemu().display()
    )
}

/// Why a recording ended early: the recording itself, or the server's driver.
#[derive(Debug)]
pub enum Stopped<E> {
    /// The recording failed.
    Recording(Error),
    /// The driver failed, and ended the recording.
    Driver(E),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remedy(raw_status: i32, qemu: &str) -> String {
        let status = ExitStatus::from_raw(raw_status);
        let qemu = qemu.into();
        Error::ServerFailed { status, qemu }
            .remedy()
            .unwrap()
            .into()
    }

    #[test]
    fn a_crash_under_an_old_qemu_names_the_new_one() {
        for signal in [libc::SIGSEGV, libc::SIGABRT] {
            let said = remedy(signal, "7.2.22");
            assert!(said.contains("QEMU 7.2.22 is what crashes"), "{said}");
            assert!(said.contains("`make qemu`"), "{said}");
            assert!(said.contains("COREHOP_QEMU=/"), "{said}");
        }
        for (status, qemu) in [
            (libc::SIGSEGV, "10.0.13"),
            (libc::SIGKILL, "7.2"),
            (256, "7.2"),
        ] {
            assert!(!remedy(status, qemu).contains("make qemu"));
        }
    }
}
