//! `split-if-idle=D`: hops as a plan says, unless the queue there is longer than ours by more than
//! D.
//!
//! The target's queue is the threads that wait there and the one that runs there; ours, those that
//! wait where the thread runs. With D = 0 and nobody waiting here, the target has to be idle. The
//! runtime does the same with D = 7, which `COREHOP_QUEUE` changes (docs/reference/carrier.md). A
//! thread that does not hop asks again at the next function of the plan.

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
