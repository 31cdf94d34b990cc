//! Programs that a test has just written.

use std::io::{ErrorKind, Result};

/// Starts a program. Another test's thread that forks during the write has the file open for
/// writing until its child executes another program.
pub fn started<T>(mut start: impl FnMut() -> Result<T>) -> T {
    loop {
        match start() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            started => return started.unwrap(),
        }
    }
}
