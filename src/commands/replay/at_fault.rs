//! The file that causes a replay to fail: a plan that the machine cannot follow, or the trace.

use crate::failure::{Exit, Failure};
use corehop_simulator::Error;
use std::path::Path;

/// Adds the name of that file if the error does not contain it.
pub fn about(file: Option<&Path>, error: Error) -> Failure {
    match (file, &error) {
        (Some(file), error) if !matches!(error, Error::Trace(_)) => {
            Failure::new(Exit::Input, format!("{}: {error}", file.display())).explained()
        }
        _ => error.into(),
    }
}
