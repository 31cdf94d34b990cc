//! Why there is no guest, and what the user can do about it.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no guest.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A part of the guest is not there.
    #[error("there is no {part} for the guest")]
    Missing {
        /// Which.
        part: &'static str,
        /// What the user can do about it.
        remedy: &'static str,
    },
    /// A variable names a part that is not there.
    #[error("{variable}: {path} is not a file")]
    Named {
        /// The variable.
        variable: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// An option that only user mode has.
    #[error("{option} cannot be combined with --system")]
    Unsupported {
        /// The option.
        option: &'static str,
        /// What the user can do about it.
        remedy: &'static str,
    },
    /// A file for the guest could not be read or written.
    #[error("the guest: {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// More than the guest's memory takes.
    #[error("the guest: its files have {files_mib} MiB, too many for {memory_mib} MiB of memory")]
    TooLarge {
        /// What they have.
        files_mib: u64,
        /// What the guest has.
        memory_mib: u64,
    },
    /// The kernel was started to learn about it, and did not do what it should.
    #[error("the guest: cannot find the task list of {kernel}: {reason}")]
    Kernel {
        /// The kernel.
        kernel: PathBuf,
        /// What was missing.
        reason: String,
    },
}

impl Error {
    /// What the user can do about it.
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

    /// The error of a file, from what the system said.
    pub(super) fn of_file(path: &Path) -> impl FnOnce(io::Error) -> Error + use<'_> {
        move |source| Error::File {
            path: path.into(),
            source,
        }
    }
}
