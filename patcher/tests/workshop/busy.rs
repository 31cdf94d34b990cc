//! Other programs that use the CPUs during a test.

use std::process::{Child, Command};

/// Other programs, busy until dropped.
pub struct Busy(Vec<Child>);

impl Busy {
    /// Starts this many, each for at most ten minutes, which no test takes.
    pub fn start(count: usize) -> Busy {
        let start = |_| {
            let mut command = Command::new("timeout");
            command.args(["600", "sh", "-c", "while :; do :; done"]);
            command.spawn().unwrap()
        };
        Busy((0..count).map(start).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for program in &mut self.0 {
            // `timeout` ends its child when it receives a signal.
            let _ = rustix::process::kill_process(
                rustix::process::Pid::from_child(program),
                rustix::process::Signal::TERM,
            );
            let _ = program.wait();
        }
    }
}
