//! A program that a bench has started: waited for until it is ready, and asked to end.

use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::process::Child;
use std::time::{Duration, Instant};

/// For a program to start, be filled, or answer; under QEMU, too.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Waits until `found` finds something. It finds nothing in a program that has ended, as far as it
/// was started here, nor in one that takes longer than [`PATIENCE`].
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

/// Asks the program to end. It must not have been waited for yet.
pub fn terminate(child: &Child) {
    // One that has ended by itself is none the worse for it.
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
}
