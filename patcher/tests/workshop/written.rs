//! Programs that a test has just written.

use std::io::{ErrorKind, Result};

/// Starts one. A process that another test's thread starts has the file open for writing until it
/// runs what it is started for, if it was forked while this one was written.
pub fn started<T>(mut start: impl FnMut() -> Result<T>) -> T {
    loop {
        match start() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            started => return started.unwrap(),
        }
    }
}
