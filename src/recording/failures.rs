//! The exit code for each failure of a recording.

use crate::failure::{Exit, Failure, Unexplained};
use corehop_measure::server::printed::{last_lines, read};
use corehop_recorder::{Error, MarkerError, Stopped, control, system, tools, trace_file};
use std::path::Path;

/// Returns the failure of a recording. `log` is the file with the server's output, if there is one.
pub fn of(stopped: Stopped<Failure>, log: Option<&Path>) -> Failure {
    let error = match stopped {
        Stopped::Driver(failure) => return failure,
        Stopped::Recording(error) => error,
    };
    let is_of_server = matches!(
        error,
        Error::PluginNotLoaded | Error::ServerEndedEarly { .. } | Error::ServerFailed { .. }
    );
    match log {
        // The server's last messages went to the file, so print them.
        Some(log) if is_of_server => {
            let unexplained = Failure::new(exit_of(&error), &error);
            explained(unexplained.below(last_lines(&read(log))), error.remedy())
        }
        _ => error.into(),
    }
}

fn exit_of(error: &Error) -> Exit {
    match error {
        Error::Choice(_) => Exit::Usage,
        Error::Program(_) | Error::Marker(_) | Error::Preload { .. } => Exit::Input,
        Error::Guest(error) => match error {
            system::Error::Missing { .. }
            | system::Error::Named { .. }
            | system::Error::Kernel { .. } => Exit::Missing,
            system::Error::Unsupported { .. } => Exit::Usage,
            system::Error::File { .. } | system::Error::TooLarge { .. } => Exit::Input,
        },
        Error::InGuest { error, .. } => exit_of(error),
        Error::TraceFile(_) | Error::Log { .. } | Error::Write { .. } => Exit::Output,
        Error::Tools(_) | Error::SharedMemory(_) | Error::Start { .. } | Error::PluginNotLoaded => {
            Exit::Missing
        }
        Error::ServerEndedEarly { .. }
        | Error::ServerFailed { .. }
        | Error::LoadFailed { .. }
        | Error::GuestFailed
        | Error::MemoryLimit { .. } => Exit::Server,
        Error::InterruptedEarly { .. } | Error::Interrupted => Exit::Interrupted,
    }
}

fn explained(unexplained: Unexplained, remedy: Option<impl std::fmt::Display>) -> Failure {
    match remedy {
        Some(remedy) => unexplained.remedy(remedy),
        None => unexplained.explained(),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let remedy = error.remedy();
        match error {
            Error::TraceFile(error) => error.into(),
            Error::Marker(MarkerError::Symbols(error)) => error.into(),
            Error::InGuest { error, last_lines } => {
                let unexplained = Failure::new(exit_of(&error), &error).below(last_lines);
                explained(unexplained, remedy)
            }
            error => {
                let failure = explained(Failure::new(exit_of(&error), &error), remedy);
                match error {
                    Error::Marker(
                        MarkerError::Ambiguous { choices, .. }
                        | MarkerError::Indirect { choices, .. },
                    ) => failure.choices(choices),
                    _ => failure,
                }
            }
        }
    }
}

impl From<trace_file::Error> for Failure {
    fn from(error: trace_file::Error) -> Self {
        use trace_file::Error;
        match error {
            Error::Output(error) => error.into(),
            Error::Begin(error) => error.into(),
            Error::Control(error) => error.into(),
            error => explained(Failure::new(Exit::Output, &error), error.remedy()),
        }
    }
}

impl From<control::Error> for Failure {
    fn from(error: control::Error) -> Self {
        let exit = match error {
            control::Error::NoRecorder { .. } => Exit::Input,
            _ => Exit::Output,
        };
        Failure::new(exit, &error).remedy(error.remedy())
    }
}

impl From<tools::Error> for Failure {
    fn from(error: tools::Error) -> Self {
        Failure::new(Exit::Missing, &error).remedy(error.remedy())
    }
}
