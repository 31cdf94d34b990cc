//! `split-cohort=B`: hops as a plan says, and each core takes threads that came by the same hook in
//! turn, up to B of them.
//!
//! It is what the runtime does with `COREHOP_COHORT` (docs/reference/carrier.md, *Cohorts*).

use super::cohorts::Cohorts;
use super::entry::{Argument, Entry, Setup, Standing};
use super::queues::{Queues, Waiting};
use super::scheduler::{Move, Scheduler, Thread};
use super::split::AsPlanned;

pub(super) static ENTRY: Entry = Entry {
    name: "split-cohort",
    summary: "hops as the plan says; cores take up to B threads of one hook in a row",
    standing: Standing::Runtime,
    goes_by_plan: true,
    argument: Some(Argument {
        meaning: "how many threads of one hook a core takes in a row",
        default: 8,
        least: 1,
    }),
    build,
};

struct SplitCohort {
    /// By core.
    cohorts: Vec<Cohorts>,
}

fn build(setup: &Setup<'_>) -> Box<dyn Scheduler> {
    Box::new(SplitCohort {
        cohorts: vec![Cohorts::of(setup.argument); setup.cores],
    })
}

impl Scheduler for SplitCohort {
    fn first_core(&self, connection: usize) -> usize {
        AsPlanned.first_core(connection)
    }

    fn enter(&mut self, thread: Thread, queues: &Queues) -> Move {
        AsPlanned.enter(thread, queues)
    }

    fn choose(&mut self, core: usize, ready: &[Waiting]) -> usize {
        self.cohorts[core].choose(ready.iter().map(|thread| thread.came_by))
    }
}
