//! Interrupts a command that runs, as Ctrl-C does, once it has begun what the interrupt is to end.

use rustix::process::{Pid, Signal, kill_process};
use std::process::Child;
use std::time::{Duration, Instant};

/// For a command to begin, under a recorder too.
const PATIENCE: Duration = Duration::from_secs(120);

/// Interrupts `child` as soon as `has_begun` says so. It must not have ended before.
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
