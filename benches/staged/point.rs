//! A point of the experiment with staged sessions: parameters of the program and the simulator.

use crate::patched::Program;

/// A working set, the written share of it, and how sessions use it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Size per phase.
    pub working_set_kib: u32,
    /// Share of accesses that write.
    pub updates_percent: f64,
    /// Accesses of a session in one phase.
    pub touches: u32,
    /// Number of sessions; when delegated, each is a thread.
    pub sessions: u32,
}

impl Point {
    /// Returns the program's arguments.
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
