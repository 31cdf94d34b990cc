//! `split`: the unmodified plan. Every thread hops to the core of the function that it enters.

use super::entry::{Entry, Setup, Standing};
use super::queues::Queues;
use super::scheduler::{Move, Scheduler, Thread};

pub(super) static ENTRY: Entry = Entry {
    name: "split",
    summary: "hops as the plan says",
    standing: Standing::Runtime,
    goes_by_plan: true,
    argument: None,
    build,
};

struct AsPlanned;

fn build(_setup: &Setup<'_>) -> Box<dyn Scheduler> {
    Box::new(AsPlanned)
}

impl Scheduler for AsPlanned {
    fn first_core(&self, _connection: usize) -> usize {
        0
    }

    fn enter(&mut self, thread: Thread, _queues: &Queues) -> Move {
        Move::Hop(thread.to as usize)
    }
}
