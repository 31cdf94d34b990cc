//! Finds and checks the command to record before anything is started.

use super::binary::{Binary, Unfit};
use corehop_support::processes::{NotInPath, is_executable, started};
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Why a program cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not in PATH.
    #[error(transparent)]
    NotInPath(#[from] NotInPath),
    /// The file, or its interpreter, does not exist.
    #[error("cannot start {path}: {source}")]
    Absent {
        /// The program.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// It is not an executable file.
    #[error("{path} is not an executable file")]
    NotExecutable {
        /// The program.
        path: PathBuf,
    },
    /// It cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The program.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// It is for another architecture, or not a program.
    #[error("{path} is not an x86-64 ELF program")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
}

impl Error {
    /// Returns what the user can do.
    pub fn remedy(&self) -> Cow<'static, str> {
        match self {
            Error::NotInPath(error) => error.remedy().into(),
            Error::Absent { .. } | Error::NotExecutable { .. } => {
                "name the server's program after --".into()
            }
            Error::Unreadable { .. } => "make the program readable for this user".into(),
            Error::Foreign { .. } => "corehop records x86-64 Linux servers only".into(),
        }
    }
}

/// The server's program; for a script, its interpreter.
pub struct Program {
    /// The path used to start it: the given name, looked up in PATH.
    pub path: PathBuf,
    /// Its first arguments; for a script, the interpreter's argument and the script.
    pub arguments: Vec<OsString>,
    /// The file itself, with links resolved.
    pub resolved: PathBuf,
}

impl Program {
    /// Returns the path for messages. If a link with another name was given, this is the link:
    /// Debian's redis-server links to redis-check-rdb.
    pub fn shown(&self) -> PathBuf {
        let Some(name) = self.path.file_name() else {
            return self.resolved.clone();
        };
        let folder = match self.path.parent() {
            Some(folder) if folder.as_os_str().is_empty() => Path::new(".").canonicalize(),
            Some(folder) => folder.canonicalize(),
            None => return self.resolved.clone(),
        };
        match folder {
            Ok(folder) if self.resolved.file_name() != Some(name) => folder.join(name),
            _ => self.resolved.clone(),
        }
    }
}

/// Finds the program `name` as a shell does.
pub fn find(name: &str) -> Result<Program, Error> {
    let named = corehop_support::processes::find(name.as_ref())?;
    let absent = |source| Error::Absent {
        path: named.clone(),
        source,
    };
    named.metadata().map_err(absent)?;
    check_executable(&named)?;
    let started = started(&named, named.clone().into()).map_err(absent)?;
    let path = started.program;
    let resolved = path.canonicalize().map_err(absent)?;
    check_executable(&path)?;
    match Binary::read(&resolved) {
        Ok(_) => Ok(Program {
            path,
            arguments: started.names[1..].to_vec(),
            resolved,
        }),
        Err(Unfit::Unreadable(source)) => Err(Error::Unreadable { path, source }),
        Err(Unfit::Foreign) => Err(Error::Foreign { path }),
    }
}

fn check_executable(path: &Path) -> Result<(), Error> {
    match is_executable(path) {
        true => Ok(()),
        false => Err(Error::NotExecutable { path: path.into() }),
    }
}
