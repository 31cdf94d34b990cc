//! Why a guest is unavailable, and what the user can do.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

/// Why a guest is unavailable.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A part of the guest does not exist.
    #[error("there is no {part} for the guest")]
    Missing {
        /// The part.
        part: &'static str,
        /// What the user can do.
        remedy: &'static str,
    },
    /// A variable names a part that does not exist.
    #[error("{variable}: {path} is not a file")]
    Named {
        /// The variable.
        variable: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// An option that only user mode supports.
    #[error("{option} cannot be combined with --system")]
    Unsupported {
        /// The option.
        option: &'static str,
        /// What the user can do.
        remedy: &'static str,
    },
    /// A file of the guest could not be read or written.
    #[error("the guest: {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The files exceed the guest's memory.
    #[error("the guest: its files have {files_mib} MiB, too many for {memory_mib} MiB of memory")]
    TooLarge {
        /// Size of the files.
        files_mib: u64,
        /// The guest's memory.
        memory_mib: u64,
    },
    /// A kernel was started to obtain its symbols, and failed.
    #[error("the guest: cannot find the task list of {kernel}: {reason}")]
    Kernel {
        /// The kernel.
        kernel: PathBuf,
        /// What was missing.
        reason: String,
    },
}

impl Error {
    /// Returns what the user can do.
    pub fn remedy(&self) -> Cow<'static, str> {
        match self {
            Error::Missing { remedy, .. } | Error::Unsupported { remedy, .. } => (*remedy).into(),
            Error::Named { .. } => {
                "name a file, or unset the variable and let `make guest` fetch one".into()
            }
            Error::File { .. } => {
                "server, load, --copy and --rootfs name files to copy; each must be readable".into()
            }
            Error::TooLarge { .. } => "raise --guest-memory, or name fewer files".into(),
            Error::Kernel { .. } => {
                "name Debian's cloud kernel in COREHOP_GUEST_KERNEL (docs/guide/system.md)".into()
            }
        }
    }

    /// Converts the system's error for a file.
    pub(super) fn of_file(path: &Path) -> impl FnOnce(io::Error) -> Error + use<'_> {
        move |source| Error::File {
            path: path.into(),
            source,
        }
    }
}
