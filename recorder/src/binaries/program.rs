//! The command to record: found and checked before anything is started.

use super::binary::{Binary, Unfit};
use corehop_processes::{NotInPath, is_executable};
use std::borrow::Cow;
use std::path::PathBuf;

/// Why a program cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not in PATH.
    #[error(transparent)]
    NotInPath(#[from] NotInPath),
    /// There is no such file.
    #[error("cannot start {path}: {source}")]
    Absent {
        /// The program.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is no file that may be executed.
    #[error("{path} is not an executable file")]
    NotExecutable {
        /// The program.
        path: PathBuf,
    },
    /// It may not be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The program.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is text for an interpreter.
    #[error("{path} is a script, which recording cannot follow")]
    Script {
        /// The script.
        path: PathBuf,
        /// What its first line names.
        interpreter: String,
    },
    /// It is for another machine, or no program at all.
    #[error("{path} is not an x86-64 ELF program")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
}

impl Error {
    /// What the user can do about it.
    pub fn remedy(&self) -> Cow<'static, str> {
        match self {
            Error::NotInPath(error) => error.remedy().into(),
            Error::Absent { .. } | Error::NotExecutable { .. } => {
                "name the server's program after --".into()
            }
            Error::Unreadable { .. } => "recording needs the right to read the program".into(),
            Error::Script { path, interpreter } => format!(
                "name the program that it starts, or its interpreter: -- {interpreter} {} ...",
                path.display()
            )
            .into(),
            Error::Foreign { .. } => "corehop records x86-64 Linux servers only".into(),
        }
    }
}

/// The server's program.
pub struct Program {
    /// As it is started: the name it was given by, looked up in PATH.
    pub path: PathBuf,
    /// The file itself, behind any links.
    pub resolved: PathBuf,
}

/// Finds the program `name` the way a shell does.
pub fn find(name: &str) -> Result<Program, Error> {
    let path = corehop_processes::find(name.as_ref())?;
    let resolved = match path.canonicalize() {
        Ok(resolved) => resolved,
        Err(source) => return Err(Error::Absent { path, source }),
    };
    if !is_executable(&path) {
        return Err(Error::NotExecutable { path });
    }
    match Binary::read(&resolved) {
        Ok(_) => Ok(Program { path, resolved }),
        Err(Unfit::Unreadable(source)) => Err(Error::Unreadable { path, source }),
        Err(Unfit::Script(interpreter)) => Err(Error::Script { path, interpreter }),
        Err(Unfit::Foreign) => Err(Error::Foreign { path }),
    }
}
