//! A program that a bench has started: waits until it is ready, and ends it.

use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::process::Child;
use std::time::{Duration, Instant};

/// Timeout for a program to start, be filled, or answer, including under QEMU.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Waits until `found` returns a value. Returns `None` if the program, started here, has ended, or
/// after [`PATIENCE`].
pub fn wait_for<'a, T>(
    child: impl Into<Option<&'a mut Child>>,
    mut found: impl FnMut() -> Option<T>,
) -> io::Result<Option<T>> {
    let deadline = Instant::now() + PATIENCE;
    let mut child = child.into();
    while Instant::now() < deadline {
        if let Some(child) = &mut child
            && child.try_wait()?.is_some()
        {
            break;
        }
        let found = found();
        if found.is_some() {
            return Ok(found);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(None)
}

/// Requests the program to end. It must not have been waited for yet.
pub fn terminate(child: &Child) {
    // A program that has already ended is not affected.
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
}
