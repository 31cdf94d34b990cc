//! `pinned`: each connection has a fixed core.
//!
//! The control for measuring what a plan gains beyond keeping threads in place.

use super::entry::{Entry, Setup, Standing};
use super::scheduler::Scheduler;

pub(super) static ENTRY: Entry = Entry {
    name: "pinned",
    summary: "connection n stays on core n modulo the cores",
    standing: Standing::Kernel,
    goes_by_plan: false,
    argument: None,
    build,
};

struct Pinned {
    cores: usize,
}

fn build(setup: &Setup<'_>) -> Box<dyn Scheduler> {
    let cores = setup.cores;
    Box::new(Pinned { cores })
}

impl Scheduler for Pinned {
    fn first_core(&self, connection: usize) -> usize {
        connection % self.cores
    }
}
