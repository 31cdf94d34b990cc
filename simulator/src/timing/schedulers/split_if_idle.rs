//! `split-if-idle=D`: hops as planned, unless the target's queue is longer than the own one by more
//! than D.
//!
//! The target's queue includes waiting threads and the running one; the own queue includes the
//! threads that wait for the current core. With D = 0 and an empty own queue, the target must be
//! idle. The runtime does the same with D = 7, which `COREHOP_QUEUE` changes
//! (docs/reference/carrier.md). A thread that does not hop decides again at the next function of
//! the plan.

use super::entry::{Argument, Entry, Setup, Standing};
use super::queues::Queues;
use super::scheduler::{Move, Scheduler, Thread};

pub(super) static ENTRY: Entry = Entry {
    name: "split-if-idle",
    summary: "hops as the plan says, unless more than D threads more wait there",
    standing: Standing::Runtime,
    goes_by_plan: true,
    argument: Some(Argument {
        meaning: "by how many threads the queue there may be longer",
        default: 0,
        least: 0,
    }),
    build,
};

struct SplitIfIdle {
    longer: usize,
}

fn build(setup: &Setup<'_>) -> Box<dyn Scheduler> {
    let longer = setup.argument as usize;
    Box::new(SplitIfIdle { longer })
}

impl Scheduler for SplitIfIdle {
    fn first_core(&self, _connection: usize) -> usize {
        0
    }

    fn enter(&mut self, thread: Thread, queues: &Queues) -> Move {
        let target = thread.to as usize;
        let ours = queues.waiting(thread.core).len();
        match queues.threads(target) <= ours + self.longer {
            true => Move::Hop(target),
            false => Move::Stay,
        }
    }
}
