//! Where the experiment with staged sessions is made: what the program and the simulator are told.

use crate::patched::Program;

/// A working set, how much of it is written, and how sessions use it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Of one phase.
    pub working_set_kib: u32,
    /// Share of the touches that write.
    pub updates_percent: f64,
    /// Of a session in one phase.
    pub touches: u32,
    /// Delegated, each is a thread.
    pub sessions: u32,
}

impl Point {
    /// The program's arguments.
    pub fn words(&self, way: &str, last: u32, program: &Program) -> Vec<String> {
        let [a, b] = program.processors;
        let updates = self.updates_percent / 100.0;
        let numbers = [self.touches, self.sessions, last, 1, a as u32, b as u32];
        let head = [
            way.into(),
            self.working_set_kib.to_string(),
            updates.to_string(),
        ];
        head.into_iter()
            .chain(numbers.map(|n| n.to_string()))
            .collect()
    }
}
