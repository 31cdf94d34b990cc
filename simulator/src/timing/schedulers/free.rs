//! `free`: work-conserving, like a kernel's scheduler.
//!
//! A thread wakes where it last ran, and an idle core takes waiting threads of busy cores, from the
//! longest queue: no thread waits while a core is idle.

use super::entry::{Entry, Setup, Standing};
use super::queues::Queues;
use super::scheduler::{Scheduler, longest};

pub(super) static ENTRY: Entry = Entry {
    name: "free",
    summary: "wakes threads where they ran, and idle cores take waiting ones",
    standing: Standing::Kernel,
    goes_by_plan: false,
    argument: None,
    build,
};

struct Free {
    cores: usize,
}

fn build(setup: &Setup<'_>) -> Box<dyn Scheduler> {
    let cores = setup.cores;
    Box::new(Free { cores })
}

impl Scheduler for Free {
    fn first_core(&self, connection: usize) -> usize {
        connection % self.cores
    }

    fn may_take(&self, _core: usize, _from: usize) -> bool {
        true
    }

    fn victim(&mut self, _core: usize, candidates: &[usize], queues: &Queues) -> usize {
        longest(candidates, queues)
    }
}
