//! The file that a replay fails for: the plan that the machine cannot follow, or the trace.

use crate::failure::{Exit, Failure};
use corehop_simulator::Error;
use std::path::Path;

/// Names the file at fault where the error itself names none.
pub fn about(file: Option<&Path>, error: Error) -> Failure {
    match (file, &error) {
        (Some(file), error) if !matches!(error, Error::Trace(_)) => {
            Failure::new(Exit::Input, format!("{}: {error}", file.display())).explained()
        }
        _ => error.into(),
    }
}
