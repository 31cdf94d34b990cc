//! Programs that a test has just written.

use std::io::{ErrorKind, Result};

/// Starts a program. A process that another test's thread forks during the write has the file open
/// for writing until it executes its own program.
pub fn started<T>(mut start: impl FnMut() -> Result<T>) -> T {
    loop {
        match start() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            started => return started.unwrap(),
        }
    }
}
