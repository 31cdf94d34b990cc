//! Interrupts a running command, as Ctrl-C does, after it has begun the relevant work.

use rustix::process::{Pid, Signal, kill_process};
use std::process::Child;
use std::time::{Duration, Instant};

/// Maximum time for a command to begin, also under a recorder.
const PATIENCE: Duration = Duration::from_secs(120);

/// Interrupts `child` as soon as `has_begun` returns true. The child must still run.
pub fn interrupt(child: &mut Child, has_begun: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !has_begun() {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before it began");
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("it does not begin");
        }
        std::thread::sleep(Duration::from_millis(1)); // waits: between looks
    }
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}
